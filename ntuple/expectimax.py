"""Expectimax search over afterstate values, to a fixed depth or by iterative deepening.

    Vmax(s, p)     = max over legal a of r + Vchance(as, p - 1),  0 if the game is over
    Vchance(as, p) = sum over spawns of P(s') Vmax(s', p) if p > 0,  V(as) if p = 0      (Guei 2023, eq. 20-22)

A search of p plies has p layers of afterstates; 1 ply is the greedy policy. Rectified, V below 0 counts 0, and every
state that is not over adds 1 point, so that of hopeless branches the longest is taken (appendix B.2, eq. 39-41).

Nearly all time goes to the last layer, so the nodes above it are plain recursion. In the last layer a spawn changes one
line of the board: a move slides that line anew and takes the other three from the board without the spawn. The entries
of one spawn's leaves are loaded while those of the spawn before arrive. Two small tables that stay in the caches
remember leaves and chance nodes; they hold whole boards, so they change no value.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntuple.board import (
    DOWN,
    FOUR_SHARE,
    LEFT,
    ONE,
    RIGHT,
    ROW,
    U2,
    U4,
    U15,
    U16,
    U32,
    UP,
    ZERO,
    Board,
    Rules,
    afterstate,
    count_cells,
    empty_cells,
    flip,
    is_same,
    max_cell,
    mirror,
    transpose,
    transposed,
    turned_afterstate,
)
from ntuple.clock import seconds
from ntuple.game import Row, board_of, go_on, spawn_code
from ntuple.heuristic import Heuristic, heuristic_value
from ntuple.jit import inline, kernel
from ntuple.network import Lookup, Network, find_entries, make_lookup, prefetch_entries, value_at
from ntuple.policy import ILLEGAL

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
HASH_SHIFT = np.uint64(36)  # leaves 28 bits, as many as the largest table has
NO_BOARD = np.uint64(2**64 - 1)  # sixteen tiles of 32768: no afterstate
REMEMBERED = np.uint64(2**64 - 1)  # in place of a slot
LEAF_BITS, NODE_BITS = 12, 14  # log2 of the default sizes: 64 and 256 KiB, of a second-level cache of 1 MiB
ACTION, SPAWN, REWARD, MILLISECONDS = range(4)  # columns of a trace
TRACE_COLUMNS = 4
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


def make_memory(
    rules: Rules, network: Network | None, leaf_bits: int = LEAF_BITS, node_bits: int = NODE_BITS
) -> Memory:
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
def _slot(boards: NDArray[np.uint64], word: np.uint64) -> np.uint64:
    """Where a board lies in a table, if it is there.

    Bits of a product depend on those of the word at and below them: both halves of the word count, and upper bits are
    taken. Where boards that differ in the last row alone shared slots, searches of 3 plies took twice as long.
    """
    return ((word ^ word >> U32) * MULTIPLIER >> HASH_SHIFT) & np.uint64(boards.size - 1)


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
        if rules.rows != rules.columns and action in (UP, DOWN):
            lo = transpose(lo)  # a W x H board is none of the game's
        memory.rewards[row, action] = np.float32(points << U2)
        _prepare_leaf(rules, network, memory, Board(lo, ZERO), row, action)


@inline
def _prepare(rules: Rules, network: Network | None, memory: Memory, board: Board, row: int) -> None:
    """Find the leaves behind a board, with their values where remembered, and begin to load the others' entries."""
    for action in range(4):
        source, after, reward = turned_afterstate(rules, board, action)
        if is_same(after, source):
            memory.rewards[row, action] = ILLEGAL
            continue
        memory.rewards[row, action] = np.float32(reward)
        _prepare_leaf(rules, network, memory, after, row, action)


@inline
def _prepare_leaf(rules: Rules, network: Network | None, memory: Memory, after: Board, row: int, action: int) -> None:
    memory.afters[row, action, 0], memory.afters[row, action, 1] = after.lo, after.hi
    slot = _slot(memory.leaf_boards, after.lo)
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
    return _of_state(search, best)


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
def _of_state(search: Search, best: np.float32) -> np.float32:
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
    is_small = (
        after.hi == ZERO and (largest & (largest >> ONE) & rules.cells) == ZERO
    )  # no 32768, so no 65536 behind it
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


@kernel
def chance_value(
    rules: Rules,
    network: Network | None,
    heuristic: Heuristic | None,
    search: Search,
    memory: Memory,
    after: Board,
    plies: int,
    probability: np.float32,
) -> np.float32:
    """Vchance(after, plies); the value has no meaning once the time is over."""
    empty = empty_cells(rules, after)
    count = count_cells(empty)
    plies = min(plies, int(search.most_plies[count]))
    if plies == 0 or probability < search.least_probability:
        return leaf_value(rules, network, heuristic, search, memory, after)
    slot = _slot(memory.node_boards, after.lo)
    if after.hi == ZERO and memory.node_boards[slot] == after.lo:
        remembered = np.int64(memory.node_plies[slot])
        if remembered == plies or (search.takes_deeper and remembered > plies):
            return memory.node_values[slot]
    total = np.float32(0)
    if plies == 1:
        total = above_leaves(rules, network, heuristic, search, memory, after)
    else:
        for k in range(2 * count):
            cell = empty & (~empty + ONE)
            tile = cell << ONE if k & 1 else cell
            if k & 1:
                empty ^= cell
            share = np.float32((FOUR_SHARE if k & 1 else 1 - FOUR_SHARE) / count)
            board = Board(after.lo | tile, after.hi)
            best = np.float32(-np.inf)
            for action in range(4):
                source, below, reward = turned_afterstate(rules, board, action)
                if not is_same(below, source):
                    chance = probability * share
                    value = chance_value(rules, network, heuristic, search, memory, below, plies - 1, chance)
                    best = max(best, np.float32(reward) + value)
            total += share * _of_state(search, best)
            if is_late(search, memory):
                return total
    if after.hi == ZERO:
        memory.node_boards[slot], memory.node_values[slot], memory.node_plies[slot] = after.lo, total, plies
    return total


