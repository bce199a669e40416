"""Tests of the differences of groups: Welch's t-test and the probability of improvement; their table."""

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy import stats

from launch.evaluation.intervals import Interval
from launch.report.curves import FEWEST_SEEDS
from launch.report.finals import Group, Result
from launch.tables import Column, markup

MOST_COMPARED = 30  # groups of which each pair is tested
RESAMPLES = 2_000


class Difference(NamedTuple):
    """The test of two groups: mean of the first minus mean of the second."""

    first: str
    second: str
    difference: Interval
    p: float  # of a difference at least as large by chance, if both means were equal
    improvement: Interval | None  # P(a seed of the first has a higher mean than one of the second); None: few seeds
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


def _difference_texts(pair: Difference) -> tuple[str, str]:
    value, low, high = pair.difference
    return f"{value:+,.0f}", f"{low:+,.0f} to {high:+,.0f}"


def _improvement_texts(pair: Difference) -> tuple[str, str] | None:
    if pair.improvement is None:
        return None
    value, low, high = pair.improvement
    return f"{value:.0%}", f"{low:.0%} to {high:.0%}" if low < high else "of all pairs of seeds"


def _joined(texts: tuple[str, str] | None) -> str:
    return "{} ({})".format(*texts) if texts else ""


COLUMNS = [
    Column(
        "first minus second",
        lambda pair: pair.second,
        lambda pair: f"{pair.first} minus {pair.second}",
        lambda pair: markup(pair.first, f"minus {pair.second}"),
    ),
    Column(
        "difference",
        lambda pair: pair.difference.value,
        lambda pair: _joined(_difference_texts(pair)),
        lambda pair: markup(*_difference_texts(pair), is_strong=True),
    ),
    Column("p", lambda pair: pair.p, lambda pair: f"{pair.p:.2g}"),
    Column(
        "probability of improvement",
        lambda pair: pair.improvement.value if pair.improvement else -1,
        lambda pair: _joined(_improvement_texts(pair)),
        lambda pair: markup(*(_improvement_texts(pair) or [""])),
    ),
    Column("compared", lambda pair: pair.scope, lambda pair: pair.scope),
]


def differences(groups: Sequence[Group]) -> list[Difference]:
    """Test each pair of the MOST_COMPARED best groups that played on the same board.

    If both have several seeds, the means of the seeds are compared: Welch's t-test, and the probability of improvement
    U / (K_1 K_2) with its bootstrap interval (Agarwal et al. 2021, sec. 4.3, with one task), which needs FEWEST_SEEDS
    seeds each: resampling two seeds shows no interval. Else the games of the two groups' evaluations are compared, by
    Welch's t-test from their means and standard deviations. That test says whether these networks differ, not whether
    other seeds would.
    """
    pairs = combinations(groups[:MOST_COMPARED], 2)
    return [_difference(one, other) for one, other in pairs if one.board == other.board]


def _difference(one: Group, other: Group) -> Difference:
    if one.seeds > 1 and other.seeds > 1:
        scope = f"over {one.seeds} and {other.seeds} seeds"
        first, second = (np.array([result["score_mean"] for result in group.results]) for group in (one, other))
        margin_squared = [values.var(ddof=1) / len(values) for values in (first, second)]
        degrees = [len(first) - 1, len(second) - 1]
        improvement = _improvement(first, second) if min(one.seeds, other.seeds) >= FEWEST_SEEDS else None
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
    interval = stats.bootstrap(
        (first, second), share, n_resamples=RESAMPLES, vectorized=True, method="percentile", rng=rng
    ).confidence_interval
    value = float(share(first, second, -1))
    return Interval(value, float(interval.low), float(interval.high))
