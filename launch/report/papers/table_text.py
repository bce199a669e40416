"""A table of a paper in text: two lines for each row, the paper's and the one here."""

from rich.table import Table as Grid

from launch.evaluation.summary import short_number
from launch.report.papers.table_file import CellData, RowData, TableData


def text_table(data: TableData) -> Grid:
    """Return the table as the terminal shows it."""
    grid = Grid(*heads(data)[:3], box=None)
    for column in data.columns:
        grid.add_column(column.name, justify="right")
    for row in data.rows:
        for line in row_lines(data, row):
            grid.add_row(*line)
    return grid


def heads(data: TableData) -> list[str]:
    """Return the headings of the lines of `row_lines`."""
    return ["row", "", "training", *(column.name for column in data.columns)]


def row_lines(data: TableData, row: RowData) -> tuple[list[str], list[str]]:
    """Return the line of the paper and the one here."""
    cells = [row.cells.get(column.name) for column in data.columns]
    budget = training_text(row.paper_moves, row.paper_training_games)
    paper = [row.name, "paper", budget, *(number_text(cell.paper, cell.paper_margin) if cell else "" for cell in cells)]
    if row.why:
        return paper, ["", "here", f"not here: {row.why}"]
    return paper, ["", "here", training_text(row.moves), *(_here(cell) if cell else "" for cell in cells)]


def number_text(value: float, margin: float | None = None) -> str:
    """Format a number and its margin: two digits after the point below 1000, none above; 2.0e-05 where that is 0.00."""
    if margin is None:
        return f"{value:{_digits(value)}}"
    return f"{value:{_digits(value)}} ± {margin:{_digits(margin if abs(value) < 1000 else value)}}"


def _digits(value: float) -> str:
    return ",.0f" if abs(value) >= 1000 else ".2f" if abs(value) >= 0.005 or value == 0 else ".1e"


def training_text(moves: int, games: int = 0) -> str:
    """Format a budget, in games if their number is given: 100M games, 1T moves."""
    return f"{short_number(games)} games" if games else f"{_long(moves)} moves"


def _here(cell: CellData) -> str:
    if cell.here is None:
        return "-"
    if cell.here_low is None or cell.here_high is None:
        return number_text(cell.here)
    return number_text(cell.here, (cell.here_high - cell.here_low) / 2)


def _long(moves: int) -> str:
    """Format a number of moves, up to the 10^12 of the papers."""
    return f"{moves / 1e12:g}T" if moves >= 1e12 else short_number(moves)