@inline
def is_late(search: Search, memory: Memory) -> bool:
    """Whether the time for this move is over."""
    return bool(search.seconds > 0 and seconds() > memory.deadline[0])


@kernel
def downgraded(board: Board, threshold: np.uint64) -> Board:
    """The board with all tiles above its largest missing tile halved (Guei 2023, eq. 33).

    The same board if its tiles, as bits of one number, are below the threshold, or if no tile below its largest one is
    missing.
    """
    tiles = ZERO
    for cell in range(16):
        tiles |= (ONE << _level(board, cell)) & ~ONE
    largest = max_cell(board)
    missing = largest - 1
    while missing > 0 and (tiles >> np.uint64(missing)) & ONE:
        missing -= 1
    if tiles < threshold or missing <= 0:
        return board
    lo, hi = ZERO, ZERO
    for cell in range(16):
        level = _level(board, cell)
        level -= np.uint64(np.int64(level) > missing)
        lo |= (level & U15) << np.uint64(4 * cell)
        hi |= (level >> U4) << np.uint64(4 * cell)
    return Board(lo, hi)


@inline
def _level(board: Board, cell: int) -> np.uint64:
    at = np.uint64(4 * cell)
    return ((board.lo >> at) & U15) | (((board.hi >> at) & ONE) << U4)


@kernel
def search_moves(
    rules: Rules,
    network: Network | None,
    heuristic: Heuristic | None,
    search: Search,
    memory: Memory,
    board: Board,
    values: NDArray[np.float32],
) -> int:
    """Value the moves of a board that waits for one.

    Args:
        rules: the game.
        network: the values of leaves; None: those of `heuristic`.
        heuristic: None, or the values of leaves.
        search: how far to look ahead.
        memory: of this thread, and of this network or heuristic alone.
        board: as it is played; with tile-downgrading another one is searched, and its values are returned.
        values: float32[4], receives r + Vchance(as, plies - 1), -inf where the move is not legal.

    Returns:
        The plies searched: those asked for, or with a time limit those of the deepest search that ended in time.
    """
    if search.downgrades_from > ZERO:
        board = downgraded(board, search.downgrades_from)
    is_timed = search.seconds > 0
    ends = seconds() + search.seconds if is_timed else 0.0
    memory.deadline[0] = np.inf  # one ply is searched in any case
    reached = 0
    for plies in range(1 if is_timed else search.plies, search.plies + 1):
        for action in range(4):
            source, after, reward = turned_afterstate(rules, board, action)
            value = np.float32(-np.inf)
            if not is_same(after, source):
                value = np.float32(reward)
                value += chance_value(rules, network, heuristic, search, memory, after, plies - 1, np.float32(1))
            memory.root[action] = value
        if reached > 0 and is_late(search, memory):
            break
        for action in range(4):
            values[action] = memory.root[action]
        reached = plies
        memory.deadline[0] = ends
    return reached


@kernel
def best_action(values: NDArray[np.float32]) -> int:
    """The action of the highest value, the lowest among equals; -1 if no move is legal."""
    best, value = -1, np.float32(-np.inf)
    for action in range(4):
        if values[action] > value:
            best, value = action, values[action]
    return best


@kernel
def play_on(
    rules: Rules,
    network: Network | None,
    heuristic: Heuristic | None,
    search: Search,
    memory: Memory,
    row: Row,
    trace: NDArray[np.float64],
) -> int:
    """Play a game further, move by move into `trace`, until it is full or the game is over.

    Args:
        rules: the game.
        network: see `search_moves`.
        heuristic: see `search_moves`.
        search: see `search_moves`.
        memory: see `search_moves`.
        row: the game, read and written back.
        trace: float64[T, 4], receives a row a move: action, spawn, points, milliseconds.

    Returns:
        The moves made; fewer than T: the game is over.
    """
    for move in range(trace.shape[0]):
        board = board_of(row)
        began = seconds()
        search_moves(rules, network, heuristic, search, memory, board, memory.root_values)
        action = best_action(memory.root_values)
        if action < 0:
            return move
        after, reward = afterstate(rules, board, action)
        go_on(rules, row, after, reward)
        trace[move, ACTION], trace[move, REWARD] = action, reward
        trace[move, SPAWN] = spawn_code(rules, after, board_of(row))
        trace[move, MILLISECONDS] = 1000 * (seconds() - began)
    return trace.shape[0]


@kernel
def judge_boards(
    rules: Rules,
    network: Network | None,
    heuristic: Heuristic | None,
    search: Search,
    memory: Memory,
    words: NDArray[np.uint64],
    rewards: NDArray[np.int64],
    values: NDArray[np.float32],
    plies: NDArray[np.int64],
) -> None:
    """Value the moves of boards [B, 2], with their rewards [B, 4], -1 where illegal, and the plies searched [B]."""
    for i in range(words.shape[0]):
        board = Board(words[i, 0], words[i, 1])
        plies[i] = search_moves(rules, network, heuristic, search, memory, board, values[i])
        for action in range(4):
            after, reward = afterstate(rules, board, action)
            rewards[i, action] = -1 if is_same(after, board) else np.int64(reward)
