"""Who won: points of pairings, win rates, ratings.

A pairing is two games with the same opening; each program slides in one of them and places the tiles in the other. The
program with the higher score as player wins a point; equal scores are half a point for both. A program that makes a
fault in either game loses the pairing; if both do, nobody gets a point.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from launch.evaluation.intervals import Interval, wilson
from launch.tables import Column, render
from launch.tournament.ratings import ratings
from launch.tournament.referee import Match


class Standing(NamedTuple):
    """A program in the table."""

    name: str
    points: float
    pairings: int
    win_rate: Interval  # points a pairing
    rating: float  # Elo points
    half_width: float  # of its 95% interval
    score: float  # mean points as player, of games without a fault; NaN: none
    against: float  # mean points of the others when it placed the tiles
    faults: int


def pairings(matches: Iterable[Match]) -> list[tuple[Match, Match]]:
    """Return the pairings of which both games were played."""
    games = {(match.player, match.adversary, match.opening): match for match in matches}
    return [
        (match, games[match.adversary, match.player, match.opening])
        for match in games.values()
        if match.player < match.adversary and (match.adversary, match.player, match.opening) in games
    ]


def points_of(one: Match, other: Match) -> tuple[float, float]:
    """Return the points of the player of `one` and of the player of `other`."""
    wrong = {match.at_fault for match in (one, other)}
    if wrong & {one.player, other.player}:
        return float(one.player not in wrong), float(other.player not in wrong)
    return (0.5, 0.5) if one.score == other.score else (float(one.score > other.score), float(other.score > one.score))


def standings(names: Sequence[str], matches: Sequence[Match]) -> list[Standing]:
    """Return the table, the highest points first."""
    place = {name: number for number, name in enumerate(names)}
    points, counts = np.zeros((len(names), len(names))), Counter[str]()
    for one, other in pairings(matches):
        gained = points_of(one, other)
        for name, rival, won in ((one.player, other.player, gained[0]), (other.player, one.player, gained[1])):
            points[place[name], place[rival]] += won
            counts[name] += 1
    elo, widths = ratings(points)
    table = []
    for name in names:
        total, count = float(points[place[name]].sum()), counts[name]
        whole = [match for match in matches if not match.fault]
        scores = [match.score for match in whole if match.player == name]
        others = [match.score for match in whole if match.adversary == name]
        table.append(
            Standing(
                name,
                total,
                count,
                wilson(total / count, count) if count else Interval(0.0, 0.0, 1.0),
                float(elo[place[name]]),
                float(widths[place[name]]),
                float(np.mean(scores)) if scores else np.nan,
                float(np.mean(others)) if others else np.nan,
                sum(match.at_fault == name for match in matches),
            )
        )
    return sorted(table, key=lambda row: (-row.points, row.name))


def _mean(value: float) -> str:
    return "" if np.isnan(value) else f"{value:,.0f}"


COLUMNS = [
    Column("program", lambda row: row.name, lambda row: row.name),
    Column("points", lambda row: row.points, lambda row: f"{row.points:g}"),
    Column("pairings", lambda row: row.pairings, lambda row: str(row.pairings)),
    Column(
        "won",
        lambda row: row.win_rate.value,
        lambda row: f"{row.win_rate.value:.0%} ({row.win_rate.low:.0%} to {row.win_rate.high:.0%})",
    ),
    Column("rating", lambda row: row.rating, lambda row: f"{row.rating:+.0f} +- {row.half_width:.0f}"),
    Column("score", lambda row: row.score, lambda row: _mean(row.score)),
    Column("score of others", lambda row: row.against, lambda row: _mean(row.against)),
    Column("faults", lambda row: row.faults, lambda row: str(row.faults)),
]


def table_text(table: Sequence[Standing]) -> str:
    """Return the table for a terminal."""
    return render(table, COLUMNS, "text")
