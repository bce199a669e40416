"""Final evaluations: those of each run after its most moves, grouped over seeds."""

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from launch.errors import warn
from launch.evaluation.intervals import Interval, student
from launch.evaluation.result import last_of_each_search
from launch.evaluation.summary import SCORE_BINS
from launch.report.curves import words_of
from launch.report.device_hours import devices_of
from launch.report.runs import Run

Result = dict[str, Any]  # of a result file, with "folder" and "config" of the run, and its "devices" (`Devices`)


class Group(NamedTuple):
    """The final evaluations of the seeds of one experiment, after the same number of moves and with the same search."""

    label: str  # names the values of the keys by which runs are grouped
    learner: str
    search: str
    env_steps: int
    score: Interval  # mean score with the interval of its games (one seed) or of the mean over seeds (several)
    results: list[Result]  # of the seeds, best first

    @property
    def seeds(self) -> int:
        """Number of seeds."""
        return len(self.results)

    @property
    def board(self) -> str:
        """Board of its games."""
        return str(self.results[0]["board"])

    @property
    def games(self) -> int:
        """Games of all seeds together."""
        return sum(result["games"] for result in self.results)

    @property
    def score_max(self) -> int:
        """The highest score of all games."""
        return max(result["score_max"] for result in self.results)

    def mean(self, key: str) -> float:
        """Return the mean over the seeds of an entry of their results."""
        return float(np.mean([result[key] for result in self.results]))

    def reach(self, tile: int) -> float:
        """Return the share of games that reached a tile: the mean over the seeds."""
        return float(np.mean([result["reach"][str(tile)] for result in self.results]))

    def device_hours(self) -> tuple[float, str] | None:
        """Return the mean over the seeds of device-hours of training, and their unit: core or GPU.

        None if a seed's devices are not known, or if the seeds have different units.
        """
        devices = [result["devices"] for result in self.results]
        if None in devices or len({one.unit for one in devices}) > 1:
            return None
        hours = [one.number * result["wall_hours"] for one, result in zip(devices, self.results, strict=True)]
        return float(np.mean(hours)), devices[0].unit

    @property
    def name(self) -> str:
        """One line that names the group."""
        return f"{self.label} ({self.learner}), {self.search}"

    @property
    def scope(self) -> str:
        """What the interval of the score covers."""
        return f"over {self.seeds} seeds" if self.seeds > 1 else "of its games alone"


class Distribution(NamedTuple):
    """How the games of a group ended."""

    name: str  # of the group
    edges: list[float]  # of the bins of the score, one more than there are bins
    shares: list[float]  # of the games, by bin
    tiles: dict[str, float]  # shares of the games by their largest tile, in ascending order


def distributions(groups: Sequence[Group]) -> list[Distribution]:
    """Return how the games of each group ended, without groups that have an evaluation of an older version."""
    return [_distribution(group) for group in groups if all("score_bins" in result for result in group.results)]


def _distribution(group: Group) -> Distribution:
    bins, tiles = Counter[str](), Counter[str]()
    for result in group.results:
        bins.update(result["score_bins"])
        tiles.update(result["max_tiles"])
    numbers = range(min(map(int, bins)), max(map(int, bins)) + 1)
    return Distribution(
        group.name,
        [2 ** (k / SCORE_BINS) for k in (*numbers, numbers[-1] + 1)],
        [bins[str(k)] / group.games for k in numbers],
        {tile: tiles[tile] / group.games for tile in sorted(tiles, key=int)},
    )


def final_evaluations(runs: Sequence[Run]) -> list[Result]:
    """Return the last evaluation of each run and search (`last_of_each_search`), the highest mean score first."""
    found = [
        {**result, "folder": str(run.folder), "config": run.config, "devices": devices_of(run)}
        for run in runs
        for result in last_of_each_search(run.evaluations)
    ]
    return sorted(found, key=lambda result: -result["score_mean"])


def make_groups(results: Sequence[Result], keys: Sequence[str]) -> list[Group]:
    """Group final evaluations; the best group comes first.

    Seeds of a group that were evaluated on the same games cause a warning: see `student`.

    Args:
        results: see `final_evaluations`.
        keys: dotted keys of configs; runs of one learner and board with equal values are seeds of one group. The labels
            name the board if there are several.

    Returns:
        The groups.
    """

    def place(result: Result) -> tuple[str, ...]:
        values = [result["config"].get(key) for key in keys]
        return (*map(str, values), result["learner"], result["board"], result["search"], str(result["env_steps"]))

    names_board = len({result["board"] for result in results}) > 1
    groups = [_group(list(seeds), keys, names_board) for _, seeds in groupby(sorted(results, key=place), key=place)]
    return sorted(groups, key=lambda group: -group.score.value)


def _group(results: list[Result], keys: Sequence[str], names_board: bool) -> Group:
    results = sorted(results, key=lambda result: -result["score_mean"])
    first = results[0]
    words = [words_of(key, first["config"].get(key)) for key in keys]
    label = ", ".join([*words, first["board"]] if names_board else words)
    if len(results) == 1:
        score = Interval(first["score_mean"], first["score_low"], first["score_high"])
    else:
        if len({result["seed"] for result in results}) < len(results):
            warn(
                f"seeds of {label} ({first['search']}) were evaluated on the same games, whose luck their interval"
                " leaves out; evaluate them again without --seed"
            )
        score = student([result["score_mean"] for result in results])
    return Group(label, first["learner"], first["search"], first["env_steps"], score, results)
