"""Lines with bands as PNG or SVG images, for papers and slides; the page draws its own."""

import io
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import EngFormatter, PercentFormatter, StrMethodFormatter

from launch.report.curves import Points, Series
from launch.report.finals import Distribution

AXIS_LABELS = {
    "env_steps": "moves of training",
    "games": "games of training",
    "wall_hours": "hours of training",
    "microseconds": "microseconds a move",
    "score": "score of a game",
    "tile": "largest tile of a game",
    "depth": "plies of expectimax, or simulations",
}
MOST_MARKERS = 60  # points of a line that has markers
MOST_INSIDE, MOST_NAMES = 5, 24  # names of a legend within the axes, and of one below them
STYLES = ("solid", "dashed", "dotted", "dashdot")
BACKGROUND, INK, FAINT = "#ffffff", "#2b2f36", "#d9dce1"
COLOURS = ("#1f6fd1", "#d9480f", "#2b8a3e", "#862e9c", "#b8860b", "#0b7285")
WIDE = 10.0  # the x-axis of training is logarithmic if the curves' last x differ by more than this factor


class PlotLine(NamedTuple):
    """A line with its band."""

    label: str
    x: Points
    y: Points
    low: Points
    high: Points
    seeds: Sequence[Points] = ()  # lines of single seeds, drawn in place of a band
    folder: str = ""  # of the run, if it is a line of one run's searches


def line_of(label: str, series: Series, axis: str) -> PlotLine:
    """Return a series against an axis as a line; without an interval, or with few seeds, the band is the line."""
    y, low, high = series.mean
    if series.seeds is not None or low is None or high is None:
        low = high = y
    return PlotLine(label, series.x[axis], y, low, high, () if series.seeds is None else list(series.seeds))


Images = dict[str, bytes]  # by suffix


def draw(curves: Sequence[PlotLine], x: str, title: str, as_rate: bool) -> Images:
    """Draw lines with their bands against `x`, a key of AXIS_LABELS; a rate is drawn from 0 to 100%."""
    figure, axes = _begin(title, x)
    for number, curve in enumerate(curves):
        style = _style(number)
        axes.fill_between(curve.x, curve.low, curve.high, color=style["color"], alpha=0.18, linewidth=0)
        for seed in curve.seeds:
            axes.plot(curve.x, seed, linewidth=0.8, alpha=0.6, **style)
        marker: dict[str, Any] = {"marker": "o", "markersize": 3.5} if len(curve.y) <= MOST_MARKERS else {}
        axes.plot(curve.x, curve.y, linewidth=2, label=curve.label, **style, **marker)
    if x == "microseconds" or _differ_widely(curves):
        axes.set_xscale("log")
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}") if x == "wall_hours" else EngFormatter(sep=""))
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0) if as_rate else EngFormatter(sep=""))
    axes.set_ylim(bottom=0, top=1.02 if as_rate else _top(curves))
    return _images(figure, axes)


def draw_scores(distributions: Sequence[Distribution]) -> Images:
    """Draw the shares of games by score, in bins that grow with the score."""
    figure, axes = _begin("share of games by score", "score")
    for number, games in enumerate(distributions):
        axes.stairs(games.shares, games.edges, linewidth=1.5, label=games.name, **_style(number))
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    return _images(figure, axes)


def draw_tiles(distributions: Sequence[Distribution]) -> Images:
    """Draw the shares of games by largest tile as bars."""
    figure, axes = _begin("share of games by largest tile", "tile")
    tiles = sorted({tile for games in distributions for tile in games.tiles}, key=int)
    width = 0.8 / len(distributions)
    for number, games in enumerate(distributions):
        places = [place + width * (number - (len(distributions) - 1) / 2) for place in range(len(tiles))]
        rates = [games.tiles.get(tile, 0.0) for tile in tiles]
        axes.bar(places, rates, width, label=games.name, color=_style(number)["color"])
    axes.set_xticks(range(len(tiles)), tiles)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    return _images(figure, axes)


def _begin(title: str, x: str) -> tuple[Figure, Axes]:
    """Return an empty figure with a title and the name of its x-axis, a faint grid, and of the frame the base line."""
    figure = Figure(figsize=(7.2, 4.3), dpi=200, facecolor=BACKGROUND)
    axes = figure.add_subplot(facecolor=BACKGROUND)
    axes.spines[["top", "left", "right"]].set_visible(False)
    axes.spines["bottom"].set_color(FAINT)
    axes.grid(axis="y", color=FAINT, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(colors=INK, length=0, labelsize=9)
    axes.tick_params(axis="x", which="minor", length=0)
    axes.xaxis.label.set_color(INK)
    axes.set_xlabel(AXIS_LABELS[x])
    axes.set_title(title, loc="left", fontsize=11, fontweight="bold", color=INK, pad=12)
    return figure, axes


def _style(number: int) -> dict[str, Any]:
    """Return the colour of a line, and another line style after each round of colours."""
    rounds, colour = divmod(number, len(COLOURS))
    return {"color": COLOURS[colour], "linestyle": STYLES[rounds % len(STYLES)]}


def _images(figure: Figure, axes: Axes) -> Images:
    """Add the legend, below the axes if long, of its first names alone if very long; return the images."""
    handles, labels = axes.get_legend_handles_labels()
    style: dict[str, Any] = {"frameon": False, "labelcolor": INK, "fontsize": 9}
    if len(labels) <= MOST_INSIDE:
        axes.legend(loc="best", **style)
    else:
        hidden = len(labels) - MOST_NAMES
        title = f"and {hidden} more" if hidden > 0 else None
        style |= {"fontsize": 7, "ncols": 2, "title": title, "title_fontsize": 7}
        width, height = figure.get_size_inches()
        figure.set_size_inches(width, height + 0.15 * math.ceil(min(len(labels), MOST_NAMES) / 2))
        figure.legend(handles[:MOST_NAMES], labels[:MOST_NAMES], loc="outside lower center", **style)
    canvas = FigureCanvasAgg(figure)
    ConstrainedLayoutEngine().execute(figure)  # once; print_figure would do it again for each file
    images = {}
    for suffix in ("png", "svg"):
        file = io.BytesIO()
        canvas.print_figure(file, format=suffix, metadata={"Date": None} if suffix == "svg" else None)
        images[suffix] = file.getvalue()
    return images


def _top(curves: Sequence[PlotLine]) -> float:
    """Return the upper limit of a score axis: 1.05 * min(top of the bands, 1.5 * top of the lines)."""
    lines, bands = (
        max(float(part.max()) for part in parts) for parts in zip(*((c.y, c.high) for c in curves), strict=True)
    )
    return 1.05 * min(bands, max(1.5 * lines, 1.0))


def _differ_widely(curves: Sequence[PlotLine]) -> bool:
    ends = [float(curve.x[-1]) for curve in curves]
    return max(ends) > WIDE * min(ends) and min(float(curve.x[0]) for curve in curves) > 0
