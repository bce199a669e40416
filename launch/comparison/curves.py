"""Learning curves read from run folders: one curve for each group and learner, with an interval as its band.

Shapes: `P` points of a curve, `K` seeds.
"""

from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float64

from launch.config.experiment import CONFIG_FILE, load_experiment
from launch.errors import UserError, warn
from launch.evaluation.intervals import Interval, student, student_of_rates, wilson
from launch.evaluation.result import FOLDER, read_result
from launch.evaluation.summary import Summary
from launch.run.metrics import Row
from launch.run.tracking import METRICS_FILE, read_metrics

RESULT_KEYS = ("board", "run", "group", "learner", "training_seed", "seed", "env_steps", "wall_hours", "search",
               *Summary._fields)  # fmt: skip

Points = Float64[np.ndarray, " P"]

# (values of the seeds, number of games of all seeds) -> the mean and its interval
OverSeeds = Callable[[Float64[np.ndarray, " K"], int | float], Interval]


class Run(NamedTuple):
    """The evaluations of one run: rows of metrics.jsonl that have an evaluation, and evaluations/*.json."""

    name: str
    group: str
    learner: str
    seed: int
    rows: list[Row]
    evaluations: list[dict[str, Any]]


class Curve(NamedTuple):
    """A line with its band: the 95% interval of the games of one seed, or of the mean over several seeds."""

    label: str
    learner: str
    x: Points
    y: Points
    low: Points
    high: Points


def read_run(folder: Path) -> Run:
    """Read a run folder.

    Raises:
        UserError: the folder is not a run folder, or a file in it is damaged.
    """
    for name in (CONFIG_FILE, METRICS_FILE):
        if not (folder / name).is_file():
            raise UserError(f"{folder} is not a run folder: it has no {name}; give runs/<name>")
    experiment = load_experiment(folder)
    return Run(
        name=experiment.run.name,
        group=experiment.run.group,
        learner=experiment.learner,
        seed=experiment.run.seed,
        rows=[row for row in read_metrics(folder) if "eval/score_mean" in row],
        evaluations=[read_result(file, RESULT_KEYS) for file in sorted((folder / FOLDER).glob("*.json"))],
    )


def score_curves(runs: Sequence[Run], x: str) -> list[Curve]:
    """Return curves of the mean score in evaluations.

    The band is the interval of the games for one seed, and `student`'s interval of the seeds' means for several seeds.

    Args:
        runs: the runs.
        x: the x-axis: env_steps, games or wall_hours.

    Returns:
        One curve for each group and learner.
    """
    return _curves(runs, x, _score, lambda means, games: student(means))


def reach_curves(runs: Sequence[Run], x: str, tile: int) -> list[Curve]:
    """Return curves of the rate of games that reach a tile.

    The band is Wilson's interval for one seed, and that of `student_of_rates` for several seeds.

    Args:
        runs: the runs.
        x: the x-axis: env_steps, games or wall_hours.
        tile: the tile, such as 2048.

    Returns:
        One curve for each group and learner.
    """
    return _curves(runs, x, _rate(tile), student_of_rates)


def final_evaluations(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """Return for each run and search the evaluation after the most moves; of several, the one with the most games."""
    found = []
    for run in runs:
        by_search = sorted(run.evaluations, key=lambda result: result["search"])
        for _, results in groupby(by_search, key=lambda result: result["search"]):
            found.append(max(results, key=lambda result: (result["env_steps"], result["games"])))
    return found


class GroupResult(NamedTuple):
    """The final evaluations of the seeds of one experiment, after the same number of moves and with the same search."""

    group: str
    learner: str
    search: str
    env_steps: int
    seeds: int
    games: int  # of all seeds together
    score: Interval  # mean score with the interval of its games (one seed) or of the mean over seeds (several)


def group_results(results: Sequence[dict[str, Any]]) -> list[GroupResult]:
    """Group final evaluations by group, learner, search and env_steps; the best group comes first.

    Seeds of a group that were evaluated on the same games cause a warning: see `student`.
    """

    def key(result: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(result[name] for name in ("group", "learner", "search", "env_steps"))

    groups = [list(seeds) for _, seeds in groupby(sorted(results, key=key), key=key)]
    return sorted((_group_result(seeds) for seeds in groups), key=lambda result: -result.score.value)


def _group_result(seeds: list[dict[str, Any]]) -> GroupResult:
    first, games = seeds[0], sum(result["games"] for result in seeds)
    place = (first["group"], first["learner"], first["search"], first["env_steps"])
    if len(seeds) == 1:
        score = Interval(first["score_mean"], first["score_low"], first["score_high"])
        return GroupResult(*place, 1, games, score)
    if len({result["seed"] for result in seeds}) < len(seeds):
        warn(
            f"seeds of {first['group']} ({first['search']}) were evaluated on the same games, whose luck their interval"
            " leaves out; evaluate them again without --seed"
        )
    return GroupResult(*place, len(seeds), games, student([result["score_mean"] for result in seeds]))


def _score(row: Row) -> Interval:
    return Interval(row["eval/score_mean"], row["eval/score_low"], row["eval/score_high"])


def _rate(tile: int) -> Callable[[Row], Interval]:
    return lambda row: wilson(row[f"eval/reach_{tile}"], row["eval/games"])


def _curves(runs: Sequence[Run], x: str, value: Callable[[Row], Interval], over_seeds: OverSeeds) -> list[Curve]:
    def key(run: Run) -> tuple[str, str]:
        return run.group, run.learner

    drawable = sorted((run for run in runs if run.rows), key=key)
    groups = [list(seeds) for _, seeds in groupby(drawable, key=key)]
    groups.sort(key=_last_score, reverse=True)  # the same order in every figure, so that a curve keeps its colour
    return [curve for seeds in groups for curve in _merge(seeds, [_curve(run, x, value) for run in seeds], over_seeds)]


def _last_score(seeds: list[Run]) -> float:
    return max(run.rows[-1]["eval/score_mean"] for run in seeds)


def _curve(run: Run, x: str, value: Callable[[Row], Interval]) -> Curve:
    y, low, high = np.array([value(row) for row in run.rows], np.float64).T
    axis = np.array([row[x] for row in run.rows], np.float64)
    return Curve(f"{run.group} ({run.learner})", run.learner, axis, y, low, high)


def _merge(runs: list[Run], curves: list[Curve], over_seeds: OverSeeds) -> list[Curve]:
    """Merge the curves of seeds into their mean, with the interval of this mean as its band.

    Seeds are evaluated at slightly different x. Each curve is interpolated linearly at the x of all curves, within the
    range that all curves cover. If there is no such range, the curves are returned separately.
    """
    if len(curves) == 1:
        return [curves[0]._replace(label=f"{curves[0].label}, 1 seed")]
    start, end = max(curve.x[0] for curve in curves), min(curve.x[-1] for curve in curves)
    if start > end:
        return [curve._replace(label=f"{run.name} ({run.learner})") for run, curve in zip(runs, curves, strict=True)]
    places = np.unique(np.concatenate([curve.x for curve in curves]))
    x = places[(places >= start) & (places <= end)]
    games = sum(run.rows[0]["eval/games"] for run in runs)  # of all seeds together, at each x
    seeds = np.stack([np.interp(x, curve.x, curve.y) for curve in curves])
    y, low, high = np.array([over_seeds(values, games) for values in seeds.T], np.float64).T
    return [Curve(f"{curves[0].label}, {len(curves)} seeds", curves[0].learner, x, y, low, high)]
