"""Final evaluations: those of each run after its most moves, grouped over seeds."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from launch.errors import warn
from launch.evaluation.intervals import Interval, student
from launch.evaluation.result import last_of_each_search
from launch.evaluation.summary import SCORE_BINS
from launch.experiment import registry
from launch.experiment.machine_info import ENVIRONMENT_FILE, accelerators
from launch.report.curves import key_label
from launch.report.runs import Run

Result = dict[str, Any]  # of a result file, with "folder" and "config" of the run, and its "devices" (`devices_of`)
FEW_GAMES = 100  # a mean of fewer games does not head a table
MEANS = ("training_games", "wall_hours", "score_median", "moves_per_second")  # of a group: means over its seeds


class Group(NamedTuple):
    """The final evaluations of the seeds of one experiment, after the same number of moves and with the same search."""

    label: str  # names the values of the keys by which runs are grouped
    learner: str
    search: str
    board: str
    env_steps: int
    games: int  # of all seeds together
    score: Interval  # mean score with the interval of its games (one seed) or of the mean over seeds (several)
    results: list[Result]  # of the seeds, best first

    @property
    def seeds(self) -> int:
        """Number of seeds."""
        return len(self.results)

    @property
    def is_against(self) -> bool:
        """Whether an adversary placed the tiles, so that the scores are not those of the game."""
        return "against" in self.results[0]

    @property
    def name(self) -> str:
        """One line that names the group."""
        return f"{self.label} ({self.learner}), {self.search}"

    @property
    def scope(self) -> str:
        """What the interval of the score covers."""
        return f"over {self.seeds} seeds" if self.seeds > 1 else "of its games alone"

    def as_result(self) -> Result:
        """Return one result for all seeds: the best `score_max`, all games, and means of the other entries.

        `device_hours` and `device`, their unit, are None if a seed's devices are not known, or units differ.
        """

        def mean(values: Iterable[float]) -> float:
            return float(np.mean(list(values)))

        results = self.results
        units = {result["devices"] and result["devices"][0] for result in results}
        device = units.pop() if len(units) == 1 else None
        return {
            "name": self.name,
            "group": self.label,
            "learner": self.learner,
            "search": self.search,
            "env_steps": self.env_steps,
            "seeds": self.seeds,
            "games": self.games,
            "score_mean": self.score.value,
            "score_low": self.score.low,
            "score_high": self.score.high,
            "scope": self.scope,
            "score_max": max(result["score_max"] for result in results),
            "reach": {tile: mean(result["reach"][tile] for result in results) for tile in results[0]["reach"]},
            "device": device,
            "device_hours": mean(result["devices"][1] * result["wall_hours"] for result in results) if device else None,
            **{key: mean(result[key] for result in results) for key in MEANS},
        }


class Distribution(NamedTuple):
    """How the games of a group ended."""

    name: str  # of the group
    edges: list[float]  # of the bins of the score, one more than there are bins
    shares: list[float]  # of the games, by bin
    tiles: dict[str, float]  # shares of the games by their largest tile, in ascending order


def distribution(group: Group) -> Distribution:
    """Return how the games of a group ended."""
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
    results = [
        {**result, "folder": str(run.folder), "config": run.config, "devices": devices_of(run)}
        for run in runs
        for result in last_of_each_search(run.evaluations)
    ]
    return sorted(results, key=lambda result: -result["score_mean"])


def devices_of(run: Run) -> tuple[str, int] | None:
    """Return "GPU" or "core", and how many a run was trained on at last; None if that is not known.

    It is in its config and environment.json. A learner without a setting for threads counts with all cores.
    """
    try:
        last = json.loads((run.folder / ENVIRONMENT_FILE).read_text(encoding="utf-8"))[-1]
        devices, cores = list(last["devices"]), int(last["cpu_count"])
    except (OSError, ValueError, LookupError, TypeError):
        return None
    if gpus := accelerators(devices):
        return "GPU", len(gpus)
    key = registry.spec_of(run.learner).threads_key if run.learner in registry.LEARNERS else ""
    threads = run.config.get(f"{run.learner}.{key}", 0)
    return "core", min(threads if isinstance(threads, int) and threads else cores, cores)


def make_groups(results: Sequence[Result], keys: Sequence[str]) -> list[Group]:
    """Group final evaluations: runs of one learner and board with equal values of `keys`.

    The best group is the first one; groups of fewer than FEW_GAMES games come after all others.

    Labels name the board if there are several, and the moves of groups that differ in them alone. Seeds that were
    evaluated on the same games cause a warning: see `student`.
    """

    def place(result: Result) -> tuple[str, ...]:
        values = [result["config"].get(key) for key in keys]
        return (*map(str, values), result["learner"], result["board"], result["search"], str(result["env_steps"]))

    names_board = len({result["board"] for result in results}) > 1
    groups = [_group(list(seeds), keys, names_board) for _, seeds in groupby(sorted(results, key=place), key=place)]
    count = Counter(group.name for group in groups)
    groups = [
        group._replace(label=f"{group.label}, {group.env_steps:,} moves") if count[group.name] > 1 else group
        for group in groups
    ]
    return sorted(groups, key=lambda group: (group.games < FEW_GAMES, -group.score.value))


def _group(results: list[Result], keys: Sequence[str], names_board: bool) -> Group:
    results = sorted(results, key=lambda result: -result["score_mean"])
    first = results[0]
    parts = [key_label(key, first["config"].get(key)) for key in keys]
    label = ", ".join([*parts, first["board"]] if names_board else parts)
    if len(results) == 1:
        score = Interval(first["score_mean"], first["score_low"], first["score_high"])
    else:
        if len({result["seed"] for result in results}) < len(results):
            warn(
                f"seeds of {label} ({first['search']}) were evaluated on the same games, whose luck their interval"
                " leaves out; evaluate them again without --seed"
            )
        score = student([result["score_mean"] for result in results])
    about = {key: first[key] for key in ("learner", "search", "board", "env_steps")}
    return Group(label=label, games=sum(result["games"] for result in results), score=score, results=results, **about)
