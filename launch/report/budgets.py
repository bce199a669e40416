"""Equal budgets: who leads after the same moves, games or hours of training, or at the same time of a move."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.ticker import MaxNLocator

from launch.evaluation.intervals import Interval
from launch.report.curves import Curve, Series, first_reach, value_at
from launch.report.figures import COLOURS, PlotLine
from launch.report.finals import Result
from launch.report.runs import X_AXES

LEVELS = 6  # most scores of the second table
EFFORT = re.compile(r"-[np]\d+")  # simulations or plies in the name of a search, such as mcts-n140-c=0.5
LEAST_POINTS = 3  # of a curve of searches
MOST_CURVES = len(COLOURS)  # each has a colour of its own
MICROSECONDS = 1e6


class Standing(NamedTuple):
    """The scores of all curves of a board at one place of an axis, the best first."""

    board: str
    axis: str
    at: float
    scores: list[tuple[str, Interval]]  # label of the curve, mean score


class Cost(NamedTuple):
    """What a curve had spent when it first reached a score."""

    board: str
    label: str
    level: float
    spent: dict[str, float]  # by X_AXES


def standings(curves: Sequence[Curve]) -> list[Standing]:
    """Return the scores at the last place of each axis that all curves of a board reached, for each board of several.

    A board with one curve has none.
    """
    result = []
    for board, scored in _scored(curves).items():
        for axis in X_AXES if len(scored) > 1 else ():
            at = min(float(scores.x[axis][-1]) for scores in scored.values())
            here = {label: scores for label, scores in scored.items() if scores.x[axis][0] <= at}
            values = [(label, Interval(*value_at(scores, axis, at))) for label, scores in here.items()]
            result.append(Standing(board, axis, at, sorted(values, key=lambda value: -value[1].value)))
    return result


def costs(curves: Sequence[Curve]) -> list[Cost]:
    """Return what each curve had spent when it first reached round scores that no curve of its board had at first."""
    result = []
    for board, scored in _scored(curves).items():
        lines = [scores.mean.y for scores in scored.values()]
        for level in round_levels(max(float(y[0]) for y in lines), max(float(y.max()) for y in lines)):
            for label, scores in scored.items():
                spent = {axis: first_reach(scores, axis, level) for axis in X_AXES}
                if None not in spent.values():
                    places = {axis: float(x) for axis, x in spent.items() if x is not None}
                    result.append(Cost(board, label, level, places))
    return result


def _scored(curves: Sequence[Curve]) -> dict[str, dict[str, Series]]:
    """Return the mean scores of the curves that have some, by board and label: all points, not those of the figures."""
    scored: dict[str, dict[str, Series]] = {}
    for curve in curves:
        if curve.scores is not None:
            scored.setdefault(curve.board, {})[curve.label] = curve.scores
    return scored


def round_levels(low: float, high: float) -> list[float]:
    """Return up to LEVELS equally spaced round scores above `low`, at most `high`."""
    if high <= max(low, 0):
        return []
    ticks = MaxNLocator(LEVELS, steps=[1, 2, 5, 10]).tick_values(low, high)
    return [float(tick) for tick in ticks if low < tick <= high][-LEVELS:]


def search_curves(results: Sequence[Result]) -> list[PlotLine]:
    """Return the mean score against the microseconds of a move, the highest score first, at most MOST_CURVES lines.

    The points of a line, LEAST_POINTS or more, are final evaluations of one network that differ only in the simulations
    or plies of the search. Their times are comparable if the machine had no other work. Games against an adversary are
    left out.
    """
    families: dict[tuple[str, str, int], list[Result]] = {}
    for result in results:
        if EFFORT.search(result["search"]) and "against" not in result:
            key = (result["run"], EFFORT.sub("", result["search"], count=1), result["env_steps"])
            families.setdefault(key, []).append(result)
    families = {key: family for key, family in families.items() if len(family) >= LEAST_POINTS}
    runs = {result["run"] for result in results}
    networks = Counter((run, search) for run, search, _ in families)
    curves = []
    for (run, search, env_steps), family in families.items():
        label = f"{run}, {search}" if len(runs) > 1 else search
        moves = f", {env_steps:,} moves" if networks[run, search] > 1 else ""
        curves.append(_curve(label + moves, family))
    return sorted(curves, key=lambda curve: -curve.y.max())[:MOST_CURVES]


def _curve(label: str, results: list[Result]) -> PlotLine:
    ordered = sorted(results, key=lambda result: -result["moves_per_second"])
    fields = ("score_mean", "score_low", "score_high")
    y, low, high = (np.array([result[field] for result in ordered], np.float64) for field in fields)
    x = np.array([MICROSECONDS / result["moves_per_second"] for result in ordered])
    return PlotLine(label, x, y, low, high, folder=ordered[0]["folder"])
