"""Curves of metrics: one for each experiment, from its seeds, with 95% intervals as bands.

Shapes: `K` seeds, `R` rows of a run, `P` points of a curve.

A curve of several seeds has points where the seed with the most rows has them, within the moves that all seeds cover.
The other seeds are interpolated linearly at these moves. Games and hours at a point are means over the seeds.
"""

from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float64, Int64
from scipy.stats import trim_mean

from launch.errors import warn
from launch.evaluation.intervals import student_band, student_band_of_rates, wilson_band
from launch.experiment.metrics import REACH
from launch.experiment.plain_values import value_text
from launch.quantities import counted
from launch.report.runs import X_AXES, Run

SCORE, LOW, HIGH, GAMES = "eval/score_mean", "eval/score_low", "eval/score_high", "eval/games"
BAND_OF_GAMES = (LOW, HIGH)  # metrics that are the band of SCORE, not curves
FEWEST_SEEDS = 3  # with a band: the interval of two seeds is many times as wide as their distance
RESAMPLES = 400  # of the seeds, for a band of the interquartile mean

NAMING_KEYS = ("run.name", "run.group", "run.seed", "run.runs_folder")  # keys that name a run
MISSING = "-"

Points = Float64[np.ndarray, " P"]
Seeds = Float64[np.ndarray, "K P"]


class Band(NamedTuple):
    """A line, and its interval if there is one."""

    y: Points
    low: Points | None
    high: Points | None


class Series(NamedTuple):
    """One metric of a curve: against moves, with the games and hours at the same points."""

    x: dict[str, Points]  # by X_AXES
    mean: Band
    iqm: Band | None  # the interquartile mean of the seeds; None for one seed, and for metrics other than scores
    seeds: Seeds | None = None  # their lines; in figures of fewer than FEWEST_SEEDS seeds, in place of a band


class Curve(NamedTuple):
    """The metrics of one experiment: of one run, or of the seeds that have the same values of the keys."""

    label: str
    values: tuple[Any, ...]  # of the keys by which runs are grouped
    learner: str
    runs: list[Run]
    series: dict[str, Series]  # by metric; points that no figure shows are left out, see `shown_points`
    scores: Series | None  # the mean score at all points; None if there was no evaluation

    @property
    def board(self) -> str:
        """The board of its runs."""
        return self.runs[0].board

    @property
    def last_score(self) -> float:
        """The last mean score of an evaluation; -inf if there was none."""
        return -np.inf if self.scores is None else float(self.scores.mean.y[-1])


def make_curves(runs: Sequence[Run], keys: Sequence[str], points: int) -> list[Curve]:
    """Return the curves of runs with rows, the highest last score first.

    Runs of one learner and board with equal values of `keys` are the seeds of one curve. Seeds whose moves, or the
    moves of their evaluations, have no range in common are curves of their own, with a warning. The labels name the
    board if the runs have several. A series has about `points` points, see `shown_points`.
    """

    def place(run: Run) -> tuple[str, str, str]:
        return run.learner, run.board, repr(values_of(run, keys))

    names_board = len({run.board for run in runs}) > 1
    curves = []
    for _, group in groupby(sorted((run for run in runs if run.columns), key=place), key=place):
        seeds = list(group)
        evaluated = [moves for run in seeds if len(moves := _moves_of_evaluations(run))]
        apart = not (_overlap([_moves(run) for run in seeds]) and _overlap(evaluated))
        if apart:
            names = ", ".join(run.name for run in seeds)
            warn(f"{names}: no moves at which all of these seeds were evaluated, so each is a curve of its own")
        parts = [([run], run.name) for run in seeds] if apart else [(seeds, "")]
        curves += [_curve(part, keys, name, points, names_board) for part, name in parts]
    return sorted(curves, key=lambda curve: -curve.last_score)


def _moves(run: Run) -> Float64[np.ndarray, " R"]:
    return run.columns["env_steps"]


def _moves_of_evaluations(run: Run) -> Float64[np.ndarray, " E"]:
    return _moves(run)[~np.isnan(run.columns[SCORE])] if SCORE in run.columns else np.empty(0)


def _overlap(moves: Sequence[np.ndarray]) -> bool:
    """Return whether ascending moves of several runs have a range in common."""
    return not moves or bool(max(part[0] for part in moves) <= min(part[-1] for part in moves))


def values_of(run: Run, keys: Sequence[str]) -> tuple[Any, ...]:
    """Return the values of dotted keys in a run's config, None for a key that it lacks."""
    return tuple(run.config.get(key) for key in keys)


def key_label(key: str, value: object) -> str:
    """Return how a value of a key is named in labels: the last part of the key with the value; a group by its name."""
    text = value_text(value)
    return text if key == "run.group" else f"{key.rpartition('.')[2]}={text}"


def _curve(runs: list[Run], keys: Sequence[str], name: str, points: int, names_board: bool) -> Curve:
    values = values_of(runs[0], keys)
    label = name or ", ".join(key_label(key, value) for key, value in zip(keys, values, strict=True))
    label += f", {runs[0].board}" if names_board else ""
    label += f" ({runs[0].learner}), {counted(len(runs), 'seed')}"
    names = dict.fromkeys(name for run in runs for name in run.columns if name not in (*X_AXES, *BAND_OF_GAMES))
    having = {name: [run for run in runs if name in run.columns] for name in names}
    metrics = {name: metric for name in names if (metric := _all_points(having[name], name)) is not None}
    series = {name: _thinned(metric, name, points) for name, metric in metrics.items()}
    return Curve(label, values, runs[0].learner, runs, series, metrics.get(SCORE))


