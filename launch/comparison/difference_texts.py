"""The test of a difference as texts, the same on the page of `compare` and in the reports in wandb."""

from typing import NamedTuple

from launch.comparison.differences import Difference
from launch.evaluation.intervals import Interval

COLUMNS = ("first minus second", "difference", "p", "probability of improvement", "compared")


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


def difference_texts(pair: Difference) -> DifferenceTexts:
    """Return the texts of a test; p has two digits, however small it is."""
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


def _share_texts(share: Interval | None) -> tuple[str, str]:
    return ("", "") if share is None else (f"{share.value:.0%}", f"{share.low:.0%} to {share.high:.0%}")
