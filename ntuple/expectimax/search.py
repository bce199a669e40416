"""Expectimax search over afterstate values, to a fixed depth or by iterative deepening.

    Vmax(s, p)     = max over legal a of r + Vchance(as, p - 1),  0 if the game is over
    Vchance(as, p) = sum over spawns of P(s') Vmax(s', p) if p > 0,  V(as) if p = 0      (Guei 2023, eq. 20-22)

Where a placed tile earns points they are added to Vmax(s', p).

Against an opponent Vchance is replaced by Vmin of ntuple/expectimax/opponent.py.

A search of p plies has p layers of afterstates; 1 ply is the greedy policy. In a rectified search V below 0 counts as
0, and every state that is not over adds 1 point, so that the longest of several hopeless branches is chosen (appendix
B.2, eq. 39-41).

This file is plain recursion down to the last layer, which is in ntuple/expectimax/leaves.py.
"""

import numpy as np
from numpy.typing import NDArray

from ntuple.core.interfaces import Analysis
from ntuple.endgames.guide import Guide, guide_values
from ntuple.expectimax.downgrading import downgraded
from ntuple.expectimax.leaves import above_leaves, leaf_value, of_state
from ntuple.expectimax.opponent import least_value
from ntuple.expectimax.search_memory import NO_BOARD, Search, is_known, is_late, key_of, slot_of
from ntuple.game.any_game import afterstate, count_placements, place_points, placement, places
from ntuple.game.bitboard import ZERO, Board, count_cells, is_same, kth_cell
from ntuple.game.clock import seconds
from ntuple.game.episode import Row, board_of
from ntuple.game.jit import either, field_type, kernel
from ntuple.game.rollout import Trace, play_move
from ntuple.players.greedy import valued_afterstate


@kernel
def chance_value(search: Search, after: Board, plies: int, probability: np.float32) -> np.float32:
    """Return Vchance(after, plies); after the deadline the value has no meaning.

    Args:
        plies: layers of afterstates below this one.
        probability: product of the probabilities of the spawns since the root.
    """
    rules, settings, memory = search.rules, search.settings, search.memory
    cells = places(rules, after)
    count = count_cells(cells)
    plies = min(plies, int(settings.most_plies[count]))
    if plies == 0 or probability < settings.least_probability:
        return leaf_value(search, after)
    key, remembers = key_of(rules, after)
    slot = slot_of(memory.node_boards, key)
    # With least_probability > 0 the value of a node above the last layer depends on the path to it.
    remembers = remembers and (plies == 1 or settings.least_probability == 0)
    if remembers and is_known(settings, memory, slot, key, plies):
        return memory.node_values[slot]
    total = np.float32(0)
    if plies == 1:
        total = above_leaves(search, after)
    else:
        ways = count_placements(rules, after)
        for k in range(np.int64(count) * ways):
            board, part, level = placement(rules, after, kth_cell(cells, np.uint64(k // ways)), k % ways)
            share = np.float32(part / count)
            best = np.float32(-np.inf)
            for action in range(4):
                source, below, reward = valued_afterstate(rules, search.network, board, action)
                if not is_same(below, source):
                    value = chance_value(search, below, plies - 1, probability * share)
                    best = max(best, np.float32(reward) + value)
            total += share * (np.float32(place_points(rules, level)) + of_state(settings, best))
            if is_late(settings, memory):
                return total
    if remembers:
        memory.node_boards[slot], memory.node_values[slot], memory.node_plies[slot] = key, total, plies
    return total


# Vchance of an afterstate with probability 1, or Vmin above alpha = -inf if the search has an opponent
_value_after = either(
    chance_value,
    least_value,
    lambda search, *_: field_type(field_type(search, "settings"), "opponent") is not None,
)


@kernel
def search_moves(search: Search, board: Board, values: NDArray[np.float32]) -> int:
    """Compute the values of the moves of a board.

    Args:
        board: the board before the move; with tile-downgrading the downgraded board is searched instead.
        values: float32[4], receives r + Vchance(as, plies - 1), -inf if the move is illegal.

    Returns:
        The depth in plies: `plies`, or with a time limit the depth of the deepest search that was completed.
        `most_plies` may reduce it below some afterstates.
    """
    settings, memory = search.settings, search.memory
    if settings.downgrades_from > ZERO:
        board = downgraded(board, settings.downgrades_from, settings.downgrade_exception, settings.downgrades_again)
    probability_or_alpha = np.float32(1) if settings.opponent is None else np.float32(-np.inf)
    is_timed = settings.seconds > 0
    ends = seconds() + settings.seconds if is_timed else 0.0
    memory.deadline[0] = np.inf  # the search of one ply is always completed
    reached = 0
    for plies in range(1 if is_timed else settings.plies, settings.plies + 1):
        for action in range(4):
            source, after, reward = valued_afterstate(search.rules, search.network, board, action)
            value = np.float32(-np.inf)
            if not is_same(after, source):
                value = np.float32(reward) + _value_after(search, after, plies - 1, probability_or_alpha)
            memory.root[action] = value
        if reached > 0 and is_late(settings, memory):
            break
        for action in range(4):
            values[action] = memory.root[action]
        reached = plies
        memory.deadline[0] = ends
    return reached


@kernel
def best_action(values: NDArray[np.float32]) -> int:
    """Return the action of the highest value, the lowest among equals; -1 if no move is legal."""
    best, value = -1, np.float32(-np.inf)
    for action in range(4):
        if values[action] > value:
            best, value = action, values[action]
    return best


@kernel
def play_on(search: Search, guide: Guide | None, row: Row, trace: Trace) -> int:
    """Continue a game as `PlayOn` says; without a guide the search alone chooses the moves."""
    rules, memory = search.rules, search.memory
    for move in range(trace.shape[0]):
        began = seconds()
        search_moves(search, board_of(row), memory.root_values)
        if guide is not None:
            guide_values(rules, guide, board_of(row), memory.root_values, memory.endgame)
        action = best_action(memory.root_values)
        if action < 0:
            return move
        play_move(rules, row, action, began, trace[move])
    return trace.shape[0]


@kernel
def analyse_boards(search: Search, words: NDArray[np.uint64], out: Analysis) -> None:
    """Fill in what `search_moves` computes for the moves of boards, with its depth as their effort."""
    memory = search.memory
    for i in range(words.shape[0]):
        board = Board(words[i, 0], words[i, 1])
        if search.settings.takes_deeper:  # a deeper value of another board would be taken
            memory.node_boards[:] = NO_BOARD
        plies = search_moves(search, board, memory.root_values)
        for action in range(4):
            after, reward = afterstate(search.rules, board, action)
            is_legal = not is_same(after, board)
            out.value[i, action] = memory.root_values[action]
            out.reward[i, action] = np.int64(reward) if is_legal else -1
            out.effort[i, action] = plies if is_legal else 0
