"""A table of a paper with the numbers here, and its file <table>-b<budget>.json.

`reproduce` writes the file, `compare` shows it; docs/papers.md lists its keys. Numbers are in the units of the paper.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from launch.errors import UserError, warn
from launch.evaluation.intervals import Interval, student, student_of_rates, wilson
from launch.evaluation.result import read_result
from launch.experiment.machine_info import command_line, machine, project_version
from launch.files import write_json
from launch.quantities import plural
from launch.report.papers.plan import Scale, plan_row, run_name, trained_row, why_not
from launch.report.papers.table import PaperColumn, PaperRow, PaperTable
from launch.tables import fields, render
from ntuple.core.settings import Settings, from_plain

RESULT_KEYS = ("games", "score_mean", "score_low", "score_high", "reach", "search")
REACH = "reach_"
CSV_COLUMNS = fields("table", "row", "column", "paper", "paper_margin", "here", "here_low", "here_high", "paper_moves",
                     "moves", "paper_seeds", "seeds", "paper_games", "games", "search", "why")  # fmt: skip


class CellData(Settings):
    """One number."""

    paper: float
    paper_margin: float | None
    here: float | None  # None: there is no result yet, or this project does not compute it
    here_low: float | None  # low and high: 95% interval; None: none can be given
    here_high: float | None
    seeds: int  # trained networks of the number here
    games: int  # games of the evaluation of each of them
    paper_games: int
    search: str  # name of the search here


class ColumnData(Settings):
    """One column of numbers."""

    name: str
    statistic: str  # "": not computed here
    unit: float
    why: str  # why not


class RowData(Settings):
    """One row."""

    name: str
    why: str  # why this project cannot train it; "": it can
    paper_moves: int
    paper_training_games: int  # 0: the paper gives moves
    moves: int
    runs: list[str]  # names of the runs whose networks it evaluates, whether trained by now or not
    cells: dict[str, CellData]  # by name of the column


class TableData(Settings):
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


def compare_with_paper(table: PaperTable, scale: Scale) -> TableData:
    """Read the results of all rows; nothing is trained or played.

    Raises:
        UserError: a run exists with another config, or a result cannot be read.
    """
    rows = [_row(table, row, scale) for row in table.rows]
    return TableData(
        table=table.name,
        title=table.title,
        source=table.source,
        conditions=" ".join(table.conditions.split()),
        caveats=_caveats(table, scale, [cell.paper_games for row in rows for cell in row.cells.values()]),
        budget=scale.budget,
        seeds=list(scale.seeds),
        paper_seeds=table.seeds,
        columns=[ColumnData(one.name, one.statistic, one.unit, one.why) for one in table.columns],
        rows=rows,
        version=project_version(),
        machine=machine(),
        command=command_line(),
        time=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _row(table: PaperTable, row: PaperRow, scale: Scale) -> RowData:
    trained, why = trained_row(table, row), why_not(table, row)
    results: dict[str, list[dict[str, Any]]] = {column.name: [] for column in table.columns}
    for name, planned in plan_row(table, row, scale):
        if file := planned.result():
            results[name].append(read_result(file, RESULT_KEYS))
    shown = [column for column in table.columns if column.name in row.paper]
    moves = trained.table.moves_of(trained.row)
    return RowData(
        name=row.name,
        why=why,
        paper_moves=moves,
        paper_training_games=trained.table.games_of_training(trained.row),
        moves=scale.moves(moves),
        runs=[] if why else [run_name(trained, scale, seed) for seed in scale.seeds],
        cells={column.name: _cell(table, row, column, results[column.name]) for column in shown},
    )


def _cell(table: PaperTable, row: PaperRow, column: PaperColumn, results: Sequence[dict[str, Any]]) -> CellData:
    value, *margin = row.paper[column.name]
    numbers: Sequence[float | None] = interval_of(results, column.statistic) if results else (None, None, None)
    here, low, high = (None if number is None else number / column.unit for number in numbers)
    return CellData(
        paper=value,
        paper_margin=margin[0] if margin else None,
        here=here,
        here_low=low,
        here_high=high,
        seeds=len(results),
        games=results[0]["games"] if results else 0,
        paper_games=table.games_of(row, column),
        search=results[0]["search"] if results else "",
    )


def interval_of(results: Sequence[dict[str, Any]], statistic: str) -> tuple[float, float | None, float | None]:
    """Return a statistic of one or more trained networks with its 95% interval.

    One network: the interval over its games. Several: the interval over networks (launch/evaluation/intervals.py).

    Args:
        results: one a network.
        statistic: reach_<tile>, or a key of a result.

    Returns:
        The mean over networks, and the ends of the interval; None if one network gives none.
    """
    tile = statistic.removeprefix(REACH) if statistic.startswith(REACH) else None
    values = [float(result["reach"][tile] if tile else result[statistic]) for result in results]
    games = sum(result["games"] for result in results)
    if tile:
        interval = wilson(values[0], games) if len(values) == 1 else student_of_rates(values, games)
    elif len(values) > 1:
        interval = student(values)
    elif statistic == "score_mean":
        interval = Interval(values[0], results[0]["score_low"], results[0]["score_high"])
    else:
        return values[0], None, None
    return float(interval.value), float(interval.low), float(interval.high)


def _caveats(table: PaperTable, scale: Scale, games_of_cells: Sequence[int]) -> list[str]:
    """Return what differs from the paper: that of every run of the table, then budget, seeds and games."""
    lines = [" ".join(table.caveat.split())]
    if scale.budget < 1:
        lines.append(f"Budget: {scale.budget:g} of the paper's moves of training; scores rise with the budget.")
    if len(scale.seeds) != table.seeds:
        networks = plural(len(scale.seeds), "network")
        lines.append(f"Seeds: {len(scale.seeds)} trained {networks} a row here, {table.seeds} in the paper.")
    if reduced := [games for games in games_of_cells if scale.games(games) < games]:
        lines.append(f"Games: at most {scale.most_games:,} an evaluation here, up to {max(reduced):,} in the paper.")
    over = "the games of one network" if len(scale.seeds) == 1 else "trained networks"
    lines.append(f"± here is half of the 95% interval over {over}.")
    return lines


def write_table_file(data: TableData, file: Path) -> None:
    """Write the JSON file of a table."""
    write_json(file, asdict(data))


def read_table_file(file: Path) -> TableData:
    """Read the JSON file of a table; UserError if it cannot be read, or is not the file of a table."""
    try:
        return from_plain(TableData, json.loads(file.read_text(encoding="utf-8")))
    except OSError as error:
        raise UserError(f"cannot read {file}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        text = str(error).partition("\n")[0]
        raise UserError(f"{file} is not a table of `muzero2048 reproduce`: {text}") from error


def tables_of_runs(run_folders: Iterable[Path]) -> list[TableData]:
    """Return the tables of which at least one run is given, from the files beside the runs, sorted by file name.

    A file that is no table causes a warning and is left out.
    """
    names: dict[Path, set[str]] = {}
    for folder in run_folders:
        names.setdefault(folder.resolve().parent, set()).add(folder.name)
    tables = []
    for parent, runs in names.items():
        for file in sorted(parent.glob("*-b[0-9]*.json")):
            try:
                data = read_table_file(file)
            except UserError as error:
                warn(f"left out: {error}")
                continue
            if any(not runs.isdisjoint(row.runs) for row in data.rows):
                tables.append(data)
    return tables


def tables_csv(tables: Sequence[TableData]) -> str:
    """Return a CSV file with a line of CSV_COLUMNS for each number of the papers."""
    rows = []
    for data in tables:
        for row in data.rows:
            for column in data.columns:
                if cell := row.cells.get(column.name):
                    numbers = (cell.paper, cell.paper_margin, cell.here, cell.here_low, cell.here_high)
                    training = (row.paper_moves, row.moves, data.paper_seeds, cell.seeds)
                    play = (cell.paper_games, cell.games, cell.search, column.why or row.why)
                    rows.append((data.table, row.name, column.name, *numbers, *training, *play))
    return render(rows, CSV_COLUMNS, "csv")
