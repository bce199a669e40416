"""Figures over all games of a replay: where they end, and how far the values are from the rest of the score."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from launch.evaluation.records.played import Game

BINS = 10  # of equal width, from the smallest to the largest value
LAST_MOVES = 40  # before the end of a game


class Bin(NamedTuple):
    """Positions whose value is in an interval."""

    low: float  # points
    high: float  # points; belongs to the next bin, except for the last one
    positions: int
    games: int  # the positions of a game are not independent
    predicted: float  # mean value
    actual: float  # mean rest of the score


class LastMove(NamedTuple):
    """The empty cells of the boards that are this many moves before the end."""

    before: int  # moves; 0: the last board
    games: int  # that are over, and have so many moves
    low: float  # quartile
    mean: float
    high: float  # quartile


def last_moves(games: Sequence[Game]) -> list[LastMove]:
    """Return the empty cells before the end of the games that are over, from the last board backwards."""
    ends = [(game.boards[-1 - LAST_MOVES :] == 0).sum(axis=(1, 2))[::-1] for game in games if game.is_over]
    rows = []
    for before in range(max(map(len, ends), default=0)):
        empty = [end[before] for end in ends if before < len(end)]
        low, high = np.quantile(empty, (0.25, 0.75)).tolist()
        rows.append(LastMove(before, len(empty), low, float(np.mean(empty)), high))
    return rows


def calibrate(
    predicted: NDArray[np.float64], actual: NDArray[np.integer], game: NDArray[np.integer], bins: int = BINS
) -> list[Bin]:
    """Compare values of N moves that were made with what their games then brought, by intervals of equal width.

    Args:
        predicted: [N] points; NaN: unknown, left out.
        actual: [N] points from the move to the end of its game, its own reward included.
        game: [N] number of its game.
        bins: number of intervals; those without positions are left out.
    """
    is_known = np.isfinite(predicted)
    predicted, actual, game = predicted[is_known], actual[is_known], game[is_known]
    if not len(predicted):
        return []
    edges = np.linspace(predicted.min(), predicted.max(), bins + 1)
    place = np.clip(np.searchsorted(edges, predicted, side="right") - 1, 0, bins - 1)
    intervals = []
    for i in np.unique(place).tolist():
        inside = place == i
        means = float(predicted[inside].mean()), float(actual[inside].mean())
        intervals.append(Bin(float(edges[i]), float(edges[i + 1]), int(inside.sum()), len(set(game[inside])), *means))
    return intervals
