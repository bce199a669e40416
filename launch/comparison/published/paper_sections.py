"""A table of a paper as a section of a Markdown page: the paper's numbers and ours, one above the other."""

from launch.files import markdown_table
from launch.papers.table_file import TableData
from launch.papers.table_text import heads, row_lines


def paper_section(data: TableData) -> str:
    """Return the section of a table. Rows without a number of ours are named below it."""
    able = [row for row in data.rows if not row.why]
    done = [row for row in able if any(cell.here is not None for cell in row.cells.values())]
    missing = [row.name for row in able if row not in done]
    never = [f"{row.name} ({row.why})" for row in data.rows if row.why]
    notes = [
        f"Not run here: {', '.join(missing)}." if missing else "",
        f"This project cannot train: {'; '.join(never)}." if never else "",
        f"Caveats: {' '.join(data.caveats)}",
        f"Command: `{data.command}`, version {data.version}, {data.machine}, {data.time.partition('T')[0]}.",
    ]
    table = markdown_table(heads(data), [line for row in done for line in row_lines(data, row)])
    return f"### {data.table}: {data.title}\n\n{data.source}.\n\n{table}\n\n" + "\n".join(filter(None, notes))
