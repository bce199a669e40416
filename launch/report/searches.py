"""The mean score of searches against the time of a move: curves of the final evaluations of runs."""

import re
from collections.abc import Sequence

import numpy as np

from launch.report.figures import THEME, Line
from launch.report.finals import Result

EFFORT = re.compile(r"-[np]\d+")  # simulations or plies in the name of a search, such as mcts-n140-c=0.5
LEAST_POINTS = 3
MOST_CURVES = len(THEME.lines)  # each has a colour of its own
MICROSECONDS = 1e6


def search_curves(results: Sequence[Result]) -> list[Line]:
    """Return curves of the mean score against the microseconds of a move.

    The points of a curve are final evaluations of one run that differ only in the simulations or plies of the search.
    The time of a move is that of the evaluation, so the machine should have no other work meanwhile.

    Args:
        results: final evaluations.

    Returns:
        The curves of at least LEAST_POINTS points, the highest score first, at most MOST_CURVES.
    """
    families: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        if EFFORT.search(result["search"]):
            families.setdefault((result["run"], EFFORT.sub("", result["search"], count=1)), []).append(result)
    runs = {result["run"] for result in results}
    curves = [
        _curve(f"{run}, {search}" if len(runs) > 1 else search, family)
        for (run, search), family in families.items()
        if len(family) >= LEAST_POINTS
    ]
    return sorted(curves, key=lambda curve: -curve.y.max())[:MOST_CURVES]


def _curve(label: str, results: list[Result]) -> Line:
    ordered = sorted(results, key=lambda result: -result["moves_per_second"])
    fields = ("score_mean", "score_low", "score_high")
    y, low, high = (np.array([result[field] for result in ordered], np.float64) for field in fields)
    x = np.array([MICROSECONDS / result["moves_per_second"] for result in ordered])
    return Line(label, x, y, low, high)
