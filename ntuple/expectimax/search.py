"""Expectimax search over afterstate values, to a fixed depth or by iterative deepening.

    Vmax(s, p)     = max over legal a of r + Vchance(as, p - 1),  0 if the game is over
    Vchance(as, p) = sum over spawns of P(s') Vmax(s', p) if p > 0,  V(as) if p = 0      (Guei 2023, eq. 20-22)

A search of p plies has p layers of afterstates; 1 ply is the greedy policy. Rectified, V below 0 counts 0, and every
state that is not over adds 1 point, so that of hopeless branches the longest is taken (appendix B.2, eq. 39-41).

This is plain recursion down to the last layer, which ntuple.leaves has.
"""

import numpy as np
from numpy.typing import NDArray

from ntuple.expectimax.clock import seconds
from ntuple.expectimax.heuristic import Heuristic
from ntuple.expectimax.leaves import Memory, Search, above_leaves, leaf_value, of_state, slot_of
from ntuple.game.bitboard import (
    FOUR_SHARE,
    ONE,
    U4,
    U15,
    ZERO,
    Board,
    Rules,
    afterstate,
    count_cells,
    empty_cells,
    is_same,
    level_at,
    max_cell,
)
from ntuple.game.episode import Row, board_of, go_on, spawn_code
from ntuple.game.jit import inline, kernel
from ntuple.players.greedy import valued_afterstate
from ntuple.tables.network import Network

ACTION, SPAWN, REWARD, MILLISECONDS = range(4)  # columns of a trace
TRACE_COLUMNS = 4


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
    slot = slot_of(memory.node_boards, after.lo)
    # Where unlikely spawns are left out, a node's value depends on the way to it, but not in the last layer.
    remembers = after.hi == ZERO and (plies == 1 or search.least_probability == 0)
    if remembers and memory.node_boards[slot] == after.lo:
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
                source, below, reward = valued_afterstate(rules, network, board, action)
                if not is_same(below, source):
                    chance = probability * share
                    value = chance_value(rules, network, heuristic, search, memory, below, plies - 1, chance)
                    best = max(best, np.float32(reward) + value)
            total += share * of_state(search, best)
            if is_late(search, memory):
                return total
    if remembers:
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
        tiles |= (ONE << level_at(board, cell)) & ~ONE
    largest = max_cell(board)
    missing = largest - 1
    while missing > 0 and (tiles >> np.uint64(missing)) & ONE:
        missing -= 1
    if tiles < threshold or missing <= 0:
        return board
    lo, hi = ZERO, ZERO
    for cell in range(16):
        level = level_at(board, cell)
        level -= np.uint64(np.int64(level) > missing)
        lo |= (level & U15) << np.uint64(4 * cell)
        hi |= (level >> U4) << np.uint64(4 * cell)
    return Board(lo, hi)


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
        The plies asked for, which `search.most_plies` may cut short below some afterstates, or with a time limit those
        of the deepest search that ended in time.
    """
    if search.downgrades_from > ZERO:
        board = downgraded(board, search.downgrades_from)
    is_timed = search.seconds > 0
    ends = seconds() + search.seconds if is_timed else 0.0
    memory.deadline[0] = np.inf  # one ply is searched in any case
    reached = 0
    for plies in range(1 if is_timed else search.plies, search.plies + 1):
        for action in range(4):
            source, after, reward = valued_afterstate(rules, network, board, action)
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
        The moves made; fewer than T: the game is over, or the values are no numbers.
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
