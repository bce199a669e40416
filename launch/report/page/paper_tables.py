"""Tables of papers on the page: the paper's number and ours, one above the other."""

from collections.abc import Sequence
from html import escape

from launch.report.page.html_tables import Cell, html_row, html_table
from launch.report.papers.table_file import CellData, ColumnData, RowData, TableData
from launch.report.papers.table_text import heads, number_text, training_text


def paper_tables(tables: Sequence[TableData]) -> str:
    """Return the section of the tables; "" if there are none."""
    if not tables:
        return ""
    return "\n".join(['<h2 id="papers-tables">Papers\' tables</h2>', *(_section(data) for data in tables)])


def _section(data: TableData) -> str:
    budget = f"Trained here with {data.budget:g} of the paper's moves."
    about = f"{data.source}. {budget} The paper: {data.conditions}"
    made = f"{data.command}, version {data.version}, {data.machine}, {data.time}"
    table = html_table(
        f"{data.table}-b{data.budget:g}", heads(data), [_rows(data, row) for row in data.rows], grouped=True
    )
    lines = "".join(f"<li>{escape(line)}</li>" for line in data.caveats)
    return (
        f'<section class="papers"><h3>{escape(data.title)}</h3>\n<p class="soft">{escape(about)}</p>\n{table}\n'
        f"<ul>{lines}</ul>\n<p><small>{escape(made)}</small></p></section>"
    )


def _rows(data: TableData, row: RowData) -> str:
    """Return two rows, by the first of which page.js sorts: the paper's and ours."""
    paper: list[Cell] = [
        (row.name, f"<b>{escape(row.name)}</b>"),
        ("paper", "paper"),
        (row.paper_moves, training_text(row.paper_moves, row.paper_training_games)),
    ]
    paper += [_paper_cell(data, row.cells.get(column.name)) for column in data.columns]
    if row.why:
        return html_row(paper) + (
            f'<tr><td></td><td>here</td><td colspan="{len(data.columns) + 1}">not here: {escape(row.why)}</td></tr>'
        )
    here: list[Cell] = [("", ""), ("here", "here"), (row.moves, training_text(row.moves))]
    here += [_cell_here(row.cells.get(column.name), column) for column in data.columns]
    return html_row(paper) + html_row(here)


def _paper_cell(data: TableData, cell: CellData | None) -> Cell:
    if cell is None:
        return "", ""
    networks = f"{data.paper_seeds} x " if data.paper_seeds > 1 else ""
    text = number_text(cell.paper, cell.paper_margin)
    return cell.paper, f"{text}<small>{networks}{cell.paper_games:,} games</small>"


def _cell_here(cell: CellData | None, column: ColumnData) -> Cell:
    if cell is None:
        return "", ""
    if cell.here is None:
        return "", f"-<small>{escape(column.why)}</small>" if column.why else "-"
    interval = "no interval"
    if cell.here_low is not None and cell.here_high is not None:
        interval = f"{number_text(cell.here_low)} to {number_text(cell.here_high)}"
    networks = f"{cell.seeds} x " if cell.seeds > 1 else ""
    return cell.here, (
        f"<b>{number_text(cell.here)}</b><small>{interval}</small>"
        f"<small>{escape(cell.search)}, {networks}{cell.games:,} games</small>"
    )
