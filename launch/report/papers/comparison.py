"""The numbers of a table beside those of the paper."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from launch.evaluation.intervals import Interval, student, student_of_rates, wilson
from launch.evaluation.result import read_result
from launch.report.papers.plan import Scale, plan_evaluation, plan_run, trained_row, why_not
from launch.report.papers.table import Column, Row, Table
from launch.words import plural

KEYS = ("games", "score_mean", "score_low", "score_high", "reach", "search")
REACH = "reach_"


class Cell(NamedTuple):
    """One number, in the units of the paper."""

    row: Row
    column: Column
    paper: float
    paper_margin: float | None
    here: float | None  # None: there is no result yet, or this project does not compute it
    here_low: float | None  # low and high: 95% interval; None: none can be given
    here_high: float | None
    seeds: int  # trained networks of the number here
    games: int  # games of the evaluation of each of them
    games_of_the_paper: int
    search: str  # name of the search here


class Comparison(NamedTuple):
    """A table of a paper with the numbers that are there by now."""

    table: Table
    scale: Scale
    cells: list[Cell]


def compare_with_paper(table: Table, scale: Scale) -> Comparison:
    """Read the results of all rows; nothing is trained or played.

    Args:
        table: the table.
        scale: selects the runs and the number of games.

    Returns:
        A cell for each number of the paper.

    Raises:
        UserError: a run exists with another config, or a result cannot be read.
    """
    cells = []
    for row in table.rows:
        runs = [] if why_not(table, row) else [plan_run(trained_row(table, row), scale, seed) for seed in scale.seeds]
        for column in table.columns:
            if column.name not in row.paper:
                continue
            planned = [plan_evaluation(table, row, column, run, scale) for run in runs if column.statistic]
            files = [file for one in planned if one and (file := one.result())]
            cells.append(_cell(table, row, column, [read_result(file, KEYS) for file in files]))
    return Comparison(table, scale, cells)


def interval_of(results: Sequence[dict[str, Any]], statistic: str) -> tuple[float, float | None, float | None]:
    """Return a statistic of one or more trained networks with its 95% interval.

    One network: the interval over its games. Several: the interval over networks (launch/evaluation/intervals.py).

    Args:
        results: result files of evaluations, one a network.
        statistic: reach_<tile>, or a key of a result.

    Returns:
        The mean over networks, and the ends of the interval; None if one network gives none.
    """
    tile = statistic.removeprefix(REACH) if statistic.startswith(REACH) else None
    values = [float(result["reach"][tile] if tile else result[statistic]) for result in results]
    games = sum(result["games"] for result in results)
    if tile:
        found = wilson(values[0], games) if len(values) == 1 else student_of_rates(values, games)
    elif len(values) > 1:
        found = student(values)
    elif statistic == "score_mean":
        found = Interval(values[0], results[0]["score_low"], results[0]["score_high"])
    else:
        return values[0], None, None
    return float(found.value), float(found.low), float(found.high)


def caveats(comparison: Comparison) -> list[str]:
    """Return what differs from the paper: that of every run of the table, then budget, seeds and games."""
    table, scale, cells = comparison
    lines = [" ".join(table.caveat.split())]
    if scale.budget < 1:
        lines.append(f"Budget: {scale.budget:g} of the paper's moves of training; scores rise with the budget.")
    if len(scale.seeds) != table.seeds:
        lines.append(
            f"Seeds: {len(scale.seeds)} trained {plural(len(scale.seeds), 'network')} a row here,"
            f" {table.seeds} in the paper."
        )
    if short := [cell for cell in cells if scale.games(cell.games_of_the_paper) < cell.games_of_the_paper]:
        most = max(cell.games_of_the_paper for cell in short)
        lines.append(f"Games: at most {scale.most_games:,} an evaluation here, up to {most:,} in the paper.")
    over = "the games of one network" if len(scale.seeds) == 1 else "trained networks"
    lines.append(f"± here is half of the 95% interval over {over}.")
    return lines


def _cell(table: Table, row: Row, column: Column, results: Sequence[dict[str, Any]]) -> Cell:
    value, *margin = row.paper[column.name]
    here, low, high = interval_of(results, column.statistic) if results else (None, None, None)
    return Cell(
        row=row,
        column=column,
        paper=value,
        paper_margin=margin[0] if margin else None,
        here=None if here is None else here / column.unit,
        here_low=None if low is None else low / column.unit,
        here_high=None if high is None else high / column.unit,
        seeds=len(results),
        games=results[0]["games"] if results else 0,
        games_of_the_paper=table.games_of(row, column),
        search=results[0]["search"] if results else "",
    )