def _thinned(metric: Series, name: str, points: int) -> Series:
    """Return a metric at the points that figures show, with the interquartile mean of several seeds."""
    assert metric.seeds is not None
    shown, count = shown_points(metric.mean, points), len(metric.seeds)
    seeds = metric.seeds[:, shown]
    iqm = interquartile_band(seeds) if count > 1 and (name == SCORE or name.startswith(REACH)) else None
    y, low, high = metric.mean
    band = Band(y[shown], None if low is None else low[shown], None if high is None else high[shown])
    x = {axis: places[shown] for axis, places in metric.x.items()}
    return Series(x, band, iqm, seeds if count < FEWEST_SEEDS else None)


def _all_points(runs: Sequence[Run], name: str) -> Series | None:
    """Return one metric of runs that have it, with the lines of all seeds; None if there are no common moves."""
    masks = [~np.isnan(run.columns[name]) for run in runs]
    if len(runs) == 1:
        columns = {key: column[masks[0]] for key, column in runs[0].columns.items()}
        return Series({axis: columns[axis] for axis in X_AXES}, _band_of_one(columns, name), None, columns[name][None])
    moves = [_moves(run)[mask] for run, mask in zip(runs, masks, strict=True)]
    start, end = max(x[0] for x in moves), min(x[-1] for x in moves)
    if start > end:
        return None
    longest = max(moves, key=len)
    x = np.unique(np.concatenate([longest[(longest >= start) & (longest <= end)], [start, end]]))

    def at(key: str) -> Seeds:
        """Return a metric of all seeds at x."""
        columns = [run.columns[key][mask] for run, mask in zip(runs, masks, strict=True)]
        return np.stack([np.interp(x, place, column) for place, column in zip(moves, columns, strict=True)])

    values = at(name)
    places = {"env_steps": x, **{axis: at(axis).mean(axis=0) for axis in X_AXES[1:]}}
    is_rate = name.startswith(REACH)
    band = Band(*(student_band_of_rates(values, at(GAMES).sum(axis=0)) if is_rate else student_band(values)))
    return Series(places, band, None, values)


def _band_of_one(columns: dict[str, Any], name: str) -> Band:
    """Return the band of one run: the interval of the games of its evaluations, or none."""
    y = columns[name]
    if name == SCORE:
        return Band(y, columns[LOW], columns[HIGH])
    if name.startswith(REACH):
        return Band(*wilson_band(y, columns[GAMES]))
    return Band(y, None, None)


def interquartile_band(values: Seeds) -> Band:
    """Return the mean of the middle half of the seeds, with a bootstrap interval of 95%.

    The seeds are resampled with replacement RESAMPLES times, the same draws for all points, and the interval goes from
    the 2.5% to the 97.5% quantile. With fewer than four seeds no seed is left out. (Agarwal et al. 2021, sec. 4, with
    one task: one stratum.)
    """
    draws = np.random.default_rng(0).integers(0, len(values), (RESAMPLES, len(values)))
    means = trim_mean(values[draws], 0.25, axis=1)
    low, high = np.quantile(means, (0.025, 0.975), axis=0)
    return Band(trim_mean(values, 0.25, axis=0), low, high)


def shown_points(band: Band, points: int) -> Int64[np.ndarray, " Q"]:
    """Return the numbers of about `points` points or fewer that show a line and its band as all points do.

    The points are divided into equal parts, and also into parts that grow as the x-axis of a logarithmic figure. Of
    each part the lowest and the highest value of the line and of its band stay. So do both ends.
    """
    size = len(band.y)
    if size <= points:
        return np.arange(size)
    parts = max(points // 8, 1)
    low, high = band.y if band.low is None else band.low, band.y if band.high is None else band.high
    numbers = {0, size - 1}
    for edges in (np.linspace(0, size, parts + 1), np.geomspace(1, size + 1, parts + 1) - 1):
        for first, end in zip(edges[:-1].astype(int), edges[1:].astype(int), strict=True):
            if end > first:
                numbers |= {first + int(np.argmin(y[first:end])) for y in (band.y, low)}
                numbers |= {first + int(np.argmax(y[first:end])) for y in (band.y, high)}
    return np.array(sorted(numbers))


def value_at(series: Series, axis: str, x: float) -> tuple[float, float, float]:
    """Return the line and the ends of its band at a place of an axis, interpolated."""
    y, low, high = series.mean
    places = series.x[axis]
    parts = (y, y if low is None else low, y if high is None else high)
    value, bottom, top = (float(np.interp(x, places, part)) for part in parts)
    return value, bottom, top


def first_reach(series: Series, axis: str, level: float) -> float | None:
    """Return where a line first reaches a level, interpolated; None if it does not."""
    y, x = series.mean.y, series.x[axis]
    reached = np.flatnonzero(y >= level)
    if not reached.size:
        return None
    i = int(reached[0])
    if i == 0:
        return float(x[0])
    share = (level - y[i - 1]) / (y[i] - y[i - 1])
    return float(x[i - 1] + share * (x[i] - x[i - 1]))


def differing_keys(curves: Sequence[Curve]) -> dict[str, list[str]]:
    """Return the values of each key of the configs that has several, one text for each curve.

    Values that differ among the seeds of a curve are separated by " | "; "-" stands for a config without the key.
    """
    keys = sorted({key for curve in curves for run in curve.runs for key in run.config} - set(NAMING_KEYS))
    table = {key: [_text(key, curve.runs) for curve in curves] for key in keys}
    return {key: texts for key, texts in table.items() if len({*texts}) > 1 or " | " in texts[0]}


def _text(key: str, runs: Sequence[Run]) -> str:
    return " | ".join(dict.fromkeys(value_text(run.config[key]) if key in run.config else MISSING for run in runs))
