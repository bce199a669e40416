"""The 1-ply greedy policy, argmax over legal actions of r + V(afterstate), in two halves: look ahead, then choose.

Between the halves the entries of the four afterstates are on their way from memory. A thread plays a few games in turn
and works on one while another's entries arrive: 4x6 TD went from 2.9M to 4.7M moves/s on one core with two games.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntuple.game.bitboard import (
    FOUR_SHARE,
    ONE,
    Board,
    Rules,
    afterstate,
    count_cells,
    empty_cells,
    is_same,
    kth_cell,
    turned_afterstate,
)
from ntuple.game.jit import inline, kernel
from ntuple.tables.network import Lookup, Network, find_entries, make_lookup, prefetch_entries, value_at

ILLEGAL = np.float32(-1)  # in place of a reward
ROWS = 5  # of the lookup, a game: its four afterstates, and one to learn from
LEARN = 4  # the last of them
GAMES_A_THREAD = 2  # more find no free slots for their loads, and fill the first-level cache


class Scratch(NamedTuple):
    """Memory of one thread's kernel for G games in turn; made by `make_scratch`."""

    lookup: Lookup  # 5 rows a game
    afters: NDArray[np.uint64]  # [G, 4, 2] see `valued_afterstate`
    rewards: NDArray[np.float32]  # [G, 4] points; ILLEGAL where a move is
    values: NDArray[np.float32]  # [G, 4] r + V; -inf where a move is not legal


def make_scratch(network: Network) -> Scratch:
    """Memory for one thread to choose moves with and to learn from; behind its games there is room for one more."""
    games = GAMES_A_THREAD + 1
    rewards, values = np.zeros((games, 4), np.float32), np.zeros((games, 4), np.float32)
    return Scratch(make_lookup(network, games * ROWS), np.zeros((games, 4, 2), np.uint64), rewards, values)


class Move(NamedTuple):
    """The chosen move of a board; an action of -1 says that no move is legal and the game is over."""

    action: int
    after: Board
    reward: np.float32  # points
    value: np.float32  # r + V(afterstate)


@inline
def valued_afterstate(
    rules: Rules, network: Network | None, board: Board, action: int
) -> tuple[Board, Board, np.uint64]:
    """The afterstate of an action, up to a symmetry only if the values have it; see `turned_afterstate`.

    A network of one view values a turned board differently, so it gets the true afterstate. The length of
    `symmetries` is known to the compiler, which leaves the other branch out.

    Args:
        rules: the game.
        network: what values the afterstate; None: hand-made values, which have all symmetries.
        board: the board before the move.
        action: 0..3.

    Returns:
        The board and the afterstate, turned alike, and the reward; the move is legal if the two boards differ.
    """
    if network is not None:  # noqa: SIM102 (numba leaves out a branch over None only if it stands alone)
        if len(network.symmetries) == 1:
            after, reward = afterstate(rules, board, action)
            return board, after, reward
    return turned_afterstate(rules, board, action)


@inline
def look_ahead(rules: Rules, network: Network, board: Board, scratch: Scratch, game: int) -> None:
    """Find the four afterstates of a game's board and their entries, and begin to load these."""
    for action in range(4):
        source, after, reward = valued_afterstate(rules, network, board, action)
        scratch.afters[game, action, 0], scratch.afters[game, action, 1] = after.lo, after.hi
        if is_same(after, source):
            scratch.rewards[game, action] = ILLEGAL
        else:
            scratch.rewards[game, action] = np.float32(reward)
            find_entries(rules, network, after, scratch.lookup, ROWS * game + action)
            prefetch_entries(network, scratch.lookup, ROWS * game + action)


@inline
def value_of_move(network: Network, scratch: Scratch, game: int, action: int) -> np.float32:
    """Value of an action after `look_ahead`: r + V(afterstate), or -inf if it is not legal."""
    reward = scratch.rewards[game, action]
    if reward < 0:
        return np.float32(-np.inf)
    return reward + value_at(network, scratch.lookup, ROWS * game + action)


@kernel
def has_legal_move(scratch: Scratch, game: int) -> bool:
    """Whether `look_ahead` saw a legal move."""
    for action in range(4):  # noqa: SIM110 (any() of a generator is not for numba)
        if scratch.rewards[game, action] >= 0:
            return True
    return False


@inline
def make_move(scratch: Scratch, game: int, action: int, value: np.float32) -> Move:
    """The move of an action after `look_ahead`."""
    after = Board(scratch.afters[game, action, 0], scratch.afters[game, action, 1])
    return Move(action, after, scratch.rewards[game, action], value)


@inline
def best_move(network: Network, scratch: Scratch, game: int) -> Move:
    """The best move of the board that `look_ahead` saw, the lowest action among equals.

    All values come before the first comparison: a mispredicted branch on a value that is still on its way from memory
    would hold up the loads behind it.
    """
    for action in range(4):
        scratch.values[game, action] = value_of_move(network, scratch, game, action)
    return highest_move(scratch, game)


@inline
def highest_move(scratch: Scratch, game: int) -> Move:
    """The move of the highest of the four values, the lowest action among equals."""
    best, value = -1, np.float32(-np.inf)
    for action in range(4):
        if scratch.values[game, action] > value:
            best, value = action, scratch.values[game, action]
    return make_move(scratch, game, best, value)


@kernel
def expected_return(rules: Rules, network: Network, scratch: Scratch, after: Board) -> np.float32:
    """The mean over the spawns behind an afterstate of the best r + V, 0 where the game is over."""
    empty = empty_cells(rules, after)
    count = count_cells(empty)
    total = np.float32(0)
    for k in range(count):
        cell = kth_cell(empty, np.uint64(k))
        two = _best_return(rules, network, scratch, Board(after.lo | cell, after.hi))
        four = _best_return(rules, network, scratch, Board(after.lo | cell << ONE, after.hi))
        total += two + np.float32(FOUR_SHARE) * (four - two)
    return total / np.float32(count)


@kernel
def _best_return(rules: Rules, network: Network, scratch: Scratch, board: Board) -> np.float32:
    look_ahead(rules, network, board, scratch, GAMES_A_THREAD)
    move = best_move(network, scratch, GAMES_A_THREAD)
    return move.value if move.action >= 0 else np.float32(0)
