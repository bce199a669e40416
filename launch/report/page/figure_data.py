"""The JSON from which page.js draws the figures of the page.

Arrays of numbers are float32 in base64. Equal arrays are in it once.
"""

import base64
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from launch.experiment.metrics import REACH, REGISTRY
from launch.report.comparison import Comparison
from launch.report.curves import SCORE, Band, Curve, Points, key_label
from launch.report.figures import AXIS_LABELS
from launch.report.runs import X_AXES

AXES = AXIS_LABELS | {"wall_hours": "time of training"}  # page.js chooses the unit


class _Arrays:
    """Arrays as float32 in base64, each distinct one once."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._numbers: dict[bytes, int] = {}

    def number(self, values: Points | None) -> int | None:
        if values is None:
            return None
        data = values.astype("<f4").tobytes()
        if data not in self._numbers:
            self._numbers[data] = len(self.texts)
            self.texts.append(base64.b64encode(data).decode())
        return self._numbers[data]


def figure_data(comparison: Comparison) -> dict[str, Any]:
    """Return what page.js draws."""
    arrays = _Arrays()

    def band(part: Band | None) -> list[int | None] | None:
        return None if part is None else [arrays.number(values) for values in part]

    firsts = list(dict.fromkeys(str(curve.values[0]) for curve in comparison.curves))
    seconds = list(
        dict.fromkeys((curve.learner, curve.board, *map(str, curve.values[1:])) for curve in comparison.curves)
    )
    several = any(len(curve.values) > 1 for curve in comparison.curves)
    curves = [
        {
            "label": curve.label,
            "words": [key_label(key, value) for key, value in zip(comparison.keys, curve.values, strict=True)],
            "colour": firsts.index(str(curve.values[0])) if several else number,
            "dash": seconds.index((curve.learner, curve.board, *map(str, curve.values[1:]))) if several else 0,
            "series": {
                metric: {
                    "x": [arrays.number(series.x[axis]) for axis in X_AXES],
                    "mean": band(series.mean),
                    "iqm": band(series.iqm),
                    "seeds": None if series.seeds is None else [arrays.number(seed) for seed in series.seeds],
                }
                for metric, series in curve.series.items()
            },
        }
        for number, curve in enumerate(comparison.curves)
    ]
    owner = {str(run.folder): number for number, curve in enumerate(comparison.curves) for run in curve.runs}

    def styles(folders: Iterable[str]) -> list[dict[str, Any]]:
        """Return the colour of each run, that of its curve, and the number of earlier lines with this colour."""
        colours = [curves[owner[folder]]["colour"] if folder in owner else len(curves) for folder in folders]
        return [{"colour": colour, "dash": colours[:place].count(colour)} for place, colour in enumerate(colours)]

    metrics = [name for name in REGISTRY if any(name in curve.series for curve in comparison.curves)]
    return {
        "axis": X_AXES.index(comparison.axis),
        "keys": list(comparison.keys),
        "axes": [AXES[axis] for axis in X_AXES],
        "metrics": [[name, REGISTRY[name].unit, REGISTRY[name].meaning] for name in metrics],
        "curves": curves,
        "points": _points(comparison.curves, owner),
        "searches": [
            {"label": line.label, "band": [arrays.number(part) for part in (line.x, line.y, line.low, line.high)]}
            | style
            for line, style in zip(
                comparison.searches, styles(line.folder for line in comparison.searches), strict=True
            )
        ],
        "distributions": [
            {"label": games.name, "scores": games.edges, "shares": games.shares, "tiles": games.tiles} | style
            for games, style in zip(
                comparison.distributions,
                styles(group.results[0]["folder"] for group in comparison.groups),
                strict=True,
            )
        ],
        "papers": [
            {
                "label": f"{paper.paper}, {paper.table}: {paper.player}, {paper.search}, {paper.budget}",
                "values": {SCORE: paper.score_mean, **{f"{REACH}{tile}": rate for tile, rate in paper.reach.items()}},
            }
            for paper in comparison.papers
        ],
        "arrays": arrays.texts,
    }


def _points(curves: Sequence[Curve], owner: dict[str, int]) -> list[dict[str, Any]]:
    """Return the evaluations after training, by run and search, in the order of their moves."""
    points = []
    for run in (run for curve in curves for run in curve.runs):
        ordered = sorted(run.evaluations, key=lambda result: (result["search"], result["env_steps"]))
        for search, results in groupby(ordered, key=lambda result: result["search"]):
            places = [
                [
                    *(result[key] for key in ("env_steps", "training_games", "wall_hours")),
                    *(result[key] for key in ("score_mean", "score_low", "score_high", "games")),
                ]
                for result in results
            ]
            points.append({"curve": owner[str(run.folder)], "label": f"{run.name}, {search}", "places": places})
    return points
