"""The numbers of a comparison as CSV files; those of curves are the numbers on the page."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from launch.files import csv_text
from launch.report.content import Content
from launch.report.finals import Group
from launch.report.papers.table_file import CSV_COLUMNS, csv_rows
from launch.report.runs import X_AXES
from launch.train.metrics import TILES

EVALUATION_COLUMNS = ("run", "group", "learner", "training_seed", "board", "search", "env_steps", "training_games",
                      "wall_hours", "games", "score_mean", "score_low", "score_high", "score_median", "score_max",
                      "moves_mean", "moves_per_second")  # fmt: skip

GROUP_COLUMNS = ("group", "learner", "search", "env_steps", "seeds", "games", "score_mean", "score_low", "score_high",
                 "training_games", "wall_hours", "device_hours", "device", "score_median_mean", "score_max",
                 "moves_per_second")  # fmt: skip


def csv_files(content: Content) -> dict[str, str]:
    """Return the texts of all CSV files by name; that of papers only if a table of a paper belongs to the runs."""
    papers = {"papers.csv": csv_text(CSV_COLUMNS, csv_rows(content.tables))} if content.tables else {}
    return papers | {
        "curves.csv": csv_text(
            ("curve", "metric", *X_AXES, "value", "low", "high", "iqm", "iqm_low", "iqm_high"), _curve_rows(content)
        ),
        "evaluations.csv": csv_text((*EVALUATION_COLUMNS, *(f"reach_{tile}" for tile in TILES)), _results(content)),
        "groups.csv": csv_text(
            (*GROUP_COLUMNS, *(f"reach_{tile}" for tile in TILES)), (_group_row(group) for group in content.groups)
        ),
        "differences.csv": csv_text(
            (
                "first",
                "second",
                "difference",
                "low",
                "high",
                "p",
                "improvement",
                "improvement_low",
                "improvement_high",
                "compared",
            ),
            (
                (pair.first, pair.second, *pair.difference, pair.p, *(pair.improvement or ("", "", "")), pair.scope)
                for pair in content.differences
            ),
        ),
        "distributions.csv": csv_text(("group", "what", "from", "to", "share"), _distribution_rows(content)),
        "searches.csv": csv_text(
            ("curve", "microseconds", "score_mean", "score_low", "score_high"),
            (
                (line.label, *values)
                for line in content.searches
                for values in zip(line.x, line.y, line.low, line.high, strict=True)
            ),
        ),
        "references.csv": csv_text(
            ("paper", "table", "player", "search", "budget", "score_mean", *(f"reach_{tile}" for tile in TILES)),
            (
                (
                    paper.paper,
                    paper.table,
                    paper.player,
                    paper.search,
                    paper.budget,
                    paper.score_mean,
                    *(paper.reach.get(tile, "") for tile in TILES),
                )
                for paper in content.papers
            ),
        ),
        "budgets.csv": csv_text(
            ("axis", "at", "curve", "score_mean", "score_low", "score_high"),
            (
                (standing.axis, standing.at, label, *score)
                for standing in content.standings
                for label, score in standing.scores
            ),
        ),
        "costs.csv": csv_text(
            ("score", "curve", *X_AXES),
            ((cost.level, cost.label, *(cost.spent[axis] for axis in X_AXES)) for cost in content.costs),
        ),
        "config.csv": csv_text(
            ("key", *(curve.label for curve in content.curves)),
            ((key, *texts) for key, texts in content.differing.items()),
        ),
    }


def _curve_rows(content: Content) -> Iterable[Sequence[Any]]:
    for curve in content.curves:
        for metric, series in curve.series.items():
            parts = [*(series.x[axis] for axis in X_AXES), *series.mean, *(series.iqm or (None, None, None))]
            columns = [[""] * len(series.mean.y) if part is None else part.astype(np.float32) for part in parts]
            for values in zip(*columns, strict=True):
                yield (curve.label, metric, *values)


def _group_row(group: Group) -> Sequence[Any]:
    """Return a row of GROUP_COLUMNS and the rates; where a name has no other meaning, means over the seeds."""
    return (
        *(group.label, group.learner, group.search, group.env_steps, group.seeds, group.games, *group.score),
        *(group.mean("training_games"), group.mean("wall_hours"), *(group.device_hours() or ("", ""))),
        *(group.mean("score_median"), group.score_max, group.mean("moves_per_second")),
        *(group.reach(tile) for tile in TILES),
    )


def _distribution_rows(content: Content) -> Iterable[Sequence[Any]]:
    for found in content.distributions:
        for low, high, share in zip(found.edges[:-1], found.edges[1:], found.shares, strict=True):
            yield found.name, "score", low, high, share
        for tile, rate in found.tiles.items():
            yield found.name, "largest tile", tile, tile, rate


def _results(content: Content) -> Iterable[Sequence[Any]]:
    for group in content.groups:
        for result in group.results:
            yield (*(result[name] for name in EVALUATION_COLUMNS), *(result["reach"][str(tile)] for tile in TILES))
