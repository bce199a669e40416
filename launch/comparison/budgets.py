"""Equal budgets: who leads after the same moves, games or hours, and what each score cost."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from launch.comparison.curves import SCORE, Curve, first_reach, value_at
from launch.comparison.runs import X_AXES
from launch.evaluation.intervals import Interval

LEVELS = 6  # most scores of the second table
STEPS = (1.0, 2.0, 5.0, 10.0)  # between these scores, times a power of 10


class Standing(NamedTuple):
    """The scores of all curves at one place of an axis, the best first."""

    axis: str
    at: float
    scores: list[tuple[str, Interval]]  # label of the curve, mean score


class Cost(NamedTuple):
    """What a curve had spent when it first reached a score."""

    label: str
    level: float
    spent: dict[str, float]  # by X_AXES


def standings(curves: Sequence[Curve]) -> list[Standing]:
    """Return the scores of the curves at the last place of each axis that all of them reached."""
    scored = [curve for curve in curves if SCORE in curve.series]
    if len(scored) < 2:
        return []
    found = []
    for axis in X_AXES:
        at = min(float(curve.series[SCORE].x[axis][-1]) for curve in scored)
        here = [curve for curve in scored if curve.series[SCORE].x[axis][0] <= at]
        scores = [(curve.label, Interval(*value_at(curve.series[SCORE], axis, at))) for curve in here]
        found.append(Standing(axis, at, sorted(scores, key=lambda score: -score[1].value)))
    return found


def costs(curves: Sequence[Curve]) -> list[Cost]:
    """Return what each curve had spent when it first reached each of some round scores, which none had at first."""
    scored = [curve for curve in curves if SCORE in curve.series]
    if not scored:
        return []
    lines = [curve.series[SCORE].mean.y for curve in scored]
    found = []
    for level in round_levels(max(float(y[0]) for y in lines), max(float(y.max()) for y in lines)):
        for curve in scored:
            spent = {axis: first_reach(curve.series[SCORE], axis, level) for axis in X_AXES}
            if None not in spent.values():
                found.append(Cost(curve.label, level, {axis: float(x) for axis, x in spent.items() if x is not None}))
    return found


def round_levels(low: float, high: float) -> list[float]:
    """Return up to LEVELS equally spaced round scores above `low`, at most `high`."""
    if high <= max(low, 0):
        return []
    power = 10.0 ** np.floor(np.log10((high - low) / LEVELS))
    step = next(step * power for step in STEPS if (high - low) / (step * power) <= LEVELS)
    first = int(np.floor(low / step)) + 1
    return [step * number for number in range(first, int(np.floor(high / step)) + 1)][-LEVELS:]
