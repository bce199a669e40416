"""Kernels that run the inlined functions of ntuple over arrays, and conversions to and from the reference's boards."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from reference import rules as reference

from ntuple.core.rules import FOUR_SHARE
from ntuple.game.bitboard import ONE, Board, Rules, afterstate, count_cells, decode, empty_cells, encode, is_same, spawn
from ntuple.game.jit import kernel
from ntuple.game.rng import mix, step
from ntuple.tables.entries import Lookup, _find_plainly, find_entries, make_lookup
from ntuple.tables.file_order import write_field
from ntuple.tables.layout import place_of_index, reorder
from ntuple.tables.network import VIEWS, Network, make_network
from ntuple.tables.values import value_at
from ntuple.td.step_sizes import TD, StepSize


def to_board(board: reference.Board) -> Board:
    return encode(np.array(board))


def board_of_tiles(tiles: Sequence[int], rows: int = 4, columns: int = 4) -> Board:
    """Return a board with these tiles in its first cells, 0 = empty."""
    levels = np.zeros(rows * columns, np.int64)
    levels[: len(tiles)] = [max(tile.bit_length() - 1, 0) for tile in tiles]
    return encode(levels.reshape(rows, columns))


def back(board: Board) -> Board:
    """Return a board from a kernel as an argument of kernels."""
    return Board(*map(np.uint64, board))


def to_reference(rules: Rules, board: Board) -> reference.Board:
    return tuple(tuple(row) for row in decode(rules, board).tolist())


@kernel
def afterstates(rules, boards, action, after, rewards):
    for i in range(boards.shape[0]):
        moved, rewards[i] = afterstate(rules, Board(boards[i, 0], boards[i, 1]), action)
        after[i, 0], after[i, 1] = moved.lo, moved.hi


@kernel
def spawns(rules, board, rng, boards):
    for i in range(boards.shape[0]):
        rng = step(rng)
        spawned = spawn(rules, board, mix(rng))
        boards[i, 0], boards[i, 1] = spawned.lo, spawned.hi


@kernel
def find(rules, network, board, lookup):
    find_entries(rules, network, board, lookup, 0)


@kernel
def find_plainly(rules, network, board, entries):
    _find_plainly(rules, network, board, entries, np.uint64(0))


@kernel
def value_of(rules, network, board, lookup):
    find_entries(rules, network, board, lookup, 0)
    return value_at(network, lookup, 0)


@kernel
def plain_chance(rules, network, lookup, after, plies):
    """Return Vchance of an afterstate by plain recursion in float64 (Guei 2023, eq. 20-22), or V with 0 plies."""
    if plies == 0:
        find_entries(rules, network, after, lookup, 0)
        return np.float64(value_at(network, lookup, 0))
    empty = empty_cells(rules, after)
    total = 0.0
    for code in range(32):
        tile = ONE << np.uint64(4 * (code // 2))
        if empty & tile:
            board, best = Board(after.lo | tile << np.uint64(code % 2), after.hi), -np.inf
            # Not a separate function: two kernels that call each other crash when numba loads them from its cache.
            for action in range(4):
                below, reward = afterstate(rules, board, action)
                if not is_same(below, board):
                    best = max(best, reward + plain_chance(rules, network, lookup, below, plies - 1))
            total += (FOUR_SHARE if code % 2 else 1 - FOUR_SHARE) * (best if best > -np.inf else 0.0)
    return total / count_cells(empty)


@kernel
def plain_moves(rules, network, lookup, boards, plies, values):
    """Write r + Vchance(as, plies - 1) of the moves of boards [B, 2] to `values` [B, 4], -inf for an illegal move."""
    for i in range(boards.shape[0]):
        board = Board(boards[i, 0], boards[i, 1])
        for action in range(4):
            after, reward = afterstate(rules, board, action)
            values[i, action] = -np.inf
            if not is_same(after, board):
                values[i, action] = reward + plain_chance(rules, network, lookup, after, plies - 1)


def step_size(rule: int = TD, alpha: float = 0.5, takes_steps: bool = False) -> StepSize:
    return StepSize(rule, np.float32(alpha), takes_steps, np.float32(0.1), np.float32(0.01), np.float32(1.0))


@kernel
def places_of(indices, order, paired, salt, out):
    for i in range(indices.size):
        out[i] = place_of_index(reorder(order, indices[i]), paired, salt)


def entries(rules: Rules, network, board: reference.Board) -> Lookup:
    """Return a look-up with the entries of a board in row 0."""
    lookup = make_lookup(network, 1)
    find(rules, network, to_board(board), lookup)
    return lookup


def positions(network, entries) -> list[int]:
    """Return the positions of the S M entries in the order in which a file stores the weights."""
    starts = [*network.tables.tolist(), network.weights.size]
    found = []
    for m in range(len(network.tables)):
        places = indices = np.arange(starts[m + 1] - starts[m], dtype=np.uint32)
        if network.levels == 16:
            places = np.zeros_like(indices)
            places_of(indices, network.orders[m], network.paired[m], network.salts[m], places)
        index_at = dict(zip(places.tolist(), indices.tolist(), strict=True))
        places_of_views = entries[VIEWS * m : VIEWS * m + len(network.symmetries)]
        found += [starts[m] + index_at[place] for place in places_of_views.tolist()]
    return found


def value(rules: Rules, network, board: reference.Board) -> float:
    return float(value_of(rules, network, to_board(board), make_lookup(network, 1)))


def random_network(rows: int = 3, columns: int = 3, network: str = "01,034,0124", **settings: Any) -> Network:
    """Return a network of positive and negative weights, so that some values are below 0."""
    made = make_network(network, rows, columns, 0.0, **settings)
    rng = np.random.default_rng(1)
    write_field(made, rng.normal(20.0, 40.0, made.weights.size).astype(np.float32))
    return made


def exact_network(rows: int, columns: int, network: str) -> Network:
    """Return a network whose sums have no rounding, so that a board and its views have exactly the same value."""
    made = random_network(rows, columns, network)
    made.weights[:] = np.round(made.weights * 256) / 256
    return made
