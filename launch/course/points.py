"""The formulas of the course's points (Guei 2023, tables 21, 23, 25, 29 and 34) and of this project's own projects.

The brackets of rounding in tables 23, 25 and 34 are lost in print; nothing is rounded here. The tiles of a win are
exchanged in print in tables 25 and 34; by the text of sections 5.4.2 and 5.4.4 they are 2584 and 384.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from launch.course.report import Points

OPTIMUM_3X3 = 5468.49  # expected points of best play of 2048 on 3x3 (docs/solve.md)
FULL_SHARE = 0.4  # of the optimum, for all points of the project on MCTS; random rollouts alone reach a third
FREE_SAMPLES = 1_000  # of the black box, up to which the points do not fall


class Played(NamedTuple):
    """Games of a program; those that it did not play count with 0 points and as lost."""

    mean_score: float
    win_rate: float
    largest: int  # level of the largest tile of all games
    share: float = 1.0  # games that it played, of those that were asked


Formula = Callable[[Played], tuple[Points, ...]]


def environment_2584(played: Played) -> tuple[Points, ...]:
    """Table 23, 2584."""
    score = Points(min(played.mean_score / 1000, 15.0), f"min(AVG / 1000, 15), AVG = {played.mean_score:,.0f}")
    return _right(played), score, _bonus(played, 13)


def environment_threes(played: Played) -> tuple[Points, ...]:
    """Table 23, Threes!; the bonus is at most 5."""
    mean = played.mean_score
    score = max(0.0, min(math.log2(mean / 3) + 1, 10.0)) if mean > 0 else 0.0
    bonus = _bonus(played, 9)
    return (
        _right(played),
        Points(score, f"min(log2(AVG / 3) + 1, 10), AVG = {mean:,.1f}"),
        bonus._replace(points=min(bonus.points, 5)),
    )


def wins(played: Played) -> tuple[Points, ...]:
    """The light course: the share of games that reach the tile of a win."""
    return (Points(100 * played.win_rate, f"100 WinRate, WinRate = {played.win_rate:.1%}"),)


def _wins(played: Played, least: int) -> tuple[Points, ...]:
    """Table 25: a bonus for tiles above the level `least`, too."""
    return *wins(played), _bonus(played, least)


def _losses(played: Played, most: int) -> tuple[Points, ...]:
    """Table 34; the win rate and the largest tile are those of the standard players."""
    lost = Points(100 * (1 - played.win_rate), f"100 (1 - WinRate), WinRate = {played.win_rate:.1%}")
    bonus = f"bonus max({most} - MaxTile, 0), MaxTile = {played.largest}"
    if played.share < 1:
        bonus += f", in the {played.share:.1%} of the games that have no fault"
    return lost, Points(played.share * max(most - played.largest, 0), bonus)


wins_2584, wins_threes = partial(_wins, least=17), partial(_wins, least=9)
losses_2584, losses_threes = partial(_losses, most=17), partial(_losses, most=14)


def share_of_optimum(played: Played) -> tuple[Points, ...]:
    """Grade the project on MCTS: the mean score, as a share of that of best play on 3x3."""
    share = played.mean_score / OPTIMUM_3X3
    reason = f"100 AVG / ({FULL_SHARE} optimum), at most 100, AVG = {played.mean_score:,.0f} of {OPTIMUM_3X3:,.2f}"
    return (Points(min(100.0, 100 * share / FULL_SHARE), reason),)


def by_sample(win_rate: float, best: float, samples: int) -> tuple[Points, ...]:
    """Grade the project on a learned model: win rate by samples (section 5.5.2), as a share of the best win rate."""
    share = win_rate / best * min(1.0, FREE_SAMPLES / max(1, samples))
    reason = f"100 WinRate / {best:.1%} min(1, {FREE_SAMPLES:,} / samples), WinRate = {win_rate:.1%}"
    return (Points(min(100.0, 100 * share), f"{reason}, samples = {samples:,}"),)


def answers(right: int, questions: int) -> tuple[Points, ...]:
    """Table 29: the share of questions that are answered right."""
    return (Points(100 * right / questions, f"100 right / questions, {right:,} of {questions:,}"),)


def rank(points: float, pairings: int, share: float) -> tuple[Points, ...]:
    """Grade project 6: 70 to 100, linear in the points of the tournament; the 70 are for games without a fault."""
    games = Points(70 * share, f"70, games without a fault, {share:.1%} of those that were asked")
    return games, Points(30 * points / pairings, f"30 points / pairings, {points:g} of {pairings}")


def _right(played: Played) -> Points:
    return Points(
        85 * played.share, f"85, the environment is right, in {played.share:.1%} of the games that were asked"
    )


def _bonus(played: Played, least: int) -> Points:
    return Points(max(played.largest - least, 0), f"bonus max(MaxTile - {least}, 0), MaxTile = {played.largest}")
