"""Final evaluations: those of each run after its most moves, grouped over seeds, and tests of their differences."""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations, groupby
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from launch.comparison.curves import words_of
from launch.comparison.device_hours import devices_of
from launch.comparison.runs import Run
from launch.errors import warn
from launch.evaluation.intervals import Interval, student
from launch.evaluation.result import last_of_each_search
from launch.evaluation.summary import SCORE_BINS

MOST_COMPARED = 40  # groups of which each pair is tested
RESAMPLES = 2_000

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


class Difference(NamedTuple):
    """The test of two groups: mean of the first minus mean of the second."""

    first: str
    second: str
    difference: Interval
    p: float  # of a difference at least as large by chance, if both means were equal
    improvement: Interval | None  # P(a seed of the first has a higher mean than one of the second); None: by games
    scope: str

    def turned(self) -> "Difference":
        """Return the same test with the groups exchanged."""
        value, low, high = self.difference
        share = self.improvement
        return self._replace(
            first=self.second,
            second=self.first,
            difference=Interval(-value, -high, -low),
            improvement=None if share is None else Interval(1 - share.value, 1 - share.high, 1 - share.low),
        )


class Distribution(NamedTuple):
    """How the games of a group ended."""

    edges: list[float]  # of the bins of the score, one more than there are bins
    shares: list[float]  # of the games, by bin
    tiles: dict[str, float]  # shares of the games by their largest tile, in ascending order


def distribution(group: Group) -> Distribution | None:
    """Return the shares of games by score and by largest tile; None if an evaluation is of an older version."""
    if not all("score_bins" in result for result in group.results):
        return None
    bins, tiles = Counter[str](), Counter[str]()
    for result in group.results:
        bins.update(result["score_bins"])
        tiles.update(result["max_tiles"])
    numbers = range(min(map(int, bins)), max(map(int, bins)) + 1)
    return Distribution(
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


def differences(groups: Sequence[Group]) -> list[Difference]:
    """Test each pair of the MOST_COMPARED best groups that played on the same board.

    If both have several seeds, the means of the seeds are compared: Welch's t-test, and the probability of improvement
    U / (K_1 K_2) with its bootstrap interval (Agarwal et al. 2021, sec. 4.3, with one task). Else the games of the two
    groups' evaluations are compared, by Welch's t-test from their means and standard deviations. That test says whether
    these networks differ, not whether other seeds would.
    """
    pairs = combinations(groups[:MOST_COMPARED], 2)
    return [_difference(one, other) for one, other in pairs if one.board == other.board]


def _difference(one: Group, other: Group) -> Difference:
    if one.seeds > 1 and other.seeds > 1:
        scope = f"over {one.seeds} and {other.seeds} seeds"
        first, second = (np.array([result["score_mean"] for result in group.results]) for group in (one, other))
        margin_squared = [values.var(ddof=1) / len(values) for values in (first, second)]
        degrees = [len(first) - 1, len(second) - 1]
        improvement = _improvement(first, second)
    else:
        scope = "of the games of these networks alone"
        margin_squared = [
            sum(_variance_of_mean(result) for result in group.results) / group.seeds**2 for group in (one, other)
        ]
        degrees = [group.games - group.seeds for group in (one, other)]
        improvement = None
    value = float(one.score.value - other.score.value)
    variance = sum(margin_squared)
    if variance == 0:
        return Difference(one.name, other.name, Interval(value, value, value), float(value == 0), improvement, scope)
    freedom = variance**2 / sum(part**2 / degree for part, degree in zip(margin_squared, degrees, strict=True))
    margin = float(stats.t.ppf(0.975, freedom)) * variance**0.5
    p = 2 * float(stats.t.sf(abs(value) / variance**0.5, freedom))
    return Difference(one.name, other.name, Interval(value, value - margin, value + margin), p, improvement, scope)


def _variance_of_mean(result: Result) -> float:
    """Return the squared standard error of the mean score of an evaluation, from its Student interval."""
    margin = (result["score_high"] - result["score_low"]) / 2
    return float((margin / stats.t.ppf(0.975, result["games"] - 1)) ** 2)


def _improvement(first: np.ndarray, second: np.ndarray) -> Interval:
    """Return the share of pairs of seeds in which the first is higher, ties as halves, with its bootstrap interval."""

    def share(one: np.ndarray, other: np.ndarray, axis: int) -> np.ndarray:
        return np.asarray(np.mean(np.sign(one[..., :, None] - other[..., None, :]) / 2 + 0.5, axis=(-2, -1)))

    rng = np.random.default_rng(0)
    found = stats.bootstrap(
        (first, second), share, n_resamples=RESAMPLES, vectorized=True, method="percentile", rng=rng
    )
    value = float(share(first, second, -1))
    return Interval(value, float(found.confidence_interval.low), float(found.confidence_interval.high))
