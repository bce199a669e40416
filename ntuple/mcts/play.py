"""The move after a search, whole games and the analysis of a board."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntuple.core.interfaces import Analysis
from ntuple.endgames.guide import Guide, guide_values
from ntuple.game.any_game import AnyRules, afterstate, count_placements, placement, places
from ntuple.game.bitboard import Board, count_cells, kth_cell
from ntuple.game.clock import seconds
from ntuple.game.episode import Row, board_of, spawn_code
from ntuple.game.jit import inline, kernel
from ntuple.game.rng import U32, mix, step
from ntuple.game.rollout import Trace, play_move
from ntuple.mcts.search import MCTSSettings, TreeSearch, search_tree
from ntuple.mcts.tree import (
    NONE,
    ROOT,
    MCTSTree,
    afterstate_of,
    block_size,
    clear,
    count_visits,
    has_move,
    keep,
    state_of,
)
from ntuple.players.greedy import ILLEGAL

VARIATION = 16  # moves of a principal variation, at most


@inline
def best_move(settings: MCTSSettings, tree: MCTSTree, node: int) -> int:
    """Return the move of the highest Q, with `mean` among the most visited ones; -1 if no move is legal."""
    best, most, highest = -1, -1, -np.inf
    for action in range(4):
        if has_move(tree, node, action):
            visits, value = int(tree.visits[node, action]) if settings.is_mean else 0, tree.q_values[node, action]
            if visits > most or (visits == most and value > highest):
                best, most, highest = action, visits, value
    return best if highest > -np.inf else -1


@inline
def choose_move(settings: MCTSSettings, tree: MCTSTree) -> int:
    """Return the move that is made at the root.

    A drawn move a has the probability pi(a) = N(a)^z / sum_b N(b)^z over the visited moves with N(a) >= R_th max N
    (Guei 2023, eq. 37 and 38). If no move was visited, it is the best one.
    """
    best = best_move(settings, tree, ROOT)
    if best < 0 or not settings.draws or count_visits(tree, ROOT) == 0:
        return best
    most = 0
    for action in range(4):
        if has_move(tree, ROOT, action):
            most = max(most, tree.visits[ROOT, action])
    total = 0.0
    for action in range(4):
        total += _weight(settings, tree, action, most)
    tree.rng[0] = step(tree.rng[0])
    rest = total * np.float64(mix(tree.rng[0]) >> U32) / 2.0**32
    chosen = best
    for action in range(4):
        weight = _weight(settings, tree, action, most)
        if weight > 0 and rest >= 0:
            chosen = action
            rest -= weight
    return chosen


@inline
def _weight(settings: MCTSSettings, tree: MCTSTree, action: int, most: int) -> float:
    """Return (N(a) / max N)^z, 0 if the move is not to be drawn."""
    if not has_move(tree, ROOT, action):
        return 0.0
    visits = tree.visits[ROOT, action]
    if visits == 0 or visits < settings.r_th * most:
        return 0.0
    return (visits / most) ** settings.z


@inline
def remove_moves(rules: AnyRules, guide: Guide, tree: MCTSTree) -> None:
    """Remove the moves of the root that a table of endgames finds worse."""
    guide_values(rules, guide, state_of(tree, ROOT), tree.q_values[ROOT], tree.endgame)
    for action in range(4):
        if tree.q_values[ROOT, action] == -np.inf:
            tree.rewards[ROOT, action] = ILLEGAL


@kernel
def play_on(search: TreeSearch, guide: Guide | None, row: Row, trace: Trace) -> int:
    """Continue a game as `PlayOn` says; without a guide the search alone chooses the moves."""
    rules, settings, tree = search.rules, search.settings, search.tree
    for move in range(trace.shape[0]):
        began = seconds()
        if settings.reuse:
            keep(rules, tree, row)
        else:
            clear(tree)
        # A table of endgames may remove the move that ends a search early. The choice among the others was that of a
        # whole search on all boards of the tests.
        search_tree(search, board_of(row), not settings.draws)
        if guide is not None:
            remove_moves(rules, guide, tree)
        action = choose_move(settings, tree)
        if action < 0:
            return move
        play_move(rules, row, action, began, trace[move])
    return trace.shape[0]


@kernel
def analyse_boards(
    search: TreeSearch,
    guide: Guide | None,
    words: NDArray[np.uint64],
    streams: NDArray[np.uint64],
    out: Analysis,
) -> None:
    """Search boards to the end.

    Args:
        guide: it chooses the move; reward, value and effort are those of all moves.
        streams: [B] states of the random streams of the searches.
        out: its variation is filled with -1, its outcomes with 0. They receive the best moves, each with the most
            visited spawn after it; and max_a Q, nan if not visited, as the value of a spawn after the move.
    """
    rules, settings, tree = search.rules, search.settings, search.tree
    variation: Any = out.variation
    outcomes: Any = out.outcomes
    for i in range(words.shape[0]):
        clear(tree)
        tree.rng[0] = streams[i]
        search_tree(search, Board(words[i, 0], words[i, 1]), False)
        for a in range(4):
            is_legal = has_move(tree, ROOT, a)
            out.reward[i, a] = np.int64(tree.rewards[ROOT, a]) if is_legal else -1
            out.value[i, a] = tree.q_values[ROOT, a]
            out.effort[i, a] = tree.visits[ROOT, a] if is_legal else 0
        if guide is not None:
            remove_moves(rules, guide, tree)
        _write_variation(rules, settings, tree, variation[i])
        out.action[i] = choose_move(settings, tree)
        _write_outcomes(rules, tree, out.action[i], outcomes[i])


@inline
def _write_outcomes(rules: AnyRules, tree: MCTSTree, action: int, outcomes: NDArray[np.float64]) -> None:
    for code in range(outcomes.shape[0]):
        outcomes[code, 2] = np.nan
    if action < 0:
        return
    after, _ = afterstate(rules, state_of(tree, ROOT), action)
    cells, ways = places(rules, after), count_placements(rules, after)
    for place in range(block_size(rules, after)):
        board, chance, _ = placement(rules, after, kth_cell(cells, np.uint64(place // ways)), place % ways)
        outcome = outcomes[spawn_code(rules, after, board)]
        outcome[0] = chance / np.float64(count_cells(cells))
        if tree.blocks[ROOT, action] == NONE:
            continue
        state = int(tree.slots[int(tree.blocks[ROOT, action]) + place])
        if state != NONE:
            outcome[1] = 1 + count_visits(tree, state)  # the first visit made the state; if it is over, the only one
            outcome[2] = tree.best[state]


@inline
def _write_variation(rules: AnyRules, settings: MCTSSettings, tree: MCTSTree, variation: NDArray[np.int16]) -> None:
    node = ROOT
    for i in range(variation.shape[0]):
        action = best_move(settings, tree, node)
        if action < 0:
            return
        variation[i, 0] = action
        if tree.blocks[node, action] == NONE:
            return
        after, below, most = afterstate_of(tree, node, action), NONE, -1
        first = int(tree.blocks[node, action])
        for slot in range(first, first + block_size(rules, after)):
            state = int(tree.slots[slot])
            if state != NONE and count_visits(tree, state) > most:
                below, most = state, count_visits(tree, state)
        if below == NONE:
            return
        variation[i, 1] = spawn_code(rules, after, state_of(tree, below))
        node = below
