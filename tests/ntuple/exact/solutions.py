"""Solutions of small games, and their positions in other forms."""

import functools

import numpy as np

from ntuple.core.games.definition import State
from ntuple.core.games.threes import LEVEL_OF
from ntuple.exact.positions import LEVELS, board_of
from ntuple.exact.solution import Solution
from ntuple.exact.solver import solve
from ntuple.game.family_events import decode_state

NO_TILE = LEVELS + 1


@functools.cache
def solution(
    rows: int, columns: int, until: int = NO_TILE, tile: int = NO_TILE, game: str = "2048", opponent: str = "chance"
) -> Solution:
    solved = solve(rows, columns, until, tile, game=game, opponent=opponent)
    return Solution(rows, columns, until, tile, solved, game, opponent)


def state_of(asked: Solution, word: np.uint64) -> State:
    return decode_state(asked.rules, board_of(asked.rules, word))


def threes_levels(text: str) -> np.ndarray:
    """Return the levels of tiles such as "0 1 0 / 0 0 2"."""
    return np.array([[LEVEL_OF[int(tile)] for tile in row.split()] for row in text.split("/")])
