"""The file of a table beside the paper, <table>-b<budget>.json: `reproduce` writes it, `compare` shows it."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from launch.errors import UserError, warn
from launch.experiment.environment import command_line, machine, project_version
from launch.experiment.typed_values import typed
from launch.files import write_json
from launch.report.papers.comparison import Comparison, caveats
from launch.report.papers.plan import run_name, trained_row, why_not
from launch.report.papers.table import Row

CSV_COLUMNS = ("table", "row", "column", "paper", "paper_margin", "here", "here_low", "here_high", "paper_moves",
               "moves", "paper_seeds", "seeds", "paper_games", "games", "search", "why")  # fmt: skip


@dataclass(frozen=True)
class CellData:
    """One number, in the units of the paper; `launch.report.papers.comparison.Cell` describes the fields."""

    paper: float
    paper_margin: float | None
    here: float | None
    here_low: float | None
    here_high: float | None
    seeds: int
    games: int
    paper_games: int
    search: str


@dataclass(frozen=True)
class ColumnData:
    """One column of numbers."""

    name: str
    statistic: str  # "": not computed here
    unit: float
    why: str  # why not


@dataclass(frozen=True)
class RowData:
    """One row."""

    name: str
    why: str  # why this project cannot train it; "": it can
    paper_moves: int
    paper_training_games: int  # 0: the paper gives moves
    moves: int
    runs: list[str]  # names of the runs whose networks it evaluates, whether trained by now or not
    cells: dict[str, CellData]  # by name of the column


@dataclass(frozen=True)
class TableData:
    """A table with the paper's numbers and ours."""

    table: str
    title: str
    source: str
    conditions: str
    caveats: list[str]
    budget: float  # share of the paper's moves
    seeds: list[int]  # our training seeds
    paper_seeds: int  # networks of a number of the paper
    columns: list[ColumnData]
    rows: list[RowData]
    version: str
    machine: str
    command: str
    time: str


def table_data(comparison: Comparison) -> TableData:
    """Return the content of the file of a table."""
    table, scale, _ = comparison
    return TableData(
        table=table.name,
        title=table.title,
        source=table.source,
        conditions=" ".join(table.conditions.split()),
        caveats=caveats(comparison),
        budget=scale.budget,
        seeds=list(scale.seeds),
        paper_seeds=table.seeds,
        columns=[ColumnData(one.name, one.statistic, one.unit, one.why) for one in table.columns],
        rows=[_row_data(comparison, row) for row in table.rows],
        version=project_version(),
        machine=machine(),
        command=command_line(),
        time=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def write_table_file(data: TableData, file: Path) -> None:
    """Write the JSON file of a table; docs/papers.md lists its keys."""
    write_json(file, asdict(data))


def read_table_file(file: Path) -> TableData:
    """Read the JSON file of a table, the inverse of `write_table_file`.

    Raises:
        UserError: the file cannot be read, or is not the file of a table.
    """
    try:
        return typed(TableData, json.loads(file.read_text(encoding="utf-8")))
    except OSError as error:
        raise UserError(f"cannot read {file}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        text = str(error).partition("\n")[0]
        raise UserError(f"{file} is not a table of `muzero2048 reproduce`: {text}") from error


def tables_of_runs(run_folders: Iterable[Path]) -> list[TableData]:
    """Return the tables of which at least one run is given, from the files beside the runs.

    Args:
        run_folders: folders of runs.

    Returns:
        The tables, by name of their file. A file that is no table causes a warning and is left out.
    """
    names: dict[Path, set[str]] = {}
    for folder in run_folders:
        names.setdefault(folder.resolve().parent, set()).add(folder.name)
    found = []
    for parent, runs in names.items():
        for file in sorted(parent.glob("*-b[0-9]*.json")):
            try:
                data = read_table_file(file)
            except UserError as error:
                warn(f"left out: {error}")
                continue
            if any(not runs.isdisjoint(row.runs) for row in data.rows):
                found.append(data)
    return found


def csv_rows(tables: Sequence[TableData]) -> Iterable[Sequence[Any]]:
    """Return a line of CSV_COLUMNS for each number of the paper."""
    for data in tables:
        for row in data.rows:
            for column in data.columns:
                if cell := row.cells.get(column.name):
                    numbers = (cell.paper, cell.paper_margin, cell.here, cell.here_low, cell.here_high)
                    training = (row.paper_moves, row.moves, data.paper_seeds, cell.seeds)
                    play = (cell.paper_games, cell.games, cell.search, column.why or row.why)
                    yield (data.table, row.name, column.name, *numbers, *training, *play)


def _row_data(comparison: Comparison, row: Row) -> RowData:
    table, scale, cells = comparison
    trained, why = trained_row(table, row), why_not(table, row)
    moves = trained.table.moves_of(trained.row)
    return RowData(
        name=row.name,
        why=why,
        paper_moves=moves,
        paper_training_games=trained.table.games_of_training(trained.row),
        moves=scale.moves(moves),
        runs=[] if why else [run_name(trained, scale, seed) for seed in scale.seeds],
        cells={
            cell.column.name: CellData(
                paper=cell.paper,
                paper_margin=cell.paper_margin,
                here=cell.here,
                here_low=cell.here_low,
                here_high=cell.here_high,
                seeds=cell.seeds,
                games=cell.games,
                paper_games=cell.games_of_the_paper,
                search=cell.search,
            )
            for cell in cells
            if cell.row is row
        },
    )
