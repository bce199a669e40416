"""The last layer of an expectimax search: chance nodes above leaves, where nearly all of its time goes.

There a spawn changes one line of the board: a move slides that line anew and takes the other three from the board
without the spawn. The entries of one spawn's leaves are loaded while those of the spawn before arrive. Two small tables
that stay in the caches remember leaves and chance nodes; they hold whole boards, so they change no value. (Where
unlikely spawns are left out, they remember no node above the last layer.)
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntuple.expectimax.heuristic import Heuristic, heuristic_value
from ntuple.game.bitboard import (
    DOWN,
    FOUR_SHARE,
    LEFT,
    ONE,
    RIGHT,
    ROW,
    U2,
    U4,
    U16,
    U32,
    UP,
    ZERO,
    Board,
    Rules,
    empty_cells,
    flip,
    is_same,
    mirror,
    transpose,
    transposed,
)
from ntuple.game.jit import inline, kernel
from ntuple.game.rng import GAMMA
from ntuple.players.greedy import ILLEGAL, valued_afterstate
from ntuple.tables.network import Lookup, Network, find_entries, make_lookup, prefetch_entries, value_at

HASH_SHIFT = np.uint64(36)  # leaves 28 bits, as many as the largest table has
NO_BOARD = np.uint64(2**64 - 1)  # sixteen tiles of 32768: no afterstate
REMEMBERED = np.uint64(2**64 - 1)  # in place of a slot
NO_LOOKUP = Lookup(np.zeros(0, np.uint32), ZERO, np.zeros(0, np.uint64))  # of the heuristic
FRAME, MOVED, POINTS = range(3)  # of Memory.frames


class Search(NamedTuple):
    """How far and how a search looks ahead."""

    plies: int  # p; with a time limit the most that it deepens to
    most_plies: NDArray[np.int8]  # [17] below an afterstate with so many empty cells at most so many plies
    rectified: bool
    least_probability: np.float32  # of a chance node, or it counts as a leaf; 0: exact
    takes_deeper: bool  # whether a remembered node of a deeper search serves a shallower one
    seconds: float  # a move; 0: no limit
    downgrades_from: np.uint64  # tiles as bits of one number, see ntuple.stages; 0: never


class Memory(NamedTuple):
    """Of one thread; made by `make_memory`."""

    lookup: Lookup  # of 8 rows: the leaves behind a spawned 2, and behind a 4
    afters: NDArray[np.uint64]  # [2, 4, 2]
    rewards: NDArray[np.float32]  # [2, 4]
    values: NDArray[np.float32]  # [2, 4]
    slots: NDArray[np.uint64]  # [2, 4] of the leaf in the table of leaves, REMEMBERED if its value is there
    places: NDArray[np.uint64]  # [4, 16] where a cell's nibble lies in the frame of an action
    frames: NDArray[np.uint64]  # [4, 3] the board in the frame, slid, and the points of the slide / 4
    lines: NDArray[np.uint64]  # [4, 4] its lines slid, as Rules.slide has them
    empty: NDArray[np.uint64]  # [17] the empty cells of a node above the leaves
    leaf_boards: NDArray[np.uint64]  # [2^n] lower words of boards; those of 65536 and more are not remembered
    leaf_values: NDArray[np.float32]  # [2^n]
    node_boards: NDArray[np.uint64]  # [2^m]
    node_values: NDArray[np.float32]  # [2^m]
    node_plies: NDArray[np.int8]  # [2^m]
    root: NDArray[np.float32]  # [4] of a search under way
    root_values: NDArray[np.float32]  # [4] of the one before
    deadline: NDArray[np.float64]  # [1] seconds of the clock


def make_memory(rules: Rules, network: Network | None, leaf_bits: int, node_bits: int) -> Memory:
    """Empty memory of one thread, of 2^leaf_bits leaves of 12 bytes and 2^node_bits nodes of 13."""
    return Memory(
        lookup=make_lookup(network, 8) if network is not None else NO_LOOKUP,
        afters=np.zeros((2, 4, 2), np.uint64),
        rewards=np.zeros((2, 4), np.float32),
        values=np.zeros((2, 4), np.float32),
        slots=np.zeros((2, 4), np.uint64),
        places=_places(rules),
        frames=np.zeros((4, 3), np.uint64),
        lines=np.zeros((4, 4), np.uint64),
        empty=np.zeros(17, np.uint64),
        leaf_boards=np.full(1 << leaf_bits, NO_BOARD, np.uint64),
        leaf_values=np.zeros(1 << leaf_bits, np.float32),
        node_boards=np.full(1 << node_bits, NO_BOARD, np.uint64),
        node_values=np.zeros(1 << node_bits, np.float32),
        node_plies=np.zeros(1 << node_bits, np.int8),
        root=np.zeros(4, np.float32),
        root_values=np.zeros(4, np.float32),
        deadline=np.zeros(1, np.float64),
    )


def _places(rules: Rules) -> NDArray[np.uint64]:
    """Where the nibble of each of the sixteen cells lies in the four frames; 0 for those that are not on the board."""
    places = np.zeros((4, 16), np.uint64)
    for cell in range(16):
        if not int(rules.cells) >> 4 * cell & 1:
            continue
        board = Board(np.uint64(1 << 4 * cell), ZERO)
        turned = {LEFT: board, RIGHT: mirror(rules, board), UP: transposed(board), DOWN: transposed(flip(rules, board))}
        for action, frame in turned.items():
            places[action, cell] = int(frame[0]).bit_length() - 1
    return places


@inline
def slot_of(boards: NDArray[np.uint64], word: np.uint64) -> np.uint64:
    """Where a board lies in a table, if it is there.

    Bits of a product depend on those of the word at and below them: both halves of the word count, and upper bits are
    taken. Where boards that differ in the last row alone shared slots, searches of 3 plies took twice as long.
    """
    return ((word ^ word >> U32) * GAMMA >> HASH_SHIFT) & np.uint64(boards.size - 1)


@inline
def _turn(rules: Rules, memory: Memory, after: Board) -> None:
    """Turn an afterstate into four frames, in each of which one action is a slide to the left, and slide their lines.

    A spawn changes one line of a frame: what the others become is the same for all spawns.
    """
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


@inline
def _prepare_turned(
    rules: Rules, network: Network | None, memory: Memory, cell: np.uint64, level: np.uint64, row: int
) -> None:
    """`_prepare` of a spawn on the board that `_turn` turned."""
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
    """The slid board of an action's frame, turned back as far as the values need it (see `valued_afterstate`)."""
    if network is not None:  # noqa: SIM102 (numba leaves out a branch over None only if it stands alone)
        if len(network.symmetries) == 1:
            if action in (UP, DOWN):
                lo = transpose(lo)
            if action == DOWN:
                return flip(rules, Board(lo, ZERO))
            return mirror(rules, Board(lo, ZERO)) if action == RIGHT else Board(lo, ZERO)
    if rules.rows != rules.columns and action in (UP, DOWN):
        lo = transpose(lo)  # a W x H board is none of the game's
    return Board(lo, ZERO)


