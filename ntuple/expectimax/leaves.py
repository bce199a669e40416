"""The last layer of an expectimax search: chance nodes above leaves, which take nearly all of the time.

In 2048 a spawn changes one line of the board. A move after it slides this line again. The other three lines are those
of the board without the spawn, which slide once for all spawns. The entries of one spawn's leaves are loaded while the
leaves of the previous spawn are evaluated.
"""

import numpy as np

from ntuple.core.rules import DOWN, FOUR_SHARE, LEFT, RIGHT, UP
from ntuple.expectimax.heuristic import Heuristic, heuristic_value
from ntuple.expectimax.search_memory import (
    FRAME,
    MOVED,
    POINTS,
    REMEMBERED,
    ExpectimaxSettings,
    Memory,
    Search,
    key_of,
    slot_of,
)
from ntuple.game.any_game import AnyRules, count_placements, place_points, placement, places
from ntuple.game.bitboard import (
    ONE,
    ROW,
    U2,
    U4,
    U16,
    ZERO,
    Board,
    Rules,
    count_cells,
    empty_cells,
    flip,
    is_same,
    kth_cell,
    mirror,
    transpose,
)
from ntuple.game.family import is_family
from ntuple.game.jit import either, field_type, inline, inline_once, kernel
from ntuple.players.greedy import ILLEGAL, valued_afterstate
from ntuple.tables.entries import find_entries, prefetch_entries
from ntuple.tables.network import Network
from ntuple.tables.values import value_at


@inline_once
def _turn(rules: Rules, memory: Memory, after: Board) -> None:
    """Turn an afterstate into four frames, one an action, in which the action is a left move, and slide their lines."""
    flipped = flip(rules, after)
    memory.frames[UP, FRAME], memory.frames[DOWN, FRAME] = transpose(after.lo), transpose(flipped.lo)
    memory.frames[LEFT, FRAME], memory.frames[RIGHT, FRAME] = after.lo, mirror(rules, after).lo
    for action in range(4):
        moved, points = ZERO, ZERO
        for line in range(4):
            at = np.uint64(16 * line)
            slid = np.uint64(rules.slide[(memory.frames[action, FRAME] >> at) & ROW])
            memory.lines[action, line] = slid
            moved |= (slid & ROW) << at
            points += slid >> U16
        memory.frames[action, MOVED], memory.frames[action, POINTS] = moved, points


@inline_once
def _prepare_turned(
    rules: Rules, network: Network | None, memory: Memory, cell: np.uint64, level: np.uint64, row: int
) -> None:
    """Do what `_prepare` does, for a spawn of 2^level at `cell` of the board that `_turn` turned."""
    for action in range(4):
        place = memory.places[action, cell]
        at = place & np.uint64(48)
        frame = memory.frames[action, FRAME] | level << place
        slid = np.uint64(rules.slide[(frame >> at) & ROW])
        lo = (memory.frames[action, MOVED] & ~(ROW << at)) | (slid & ROW) << at
        if lo == frame:
            memory.rewards[row, action] = ILLEGAL
            continue
        points = memory.frames[action, POINTS] + (slid >> U16) - (memory.lines[action, place >> U4] >> U16)
        memory.rewards[row, action] = np.float32(points << U2)
        _prepare_leaf(rules, network, memory, _leaf_of_frame(rules, network, lo, action), row, action)


@inline
def _leaf_of_frame(rules: Rules, network: Network | None, lo: np.uint64, action: int) -> Board:
    """Return the slid board of an action's frame, turned back where the values need it (see `valued_afterstate`)."""
    if network is not None:  # noqa: SIM102 (numba removes a branch on None only if the test stands alone)
        if len(network.symmetries) == 1:
            if action in (UP, DOWN):
                lo = transpose(lo)
            if action == DOWN:
                return flip(rules, Board(lo, ZERO))
            return mirror(rules, Board(lo, ZERO)) if action == RIGHT else Board(lo, ZERO)
    if rules.rows != rules.columns and action in (UP, DOWN):
        lo = transpose(lo)  # the frame has W x H cells, the game H x W
    return Board(lo, ZERO)


@inline_once
def _prepare(rules: AnyRules, network: Network | None, memory: Memory, board: Board, row: int) -> None:
    """Find the leaves below a board; take remembered values, and begin to load the entries of the other leaves."""
    for action in range(4):
        source, after, reward = valued_afterstate(rules, network, board, action)
        if is_same(after, source):
            memory.rewards[row, action] = ILLEGAL
            continue
        memory.rewards[row, action] = np.float32(reward)
        _prepare_leaf(rules, network, memory, after, row, action)


@inline
def _prepare_leaf(
    rules: AnyRules, network: Network | None, memory: Memory, after: Board, row: int, action: int
) -> None:
    """Take the remembered value of a leaf, or begin to load its entries."""
    memory.afters[row, action, 0], memory.afters[row, action, 1] = after.lo, after.hi
    key, remembers = key_of(rules, after)
    slot = slot_of(memory.leaf_boards, key)
    memory.slots[row, action] = slot
    if memory.leaf_boards[slot] == key and remembers:
        memory.values[row, action] = memory.leaf_values[slot]
        memory.slots[row, action] = REMEMBERED
    elif network is not None:
        find_entries(rules, network, after, memory.lookup, 4 * row + action)
        prefetch_entries(network, memory.lookup, 4 * row + action)


