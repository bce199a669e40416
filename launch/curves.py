"""Learning curves read from run folders: one curve for each group and learner, its seeds drawn as a band.

Shapes: `P` points of a curve.
"""

import json
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float64
from scipy.special import ndtri

from launch import evaluate
from launch.config import CONFIG_FILE, load_experiment
from launch.errors import UserError
from launch.metrics import Row
from launch.report import Summary
from launch.tracking import METRICS_FILE, read_metrics

RESULT_KEYS = {"run", "learner", "training_seed", "env_steps", "wall_hours", "board", "search", *Summary._fields}

Points = Float64[np.ndarray, " P"]


Point = tuple[int | float, int | float, int | float]  # value, low, high


class Run(NamedTuple):
    """What one run left: the rows of metrics.jsonl that hold an evaluation, and its evaluations/*.json."""

    name: str
    group: str
    learner: str
    seed: int
    rows: list[Row]
    evaluations: list[dict[str, Any]]


class Curve(NamedTuple):
    """One line with its band. `low` and `high` are a 95% interval, or the extremes of several seeds."""

    label: str
    learner: str
    x: Points
    y: Points
    low: Points
    high: Points


def read_run(folder: Path) -> Run:
    """Read a run folder; UserError if it is none, or a file in it is damaged."""
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
        evaluations=[_read_result(file) for file in sorted((folder / evaluate.FOLDER).glob("*.json"))],
    )


def score_curves(runs: Sequence[Run], x: str) -> list[Curve]:
    """Mean score of evaluation against the axis `x`."""
    return _curves(runs, x, _score)


def reach_curves(runs: Sequence[Run], x: str, tile: int) -> list[Curve]:
    """Rate of reaching the tile against the axis `x`, with Wilson's interval."""
    return _curves(runs, x, lambda row: _wilson(row[f"eval/reach_{tile}"], row["eval/games"]))


def final_evaluations(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """For each run and search, of the evaluations of its last step the one with the most games."""
    found = []
    for run in runs:
        by_search = sorted(run.evaluations, key=lambda result: result["search"])
        for _, results in groupby(by_search, key=lambda result: result["search"]):
            found.append(max(results, key=lambda result: (result["env_steps"], result["games"])))
    return found


def _read_result(file: Path) -> dict[str, Any]:
    try:
        result = json.loads(file.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise UserError(f"{file}, line {error.lineno}: not JSON; delete the file and evaluate again") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{file}, line 1: not text; delete the file and evaluate again") from error
    missing = RESULT_KEYS - result.keys() if isinstance(result, dict) else RESULT_KEYS
    if missing:
        raise UserError(f"{file}, line 1: not an evaluation, it has no {min(missing)}; delete it and evaluate again")
    return result


def _score(row: Row) -> Point:
    return row["eval/score_mean"], row["eval/score_low"], row["eval/score_high"]


def _wilson(rate: int | float, games: int | float) -> Point:
    """The rate p of n games and its 95% interval.

    (p + z^2 / 2n +- z sqrt(p (1 - p) / n + z^2 / 4n^2)) / (1 + z^2 / n), with z = 1.96 (Wilson 1927).
    """
    z = float(ndtri(0.975))
    centre = rate + z * z / (2 * games)
    margin = z * (rate * (1 - rate) / games + z * z / (4 * games * games)) ** 0.5
    scale = 1 + z * z / games
    # max: rounding leaves the lower end of a rate of 0 at -1e-18
    return rate, max(0.0, (centre - margin) / scale), min(1.0, (centre + margin) / scale)


def _curves(runs: Sequence[Run], x: str, value: Callable[[Row], Point]) -> list[Curve]:
    def key(run: Run) -> tuple[str, str]:
        return run.group, run.learner

    drawable = sorted((run for run in runs if run.rows), key=key)
    groups = [list(seeds) for _, seeds in groupby(drawable, key=key)]
    groups.sort(key=_last_score, reverse=True)  # in every figure, so that a curve keeps its colour
    return [curve for seeds in groups for curve in _merge(seeds, [_curve(run, x, value) for run in seeds])]


def _last_score(seeds: list[Run]) -> float:
    return max(run.rows[-1]["eval/score_mean"] for run in seeds)


def _curve(run: Run, x: str, value: Callable[[Row], Point]) -> Curve:
    y, low, high = np.array([value(row) for row in run.rows], np.float64).T
    axis = np.array([row[x] for row in run.rows], np.float64)
    return Curve(f"{run.group} ({run.learner})", run.learner, axis, y, low, high)


def _merge(runs: list[Run], curves: list[Curve]) -> list[Curve]:
    """One curve as it is; of several seeds the mean, with the extremes as its band.

    Seeds are evaluated at slightly different places, so each is interpolated at the places of all of them
    within the range that all have reached. Where there is no such range, they stay apart.
    """
    if len(curves) == 1:
        return curves
    start, end = max(curve.x[0] for curve in curves), min(curve.x[-1] for curve in curves)
    if start > end:
        return [curve._replace(label=f"{run.name} ({run.learner})") for run, curve in zip(runs, curves, strict=True)]
    places = np.unique(np.concatenate([curve.x for curve in curves]))
    x = places[(places >= start) & (places <= end)]
    y = np.stack([np.interp(x, curve.x, curve.y) for curve in curves])
    label = f"{curves[0].label}, {len(curves)} seeds"
    return [Curve(label, curves[0].learner, x, y.mean(axis=0), y.min(axis=0), y.max(axis=0))]