@inline
def _prepare(rules: Rules, network: Network | None, memory: Memory, board: Board, row: int) -> None:
    """Find the leaves behind a board, with their values where remembered, and begin to load the others' entries."""
    for action in range(4):
        source, after, reward = valued_afterstate(rules, network, board, action)
        if is_same(after, source):
            memory.rewards[row, action] = ILLEGAL
            continue
        memory.rewards[row, action] = np.float32(reward)
        _prepare_leaf(rules, network, memory, after, row, action)


@inline
def _prepare_leaf(rules: Rules, network: Network | None, memory: Memory, after: Board, row: int, action: int) -> None:
    memory.afters[row, action, 0], memory.afters[row, action, 1] = after.lo, after.hi
    slot = slot_of(memory.leaf_boards, after.lo)
    memory.slots[row, action] = slot
    if memory.leaf_boards[slot] == after.lo and after.hi == ZERO:
        memory.values[row, action] = memory.leaf_values[slot]
        memory.slots[row, action] = REMEMBERED
    elif network is not None:
        find_entries(rules, network, after, memory.lookup, 4 * row + action)
        prefetch_entries(network, memory.lookup, 4 * row + action)


@inline
def _best_leaf(
    rules: Rules, network: Network | None, heuristic: Heuristic | None, search: Search, memory: Memory, row: int
) -> np.float32:
    """Max of r + V over the prepared leaves, 0 if there is none."""
    for action in range(4):
        if memory.rewards[row, action] >= 0 and memory.slots[row, action] != REMEMBERED:
            after = Board(memory.afters[row, action, 0], memory.afters[row, action, 1])
            value = _rectified(search, _value_of_row(rules, network, heuristic, memory, after, 4 * row + action))
            memory.values[row, action] = value
            if after.hi == ZERO:
                slot = memory.slots[row, action]
                memory.leaf_boards[slot], memory.leaf_values[slot] = after.lo, value
    best = np.float32(-np.inf)
    for action in range(4):
        if memory.rewards[row, action] >= 0:
            best = max(best, memory.rewards[row, action] + memory.values[row, action])
    return of_state(search, best)


@inline
def _value_of_row(
    rules: Rules, network: Network | None, heuristic: Heuristic | None, memory: Memory, after: Board, row: int
) -> np.float32:
    value = np.float32(0)
    if network is not None:  # numba leaves out a branch over an argument that is None
        value = value_at(network, memory.lookup, row)
    if heuristic is not None:
        value = heuristic_value(rules, heuristic, after)
    return value


@inline
def _rectified(search: Search, value: np.float32) -> np.float32:
    """V of a leaf as the search sees it (eq. 40)."""
    return max(value, np.float32(0)) if search.rectified else value


@inline
def of_state(search: Search, best: np.float32) -> np.float32:
    """Vmax of a state by the best r + Vchance, -inf where no move is legal (eq. 20 and 39)."""
    if best == np.float32(-np.inf):
        return np.float32(0)
    return best + np.float32(1) if search.rectified else best


@kernel
def leaf_value(
    rules: Rules, network: Network | None, heuristic: Heuristic | None, search: Search, memory: Memory, after: Board
) -> np.float32:
    """V of an afterstate at which the search ends above its last layer."""
    if network is not None:
        find_entries(rules, network, after, memory.lookup, 0)
    return _rectified(search, _value_of_row(rules, network, heuristic, memory, after, 0))


@kernel
def above_leaves(
    rules: Rules, network: Network | None, heuristic: Heuristic | None, search: Search, memory: Memory, after: Board
) -> np.float32:
    """Vchance(after, 1)."""
    empty = empty_cells(rules, after)
    count = ZERO
    for cell in range(16):
        memory.empty[count] = np.uint64(cell)
        count += (empty >> np.uint64(4 * cell)) & ONE
    share_two, share_four = np.float32((1 - FOUR_SHARE) / count), np.float32(FOUR_SHARE / count)
    largest = after.lo & (after.lo >> U2)
    # No 32768, so no 65536 behind it.
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
            total += share * _best_leaf(rules, network, heuristic, search, memory, (k - 1) & 1)
    return total