@inline_once
def _best_leaf(search: Search, row: int) -> np.float32:
    """Return Vmax of the state whose leaves were prepared in `row`."""
    rules, network, heuristic, settings, memory = search
    for action in range(4):
        if memory.rewards[row, action] >= 0 and memory.slots[row, action] != REMEMBERED:
            after = Board(memory.afters[row, action, 0], memory.afters[row, action, 1])
            value = _rectified(settings, _value_of_row(rules, network, heuristic, memory, after, 4 * row + action))
            memory.values[row, action] = value
            key, remembers = key_of(rules, after)
            if remembers:
                slot = memory.slots[row, action]
                memory.leaf_boards[slot], memory.leaf_values[slot] = key, value
    best = np.float32(-np.inf)
    for action in range(4):
        if memory.rewards[row, action] >= 0:
            best = max(best, memory.rewards[row, action] + memory.values[row, action])
    return of_state(settings, best)


@inline
def _value_of_row(
    rules: AnyRules, network: Network | None, heuristic: Heuristic | None, memory: Memory, after: Board, row: int
) -> np.float32:
    """Return V of an afterstate, for a network from the entries in `row` of the lookup."""
    value = np.float32(0)
    if network is not None:  # numba removes a branch on an argument that is None
        value = value_at(network, memory.lookup, row)
    if heuristic is not None:
        value = heuristic_value(rules, heuristic, after)
    return value


@inline_once
def _rectified(settings: ExpectimaxSettings, value: np.float32) -> np.float32:
    """Return max(V, 0) of a leaf if the search is rectified, else V (eq. 40)."""
    return max(value, np.float32(0)) if settings.rectified else value


@inline_once
def of_state(settings: ExpectimaxSettings, best: np.float32) -> np.float32:
    """Return Vmax of a state from its best r + Vchance, which is -inf if no move is legal (eq. 20 and 39)."""
    if best == np.float32(-np.inf):
        return np.float32(0)
    return best + np.float32(1) if settings.rectified else best


@kernel
def leaf_value(search: Search, after: Board) -> np.float32:
    """Return V of an afterstate at which the search ends above its last layer."""
    rules, network, heuristic, settings, memory = search
    return _rectified(settings, _found_value(rules, network, heuristic, memory, after))


@inline
def _found_value(
    rules: AnyRules, network: Network | None, heuristic: Heuristic | None, memory: Memory, after: Board
) -> np.float32:
    if network is not None:
        find_entries(rules, network, after, memory.lookup, 0)
    return _value_of_row(rules, network, heuristic, memory, after, 0)


@kernel
def _above_leaves(search: Search, after: Board) -> np.float32:
    rules, network, memory = search.rules, search.network, search.memory
    empty = empty_cells(rules, after)
    count = ZERO
    for cell in range(16):
        memory.empty[count] = np.uint64(cell)
        count += (empty >> np.uint64(4 * cell)) & ONE
    share_two, share_four = np.float32((1 - FOUR_SHARE) / count), np.float32(FOUR_SHARE / count)
    largest = after.lo & (after.lo >> U2)
    # No tile of 32768: no move makes a 65536, so the slide table is enough.
    is_small = after.hi == ZERO and (largest & (largest >> ONE) & rules.cells) == ZERO
    if is_small:
        _turn(rules, memory, after)
    total = np.float32(0)
    for k in range(2 * np.int64(count) + 1):
        if k < 2 * np.int64(count):
            cell, level = memory.empty[k >> 1], np.uint64(1 + (k & 1))
            if is_small:
                _prepare_turned(rules, network, memory, cell, level, k & 1)
            else:
                _prepare(rules, network, memory, Board(after.lo | level << (U4 * cell), after.hi), k & 1)
        if k > 0:
            share = share_two if k & 1 else share_four
            total += share * _best_leaf(search, (k - 1) & 1)
    return total


@kernel
def _above_leaves_of_family(search: Search, after: Board) -> np.float32:
    rules, network, memory = search.rules, search.network, search.memory
    cells, ways = places(rules, after), count_placements(rules, after)
    count = count_cells(cells)
    total = share = points = np.float32(0)
    for k in range(np.int64(count) * ways + 1):
        before, earned = share, points
        if k < np.int64(count) * ways:
            board, chance, level = placement(rules, after, kth_cell(cells, np.uint64(k // ways)), k % ways)
            share, points = np.float32(chance / count), np.float32(place_points(rules, level))
            _prepare(rules, network, memory, board, k & 1)
        if k > 0:
            total += before * (earned + _best_leaf(search, (k - 1) & 1))
    return total


# (search, after): Vchance(after, 1)
above_leaves = either(_above_leaves, _above_leaves_of_family, lambda search, *_: is_family(field_type(search, "rules")))
