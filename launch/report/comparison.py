"""What a comparison of runs shows, on its page and in its figures and CSV files."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from launch.errors import UserError
from launch.evaluation.result_columns import SCORE as SCORE_COLUMN
from launch.quantities import counted
from launch.report.budgets import Cost, Standing, costs, search_curves, standings
from launch.report.curves import SCORE, Curve, differing_keys, make_curves, values_of
from launch.report.differences import Difference, differences
from launch.report.figures import PlotLine
from launch.report.finals import Distribution, Group, Result, distribution, final_evaluations, make_groups
from launch.report.papers.comparison import TableData, tables_of_runs
from launch.report.published.papers import PaperResult, read_papers
from launch.report.runs import Run

# Points of a series: as many as keep the page's data below PAGE_BYTES, in these limits. A point takes 4 numbers of 4
# bytes in base64, and 2 more with a band. With MOST_POINTS, a part of which `shown_points` keeps the extremes is about
# 5 of the 1,300 pixels of the figure.
MOST_POINTS, FEWEST_POINTS = 2000, 96
PAGE_BYTES = 6_000_000
POINT_BYTES = 30


class Comparison(NamedTuple):
    """What is compared."""

    games: str  # of the runs, in words
    headline: str  # the result in a sentence; "": no evaluation has ended
    subtitle: str
    axis: str  # the x-axis with which the page opens
    tile: int  # of the figure of reach rates
    keys: Sequence[str]  # by which runs are grouped
    curves: list[Curve]  # the highest last score first
    results: list[Result]  # final evaluations, the best first
    groups: list[Group]  # of these, the best first
    distributions: list[Distribution]  # of these groups
    differences: list[Difference]
    searches: list[PlotLine]
    standings: list[Standing]
    costs: list[Cost]
    differing: dict[str, list[str]]  # see `differing_keys`
    papers: list[PaperResult]  # of the boards that were evaluated
    tables: list[TableData]  # tables of papers that the runs belong to


def make_comparison(runs: Sequence[Run], keys: Sequence[str], axis: str, tile: int) -> Comparison:
    """Compare runs; UserError if none has been evaluated."""
    curves = make_curves(runs, keys, _most_points(runs, keys))
    results = final_evaluations(runs)
    if not results and not any(SCORE in curve.series for curve in curves):
        raise UserError("none of these runs has been evaluated yet; set run.evaluate_env_steps, or wait for the end")
    groups = make_groups(results, keys)
    ranked = [group for group in groups if not group.is_against]
    boards = {result["board"] for result in results}
    learners = " and ".join(sorted({run.learner for run in runs}))
    return Comparison(
        games=" and ".join(sorted({run.game for run in runs})),
        headline=_headline(ranked),
        subtitle=f"{counted(len(runs), 'run')} of {learners}. Made {datetime.now(UTC):%Y-%m-%d %H:%M} UTC.",
        axis=axis,
        tile=tile,
        keys=keys,
        curves=curves,
        results=results,
        groups=groups,
        distributions=[distribution(group) for group in groups],
        differences=differences(ranked),
        searches=search_curves(results),
        standings=standings(curves),
        costs=costs(curves),
        differing=differing_keys(curves),
        papers=[paper for paper in read_papers() if paper.board in boards],
        tables=tables_of_runs(run.folder for run in runs),
    )


def _headline(groups: Sequence[Group]) -> str:
    """Return the first group of each board with its score, and the second one, in words."""
    sentences = []
    for board in dict.fromkeys(group.board for group in groups):
        first, *others = here = [group for group in groups if group.board == board]
        scores = [SCORE_COLUMN.text(group.as_result()) for group in here[:2]]
        games = f"{counted(first.games, 'game')} of {counted(first.seeds, 'seed')}"
        sentence = f"On {board}, {first.name} has the highest mean score: {scores[0]} over {games}"
        sentences.append(f"{sentence}; next is {others[0].name} with {scores[1]}." if others else f"{sentence}.")
    return " ".join(sentences)


def _most_points(runs: Sequence[Run], keys: Sequence[str]) -> int:
    """Return how many points each series may have, see PAGE_BYTES."""
    series = {
        (run.learner, run.board, *map(str, values_of(run, keys)), metric) for run in runs for metric in run.columns
    }
    return min(MOST_POINTS, max(FEWEST_POINTS, PAGE_BYTES // (POINT_BYTES * max(len(series), 1))))
