"""Tests of the differences of groups: Welch's t-test and the probability of improvement, as numbers and as texts."""

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy import stats

from launch.evaluation.intervals import Interval
from launch.report.finals import Group, Result

COLUMNS = ("first minus second", "difference", "p", "probability of improvement", "compared")
MOST_COMPARED = 30  # groups of which each pair is tested
RESAMPLES = 2_000


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


class DifferenceTexts(NamedTuple):
    """A test as texts. What belongs in a second, smaller line of a cell is a field of its own."""

    first: str
    second: str
    difference: str
    interval: str
    p: str
    improvement: str  # "" if the games are compared in place of seeds; so is its interval
    improvement_interval: str
    scope: str


def differences(groups: Sequence[Group]) -> list[Difference]:
    """Test each pair of the MOST_COMPARED best groups that played on the same board.

    If both have several seeds, the means of the seeds are compared: Welch's t-test, and the probability of improvement
    U / (K_1 K_2) with its bootstrap interval (Agarwal et al. 2021, sec. 4.3, with one task). Else the games of the two
    groups' evaluations are compared, by Welch's t-test from their means and standard deviations. That test says whether
    these networks differ, not whether other seeds would.
    """
    pairs = combinations(groups[:MOST_COMPARED], 2)
    return [_difference(one, other) for one, other in pairs if one.board == other.board]


def difference_texts(pair: Difference) -> DifferenceTexts:
    """Return the texts of a test, for the page and for wandb's reports; p has two digits, however small it is."""
    share, share_interval = _share_texts(pair.improvement)
    return DifferenceTexts(
        first=pair.first,
        second=pair.second,
        difference=f"{pair.difference.value:+,.0f}",
        interval=f"{pair.difference.low:+,.0f} to {pair.difference.high:+,.0f}",
        p=f"{pair.p:.2g}",
        improvement=share,
        improvement_interval=share_interval,
        scope=pair.scope,
    )


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


def _share_texts(share: Interval | None) -> tuple[str, str]:
    return ("", "") if share is None else (f"{share.value:.0%}", f"{share.low:.0%} to {share.high:.0%}")
