"""The last moves of the games of a thread, for targets of several moves and for restarts."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntuple.game.bitboard import Board
from ntuple.game.jit import inline

LONGEST_GAME = 1 << 17  # moves. In 2048 the sum of all tiles, at most 2^18 - 4, grows by 2 or 4 with each move


class History(NamedTuple):
    """The last moves of G games, in ring buffers: move t of a game is at t & mask."""

    boards: NDArray[np.uint64]  # [G, length, 2] afterstates
    rewards: NDArray[np.float32]  # [G, length] rewards of the moves that led to them
    deltas: NDArray[np.float32]  # [G, length] target `delayed`: TD errors of the afterstates
    mask: int  # length - 1; the length is a power of 2


def make_history(games: int, length: int) -> History:
    """Make an empty history of `games` games with the last `length` moves of each."""
    rewards, deltas = np.zeros((games, length), np.float32), np.zeros((games, length), np.float32)
    return History(np.zeros((games, length, 2), np.uint64), rewards, deltas, length - 1)


@inline
def remember(history: History, game: int, move: int, after: Board, reward: np.float32) -> None:
    """Store a move."""
    at = move & history.mask
    history.boards[game, at, 0], history.boards[game, at, 1] = after.lo, after.hi
    history.rewards[game, at] = reward


@inline
def afterstate_at(history: History, game: int, move: int) -> Board:
    """Return a stored afterstate."""
    at = move & history.mask
    return Board(history.boards[game, at, 0], history.boards[game, at, 1])
