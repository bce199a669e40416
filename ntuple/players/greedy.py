"""The 1-ply greedy policy, argmax over legal actions of r + V(afterstate), in two steps: look ahead, then choose.

`look_ahead` begins to load the entries of the four afterstates from memory, and `best_move` reads them. A thread plays
several games in turn. It works on one game while the entries of another are loaded. With two games, TD on 4x6 ran at
4.7M moves/s instead of 2.9M on one core.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntuple.game.any_game import (
    AnyRules,
    afterstate,
    count_placements,
    place_points,
    placement,
    places,
    turned_afterstate,
)
from ntuple.game.bitboard import Board, count_cells, is_same, kth_cell
from ntuple.game.jit import chosen_by_type, field_type, inline_once, kernel
from ntuple.tables.entries import Lookup, find_entries, make_lookup, prefetch_entries
from ntuple.tables.network import Network
from ntuple.tables.values import value_at

ILLEGAL = np.float32(-1)  # reward of an illegal move
ROWS = 5  # rows of the lookup for each game: four afterstates, and one to learn from
LEARN = 4  # the row to learn from
GAMES_A_THREAD = 2  # with more games, loads wait for free slots and the first-level cache is full


class Scratch(NamedTuple):
    """Working memory of one thread for G games in turn; made by `make_scratch`."""

    lookup: Lookup  # ROWS rows for each game
    afters: NDArray[np.uint64]  # [G, 4, 2] words of afterstates, see `valued_afterstate`
    rewards: NDArray[np.float32]  # [G, 4] points; ILLEGAL if the move is illegal
    values: NDArray[np.float32]  # [G, 4] r + V; -inf if the move is illegal


def make_scratch(network: Network) -> Scratch:
    """Return the memory of one thread for GAMES_A_THREAD games, and one more for `expected_return`."""
    games = GAMES_A_THREAD + 1
    rewards, values = np.zeros((games, 4), np.float32), np.zeros((games, 4), np.float32)
    return Scratch(make_lookup(network, games * ROWS), np.zeros((games, 4, 2), np.uint64), rewards, values)


class ChosenMove(NamedTuple):
    """The chosen move of a board."""

    action: int  # -1: no move is legal, the game is over
    after: Board
    reward: np.float32  # points
    value: np.float32  # r + V(afterstate)


@inline_once
def _upright(rules: AnyRules, network: Network | None, board: Board, action: int) -> tuple[Board, Board, np.uint64]:
    after, reward = afterstate(rules, board, action)
    return board, after, reward


def valued_afterstate(
    rules: AnyRules, network: Network | None, board: Board, action: int
) -> tuple[Board, Board, np.uint64]:
    """Return the afterstate of an action, turned by a symmetry where the values do not depend on it.

    Turning the board back costs time (see `turned_afterstate`). A network of one view values a turned board
    differently, so for such a network the afterstate is not turned. The type tells, since it holds the number of views.

    Args:
        network: values the afterstate; None: the heuristic, which is symmetric.

    Returns:
        The board and the afterstate, both turned in the same way, and the reward. The move is legal if they differ.
    """
    if network is not None and len(network.symmetries) == 1:
        return _upright(rules, network, board, action)
    turned: tuple[Board, Board, np.uint64] = turned_afterstate(rules, board, action)
    return turned


def _choose(rules: Any, network: Any, board: Any, action: Any) -> Callable[..., Any]:
    views = field_type(network, "symmetries")
    if views is not None and len(views) == 1:
        return lambda rules, network, board, action: _upright(rules, network, board, action)
    return lambda rules, network, board, action: turned_afterstate(rules, board, action)


chosen_by_type(valued_afterstate, _choose)


@inline_once
def look_ahead(rules: AnyRules, network: Network, board: Board, scratch: Scratch, game: int) -> None:
    """Find the four afterstates of a board and begin to load their entries."""
    for action in range(4):
        source, after, reward = valued_afterstate(rules, network, board, action)
        scratch.afters[game, action, 0], scratch.afters[game, action, 1] = after.lo, after.hi
        if is_same(after, source):
            scratch.rewards[game, action] = ILLEGAL
        else:
            scratch.rewards[game, action] = np.float32(reward)
            find_entries(rules, network, after, scratch.lookup, ROWS * game + action)
            prefetch_entries(network, scratch.lookup, ROWS * game + action)


@kernel
def has_legal_move(scratch: Scratch, game: int) -> bool:
    """Return whether `look_ahead` found a legal move."""
    for action in range(4):  # noqa: SIM110 (numba has no any() of a generator)
        if scratch.rewards[game, action] >= 0:
            return True
    return False


@inline_once
def make_move(scratch: Scratch, game: int, action: int, value: np.float32) -> ChosenMove:
    """Return an action as a move, after `look_ahead`."""
    after = Board(scratch.afters[game, action, 0], scratch.afters[game, action, 1])
    return ChosenMove(action, after, scratch.rewards[game, action], value)


@inline_once
def best_move(network: Network, scratch: Scratch, game: int) -> ChosenMove:
    """Return the move of the highest r + V after `look_ahead`, the lowest action among equals.

    All values are computed before the first comparison. A mispredicted branch on a value that is still being loaded
    would delay the loads after it.
    """
    for action in range(4):
        value, reward = np.float32(-np.inf), scratch.rewards[game, action]
        if reward >= 0:
            value = reward + value_at(network, scratch.lookup, ROWS * game + action)
        scratch.values[game, action] = value
    return highest_move(scratch, game)


@inline_once
def highest_move(scratch: Scratch, game: int) -> ChosenMove:
    """Return the move of the highest of the four values in `scratch`, the lowest action among equals."""
    best, value = -1, np.float32(-np.inf)
    for action in range(4):
        if scratch.values[game, action] > value:
            best, value = action, scratch.values[game, action]
    return make_move(scratch, game, best, value)


@kernel
def expected_return(rules: AnyRules, network: Network, scratch: Scratch, after: Board) -> np.float32:
    """Return the mean over the chance events of their points and the best r + V, 0 if the game is over then.

    Args:
        scratch: its last game is overwritten.
    """
    cells = places(rules, after)
    count = count_cells(cells)
    total = np.float32(0)
    for k in range(count):
        for number in range(count_placements(rules, after)):
            board, chance, level = placement(rules, after, kth_cell(cells, np.uint64(k)), number)
            best = _best_return(rules, network, scratch, board)
            total += np.float32(chance) * (np.float32(place_points(rules, level)) + best)
    return total / np.float32(count)


@kernel
def _best_return(rules: AnyRules, network: Network, scratch: Scratch, board: Board) -> np.float32:
    look_ahead(rules, network, board, scratch, GAMES_A_THREAD)
    move = best_move(network, scratch, GAMES_A_THREAD)
    return move.value if move.action >= 0 else np.float32(0)
