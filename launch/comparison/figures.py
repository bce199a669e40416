"""Lines with bands as PNG or SVG images, for papers and slides; the page draws its own."""

import io
from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, PercentFormatter, StrMethodFormatter

from launch.comparison.curves import Points, Series

AXIS_LABELS = {
    "env_steps": "moves of training",
    "games": "games of training",
    "wall_hours": "hours of training",
    "microseconds": "microseconds a move",
}
WIDE = 10.0  # the x-axis of training is logarithmic if the curves' last x differ by more than this factor


class Line(NamedTuple):
    """A line with its band."""

    label: str
    x: Points
    y: Points
    low: Points
    high: Points


def line_of(label: str, series: Series, axis: str) -> Line:
    """Return a series against an axis as a line; without an interval the band is the line."""
    y, low, high = series.mean
    return Line(label, series.x[axis], y, y if low is None else low, y if high is None else high)


class Theme(NamedTuple):
    """Colours of a figure."""

    background: str
    ink: str
    faint: str
    lines: tuple[str, ...]


THEME = Theme(
    background="#ffffff",
    ink="#2b2f36",
    faint="#d9dce1",
    lines=("#1f6fd1", "#d9480f", "#2b8a3e", "#862e9c", "#b8860b", "#0b7285"),
)
SUFFIXES = ("png", "svg")


def draw(curves: Sequence[Line], x: str, y_label: str, as_rate: bool, suffix: str) -> bytes:
    """Draw curves with their bands.

    Args:
        curves: the curves.
        x: the x-axis, a key of AXIS_LABELS.
        y_label: title of the figure, which names the y-axis.
        as_rate: whether y is a rate, drawn in percent from 0 to 100%.
        suffix: one of SUFFIXES.

    Returns:
        The file.
    """
    theme = THEME
    figure = Figure(figsize=(7.2, 4.3), dpi=200, facecolor=theme.background, layout="constrained")
    axes = figure.add_subplot(facecolor=theme.background)
    for index, curve in enumerate(curves):
        colour = theme.lines[index % len(theme.lines)]
        axes.fill_between(curve.x, curve.low, curve.high, color=colour, alpha=0.18, linewidth=0)
        axes.plot(curve.x, curve.y, color=colour, linewidth=2, label=curve.label, marker="o", markersize=3.5)
    _dress(axes, theme)
    axes.set_xlabel(AXIS_LABELS[x])
    axes.set_title(y_label, loc="left", fontsize=11, fontweight="bold", color=theme.ink, pad=12)
    if x == "microseconds" or _differ_widely(curves):
        axes.set_xscale("log")
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}") if x == "wall_hours" else EngFormatter(sep=""))
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0) if as_rate else EngFormatter(sep=""))
    axes.set_ylim(bottom=0, top=1.02 if as_rate else _top(curves))
    axes.legend(frameon=False, labelcolor=theme.ink, fontsize=9, loc="best")
    file = io.BytesIO()
    FigureCanvasAgg(figure).print_figure(file, format=suffix, metadata={"Date": None} if suffix == "svg" else None)
    return file.getvalue()


def _dress(axes: Axes, theme: Theme) -> None:
    """Draw a faint horizontal grid, and of the frame only the base line."""
    axes.spines[["top", "left", "right"]].set_visible(False)
    axes.spines["bottom"].set_color(theme.faint)
    axes.grid(axis="y", color=theme.faint, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(colors=theme.ink, length=0, labelsize=9)
    axes.tick_params(axis="x", which="minor", length=0)
    axes.xaxis.label.set_color(theme.ink)


def _top(curves: Sequence[Line]) -> float:
    """Return the upper limit of a score axis: 1.05 * min(top of the bands, 1.5 * top of the lines)."""
    lines, bands = (
        max(float(part.max()) for part in parts) for parts in zip(*((c.y, c.high) for c in curves), strict=True)
    )
    return 1.05 * min(bands, max(1.5 * lines, 1.0))


def _differ_widely(curves: Sequence[Line]) -> bool:
    ends = [float(curve.x[-1]) for curve in curves]
    return max(ends) > WIDE * min(ends) and min(float(curve.x[0]) for curve in curves) > 0
