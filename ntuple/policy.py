"""The 1-ply greedy policy, argmax over legal actions of r + V(afterstate), in two halves: look ahead, then choose.

Between the halves the entries of the four afterstates are on their way from memory. A thread plays a few games in turn
and works on one while another's entries arrive: 4x6 TD went from 2.9M to 4.7M moves/s on one core with two games.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntuple.board import Board, Rules, is_same, turned_afterstate
from ntuple.jit import inline
from ntuple.network import VIEWS, Entries, Network, find_entries, prefetch_entries, value_at

ILLEGAL = np.float32(-1)  # in place of a reward
ROWS = np.uint64(5)  # rows of entries a game: the four afterstates, and the afterstate to learn from
LEARN = np.uint64(4)  # the last of them
GAMES_A_THREAD = 2  # more find no free slots for their loads, and fill the first-level cache


class Scratch(NamedTuple):
    """Memory of one thread's kernel for G games in turn; made by `make_scratch`."""

    entries: Entries  # [G * 5 * 8 M] rows of entries: the four afterstates of each game, and one to learn from
    row_size: np.uint64  # 8 M
    afters: NDArray[np.uint64]  # [G, 4, 2] the afterstates, up to symmetry
    rewards: NDArray[np.float32]  # [G, 4] points; ILLEGAL where a move is


def make_scratch(network: Network) -> Scratch:
    """Memory for one thread to choose moves with and to learn from."""
    games, row_size = GAMES_A_THREAD, VIEWS * network.tables.size
    entries = np.zeros(games * int(ROWS) * row_size, np.uint32)
    return Scratch(entries, np.uint64(row_size), np.zeros((games, 4, 2), np.uint64), np.zeros((games, 4), np.float32))


class Move(NamedTuple):
    """The chosen move of a board; an action of -1 says that no move is legal and the game is over."""

    action: int
    after: Board
    reward: np.float32  # points
    value: np.float32  # r + V(afterstate)


@inline
def row_of(scratch: Scratch, game: int, row: np.uint64) -> np.uint64:
    """Where a game's row of entries begins."""
    return (np.uint64(game) * ROWS + row) * scratch.row_size


@inline
def look_ahead(rules: Rules, network: Network, board: Board, scratch: Scratch, game: int) -> None:
    """Find the four afterstates of a game's board and their entries, and begin to load these."""
    for action in range(4):
        source, after, reward = turned_afterstate(rules, board, action)
        scratch.afters[game, action, 0], scratch.afters[game, action, 1] = after.lo, after.hi
        if is_same(after, source):
            scratch.rewards[game, action] = ILLEGAL
        else:
            scratch.rewards[game, action] = np.float32(reward)
            row = row_of(scratch, game, np.uint64(action))
            find_entries(rules, network, after, scratch.entries, row)
            prefetch_entries(network, scratch.entries, row)


@inline
def value_of_move(network: Network, scratch: Scratch, game: int, action: int) -> np.float32:
    """R + V(afterstate) of an action after `look_ahead`; -inf if it is not legal."""
    reward = scratch.rewards[game, action]
    if reward < 0:
        return np.float32(-np.inf)
    return reward + value_at(network, scratch.entries, row_of(scratch, game, np.uint64(action)))


@inline
def best_move(network: Network, scratch: Scratch, game: int) -> Move:
    """The best move of the board that `look_ahead` saw, the lowest action among equals.

    All values come before the first comparison: a mispredicted branch on a value that is still on its way from memory
    would hold up the loads behind it.
    """
    up = value_of_move(network, scratch, game, 0)
    right = value_of_move(network, scratch, game, 1)
    down = value_of_move(network, scratch, game, 2)
    left = value_of_move(network, scratch, game, 3)
    best, value = -1, np.float32(-np.inf)
    if up > value:
        best, value = 0, up
    if right > value:
        best, value = 1, right
    if down > value:
        best, value = 2, down
    if left > value:
        best, value = 3, left
    after = Board(scratch.afters[game, best, 0], scratch.afters[game, best, 1])
    return Move(best, after, scratch.rewards[game, best], value)
