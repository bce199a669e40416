"""The panels of a workspace or report: which metrics, in which section, against which axis. Plain data, no wandb."""

from typing import NamedTuple

from launch.report.wandb.summary import SCORE
from launch.train.metrics import REGISTRY, TILES

AXES = {"env_steps": "moves", "games": "games", "wall_hours": "hours"}  # by metric, as titles name them
COLUMNS = (
    "last/score_mean",
    "best/score_mean",
    "last/env_steps",
    "last/wall_hours",
)  # of the summary, in the runs table

FAMILIES = {  # sections of the diagnostics, each with the first parts of its metrics' names
    "Games in training": ("train",),
    "TD learning (ntuple, deep_td)": ("td",),
    "Losses (muzero, deep_td)": ("loss",),
    "Learned model (muzero)": ("model", "swap", "probe"),
    "Learned model by depth (muzero)": ("depth1", "depth5"),
    "Search, values and replay (muzero, deep_td)": ("search", "value", "replay"),
    "Optimizer (muzero, deep_td)": ("optimizer",),
}


class Panel(NamedTuple):
    """Lines of one metric: the mean over the runs of a group, in a band from the lowest to the highest run."""

    title: str
    metric: str
    x: str = "env_steps"


class Section(NamedTuple):
    """Panels under one heading."""

    name: str
    panels: tuple[Panel, ...]


def comparison_sections() -> list[Section]:
    """Return the sections that compare all learners: scores, reach rates, speed."""
    scores = [Panel(f"mean score by {word}", SCORE, x) for x, word in AXES.items()]
    others = [_panel(f"eval/{name}") for name in ("score_median", "score_max", "score_low", "score_high", "moves_mean")]
    rates = [Panel(f"share of games with {tile}", f"eval/reach_{tile}") for tile in TILES]
    speeds = [name for name in REGISTRY if name.startswith("perf/")] + ["eval/moves_per_second", "eval/games"]
    return [
        Section("Score", (*scores, *others)),
        Section("Reach rates", tuple(rates)),
        Section("Speed", tuple(map(_panel, speeds))),
    ]


def diagnostic_sections() -> list[Section]:
    """Return the sections with the diagnostics of the learners."""
    return [
        Section(name, tuple(_panel(metric) for metric in REGISTRY if metric.partition("/")[0] in families))
        for name, families in FAMILIES.items()
    ]


def _panel(metric: str) -> Panel:
    """Return the panel of a metric, with its name and unit as the title."""
    return Panel(f"{metric} ({REGISTRY[metric].unit})", metric)
