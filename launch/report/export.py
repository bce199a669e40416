"""The numbers of a comparison as CSV files; those of curves are the numbers on the page."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from launch.evaluation.result_columns import all_rates
from launch.report.comparison import Comparison
from launch.report.papers.comparison import tables_csv
from launch.report.runs import X_AXES
from launch.tables import Column, entry, fields, render

EVALUATIONS = ("run", "group", "learner", "training_seed", "board", "search", "env_steps", "training_games",
               "wall_hours", "games", "score_mean", "score_low", "score_high", "score_median", "score_max",
               "moves_mean", "moves_per_second")  # fmt: skip
GROUPS = ("group", "learner", "search", "env_steps", "seeds", "games", "score_mean", "score_low", "score_high",
          "training_games", "wall_hours", "device_hours", "device")  # fmt: skip
MEDIAN_OF_SEEDS = entry("score_median_mean", "score_median")
REFERENCES = ("paper", "table", "player", "search", "budget", "score_mean")


def csv_files(comparison: Comparison) -> dict[str, str]:
    """Return the texts of all CSV files by name; that of papers only if a table of a paper belongs to the runs."""
    results = [result for group in comparison.groups for result in group.results]
    rates = all_rates(results)
    group_columns = [*map(entry, GROUPS), MEDIAN_OF_SEEDS, entry("score_max"), entry("moves_per_second"), *rates]
    tables: dict[str, tuple[Iterable[Any], Sequence[Column]]] = {
        "curves": (
            _curve_rows(comparison),
            fields("curve", "metric", *X_AXES, "value", "low", "high", "iqm", "iqm_low", "iqm_high"),
        ),
        "evaluations": (results, [*map(entry, EVALUATIONS), *rates]),
        "groups": ([group.as_result() for group in comparison.groups], group_columns),
        "differences": (
            [
                (pair.first, pair.second, *pair.difference, pair.p, *(pair.improvement or ("", "", "")), pair.scope)
                for pair in comparison.differences
            ],
            fields("first", "second", "difference", "low", "high", "p", "improvement", "improvement_low",
                   "improvement_high", "compared"),
        ),
        "distributions": (_distribution_rows(comparison), fields("group", "what", "from", "to", "share")),
        "searches": (
            [
                (line.label, *values)
                for line in comparison.searches
                for values in zip(line.x, line.y, line.low, line.high, strict=True)
            ],
            fields("curve", "microseconds", "score_mean", "score_low", "score_high"),
        ),
        "references": ([paper._asdict() for paper in comparison.papers], [*map(entry, REFERENCES), *rates]),
        "budgets": (
            [
                (standing.board, standing.axis, standing.at, label, *score)
                for standing in comparison.standings
                for label, score in standing.scores
            ],
            fields("board", "axis", "at", "curve", "score_mean", "score_low", "score_high"),
        ),
        "costs": (
            [
                (cost.board, cost.level, cost.label, *(cost.spent[axis] for axis in X_AXES))
                for cost in comparison.costs
            ],
            fields("board", "score", "curve", *X_AXES),
        ),
        "config": (
            [(key, *texts) for key, texts in comparison.differing.items()],
            fields("key", *(curve.label for curve in comparison.curves)),
        ),
    }  # fmt: skip
    files = {f"{name}.csv": render(rows, columns, "csv") for name, (rows, columns) in tables.items()}
    return files | ({"papers.csv": tables_csv(comparison.tables)} if comparison.tables else {})


def _curve_rows(comparison: Comparison) -> Iterable[Sequence[Any]]:
    for curve in comparison.curves:
        for metric, series in curve.series.items():
            parts = [*(series.x[axis] for axis in X_AXES), *series.mean, *(series.iqm or (None, None, None))]
            columns = [[""] * len(series.mean.y) if part is None else part.astype(np.float32) for part in parts]
            for values in zip(*columns, strict=True):
                yield (curve.label, metric, *values)


def _distribution_rows(comparison: Comparison) -> Iterable[Sequence[Any]]:
    for shares in comparison.distributions:
        for low, high, share in zip(shares.edges[:-1], shares.edges[1:], shares.shares, strict=True):
            yield shares.name, "score", low, high, share
        for tile, rate in shares.tiles.items():
            yield shares.name, "largest tile", tile, tile, rate
