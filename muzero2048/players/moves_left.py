"""Estimate of the moves that games in lanes still take, for a display of the time left.

The moves of a game are taken to have a Weibull distribution with the shape SHAPE. With d finished games and the moves t
of all begun games, of which some go on, the scale of most likelihood has scale^SHAPE = sum t^SHAPE / d. A plain average
of the finished games would be too low: the first games to end are the short ones.
"""

import math

import numpy as np
from numpy.typing import NDArray

SHAPE = 2.5  # the spread of a game's moves is 43% of their mean, about that of games of 2048
MEAN = math.gamma(1 + 1 / SHAPE)  # of the distribution with scale 1
EULER = 0.577  # the largest of n exponential variables has the mean log(n) + EULER, about


def moves_left(finished: NDArray[np.integer], running: NDArray[np.integer], waiting: int) -> float | None:
    """Return how many moves the lanes still make until all games are finished; None if no game is finished.

    Args:
        finished: moves of the finished games.
        running: moves so far of the games that go on, one in each lane.
        waiting: number of games that have not begun.
    """
    if len(finished) == 0 or len(running) == 0:
        return None if len(running) else 0.0
    begun = np.concatenate([finished, running]).astype(np.float64)
    scale = float((begun**SHAPE).sum() / len(finished)) ** (1 / SHAPE)
    youngest = 0.0 if waiting else float(running.min())
    last = scale * ((youngest / scale) ** SHAPE + math.log(len(running)) + EULER) ** (1 / SHAPE)
    return waiting * MEAN * scale / len(running) + last - youngest
