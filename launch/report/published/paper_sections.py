"""A table of a paper as a section of a Markdown page: the paper's numbers and ours, one above the other."""

from dataclasses import replace

from launch.files import markdown_table
from launch.report.papers.table_file import RowData, TableData
from launch.report.papers.table_text import heads, row_lines


def paper_section(data: TableData) -> str:
    """Return the section of a table. Rows and columns without a number of ours are named below it."""
    able = [row for row in data.rows if not row.why]
    done = [row for row in able if any(_has_number(row, name) for name in row.cells)]
    open_rows = [row.name for row in able if row not in done]
    computed = [column.name for column in data.columns if column.statistic]
    open_columns = [name for name in computed if done and not any(_has_number(row, name) for row in done)]
    never = [f"{row.name} ({row.why})" for row in data.rows if row.why]
    notes = [
        f"Not run here: {', '.join(open_rows)}." if open_rows else "",
        f"Columns not run here: {', '.join(open_columns)}." if open_columns else "",
        f"This project cannot train: {'; '.join(never)}." if never else "",
        f"Caveats: {' '.join(data.caveats)}",
        f"Command: `{data.command}`, version {data.version}, {data.machine}, {data.time.partition('T')[0]}.",
    ]
    shown = replace(data, columns=[column for column in data.columns if column.name not in open_columns])
    table = markdown_table(heads(shown), [line for row in done for line in row_lines(shown, row)])
    return f"### {data.table}: {data.title}\n\n{data.source}.\n\n{table}\n\n" + "\n".join(filter(None, notes))


def _has_number(row: RowData, column: str) -> bool:
    cell = row.cells.get(column)
    return cell is not None and cell.here is not None
