"""A table of a paper as lines: for each row the paper's and the one here, with columns for all forms of tables."""

from typing import NamedTuple

from launch.quantities import short_number
from launch.report.papers.comparison import CellData, ColumnData, RowData, TableData
from launch.tables import Column, markup


class TableLine(NamedTuple):
    """One of the two lines of a row."""

    row: RowData
    is_here: bool


def lines_of(row: RowData) -> list[TableLine]:
    """Return the line of the paper and the one here."""
    return [TableLine(row, is_here=False), TableLine(row, is_here=True)]


def line_columns(data: TableData) -> list[Column]:
    """Return the columns of the lines of a table."""
    return [
        Column("row", _name, _name, lambda line: markup(_name(line), is_strong=True) if _name(line) else ""),
        Column("", _owner, _owner),
        Column("training", lambda line: line.row.moves if line.is_here else line.row.paper_moves, _training),
        *(_number_column(data, column) for column in data.columns),
    ]


def _name(line: TableLine) -> str:
    return "" if line.is_here else line.row.name


def _owner(line: TableLine) -> str:
    return "here" if line.is_here else "paper"


def _training(line: TableLine) -> str:
    row = line.row
    if line.is_here and row.why:
        return f"not here: {row.why}"
    return training_text(row.moves) if line.is_here else training_text(row.paper_moves, row.paper_training_games)


def _number_column(data: TableData, column: ColumnData) -> Column:
    """Return a column of numbers. In HTML, smaller lines give the games, and here the interval and the search."""

    def cell_of(line: TableLine) -> CellData | None:
        return None if line.is_here and line.row.why else line.row.cells.get(column.name)

    def value(line: TableLine) -> float | str:
        cell = cell_of(line)
        number = None if cell is None else cell.here if line.is_here else cell.paper
        return "" if number is None else number

    def text(line: TableLine) -> str:
        cell = cell_of(line)
        if cell is None:
            return ""
        if not line.is_here:
            return number_text(cell.paper, cell.paper_margin)
        if cell.here is None:
            return "-"
        if cell.here_low is None or cell.here_high is None:
            return number_text(cell.here)
        return number_text(cell.here, (cell.here_high - cell.here_low) / 2)

    def html(line: TableLine) -> str:
        cell = cell_of(line)
        if cell is None:
            return ""
        if not line.is_here:
            return markup(text(line), _games(data.paper_seeds, cell.paper_games))
        if cell.here is None:
            return markup("-", *filter(None, [column.why]))
        interval = "no interval"
        if cell.here_low is not None and cell.here_high is not None:
            interval = f"{number_text(cell.here_low)} to {number_text(cell.here_high)}"
        play = f"{cell.search}, {_games(cell.seeds, cell.games)}"
        return markup(number_text(cell.here), interval, play, is_strong=True)

    return Column(column.name, value, text, html)


def _games(networks: int, games: int) -> str:
    return f"{networks} x {games:,} games" if networks > 1 else f"{games:,} games"


def number_text(value: float, margin: float | None = None) -> str:
    """Format a number and its margin: two digits after the point below 1000, none above; 2.0e-05 where that is 0.00."""
    if margin is None:
        return f"{value:{_digits(value)}}"
    return f"{value:{_digits(value)}} ± {margin:{_digits(margin if abs(value) < 1000 else value)}}"


def _digits(value: float) -> str:
    return ",.0f" if abs(value) >= 1000 else ".2f" if abs(value) >= 0.005 or value == 0 else ".1e"


def training_text(moves: int, games: int = 0) -> str:
    """Format a budget, in games if their number is given: 100M games, 1T moves."""
    if games:
        return f"{short_number(games)} games"
    return f"{moves / 1e12:g}T moves" if moves >= 1e12 else f"{short_number(moves)} moves"
