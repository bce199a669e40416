"""Monte Carlo tree search on afterstate values (Guei 2023, sec. 4.3.2).

The first simulation makes the root: its moves are valued by the network, all at once. Each further one goes down from
the root. At a state it takes the move of the largest

    Q(s, a) / V_norm + c sqrt(ln N(s) / N(s, a))      (eq. 23; Q = r + V(as) and N(s, a) = 1 before the first visit)

at an afterstate a spawn. It ends at an afterstate on its first visit, whose value is known, or at a state that is not
in the tree yet, which it makes and whose value is max_a r + V(as), 0 if the game is over. Then all moves on its path
count the visit, and their Q is updated by one of two rules:

    mean         Q(s, a) = mean over the visits of the return from s on: rewards, and the value at the end
    expectimax   Q(s, a) = r + V(as) + sum over the visited spawns s' of P(s') (max_a' Q(s', a') - V(as))

Where a placed tile earns points they are added to max_a' Q(s', a').

`mean` draws the spawns by their probability, as published. `expectimax` takes each spawn once, 2 before 4, and then
draws; a spawn that was not visited counts with the value of the afterstate. This is expectimax on a tree that grows
where UCB leads it.

Values are in points, and V_norm multiplies c instead of dividing Q: the same order of moves.
"""

from typing import Any, NamedTuple

import numpy as np

from ntuple.expectimax.search_memory import key_of, slot_of
from ntuple.game.any_game import AnyRules, count_placements, drawn_placement, place_points, placement, places
from ntuple.game.bitboard import Board, count_cells, is_same, kth_cell
from ntuple.game.clock import seconds
from ntuple.game.jit import inline_once, kernel
from ntuple.game.rng import bounded, mix, step
from ntuple.mcts.config import MCTSConfig
from ntuple.mcts.tree import (
    NODES,
    NONE,
    ROOT,
    MCTSTree,
    add_block,
    add_state,
    afterstate_of,
    clear,
    count_visits,
    has_move,
    make_tree,
    state_of,
)
from ntuple.players.greedy import ILLEGAL, valued_afterstate
from ntuple.tables.entries import find_entries, prefetch_entries
from ntuple.tables.network import Network
from ntuple.tables.values import value_at

NODE, ACTION = range(2)  # columns of MCTSTree.path
NO_SPAWN = 0.0  # in MCTSTree.shares: no state was added after this step


class MCTSSettings(NamedTuple):
    """Settings of a search; see MCTSConfig."""

    simulations: int  # N
    c: float
    v_norm: float  # points; 0: the largest r + V at the root, at least 1 (eq. 36)
    is_mean: bool  # the rule of Q
    remembers: bool  # take values of afterstates from earlier searches: the network does not change
    reuse: bool  # keep the part of the tree below a move
    seconds: float  # time limit of a move; 0: none
    draws: bool  # the move is drawn (eq. 37); else the best one is made
    z: float  # eq. 37
    r_th: float  # eq. 38


class TreeSearch(NamedTuple):
    """A search of one thread; made by `make_search`."""

    rules: Any  # AnyRules
    network: Network
    settings: MCTSSettings
    tree: MCTSTree


def make_search(rules: AnyRules, network: Network, config: MCTSConfig, remembers: bool = True) -> TreeSearch:
    """Return the search of a config with an empty tree; `remembers` is false for a network in training."""
    settings = MCTSSettings(
        simulations=config.simulations,
        c=config.c,
        v_norm=config.v_norm,
        is_mean=config.backup == "mean",
        remembers=remembers,
        reuse=config.reuse,
        seconds=config.seconds,
        draws=config.choice == "drawn",
        z=config.z,
        r_th=config.r_th,
    )
    return TreeSearch(rules, network, settings, make_tree(rules, network, config.simulations))


@kernel
def search_tree(search: TreeSearch, board: Board, stops_early: bool) -> int:
    """Search a board. A tree whose root it is grows, and its visits count as simulations; else it is made new.

    Args:
        stops_early: end when no further simulation can change the move: it is the only one, or with `mean` none can
            reach its visits.

    Returns:
        The number of simulations, with those that the tree came with.
    """
    settings, tree = search.settings, search.tree
    if tree.used[NODES] == 0 or not is_same(state_of(tree, ROOT), board):
        clear(tree)
        _add_valued(search, board)
    best_return = np.float64(0)
    for action in range(4):
        if has_move(tree, ROOT, action):
            best_return = max(best_return, np.float64(tree.rewards[ROOT, action]) + tree.values[ROOT, action])
    bonus = settings.c * (settings.v_norm if settings.v_norm > 0 else max(best_return, 1.0))
    simulations = 1 + count_visits(tree, ROOT)
    ends = seconds() + settings.seconds
    while simulations < settings.simulations:
        if settings.seconds > 0 and seconds() > ends:
            break
        if stops_early and _is_decided(settings, tree, settings.simulations - simulations):
            break
        simulations += 1
        depth, value = _go_down(search, bonus)
        if depth == 0:  # no move is legal
            break
        if settings.is_mean:
            _back_up_mean(tree, depth, value)
        else:
            _back_up_expectimax(tree, depth, value)
    return simulations


@inline_once
def _add_valued(search: TreeSearch, board: Board) -> int:
    """Add a state with its four moves, valued by the network, and return its node."""
    rules, network, settings, tree = search
    node = add_state(tree, board)
    known = 0  # bit a: the value after action a is remembered
    for action in range(4):
        source, after, reward = valued_afterstate(rules, network, board, action)
        tree.visits[node, action], tree.blocks[node, action] = 0, NONE
        if is_same(after, source):
            tree.rewards[node, action], tree.q_values[node, action] = ILLEGAL, -np.inf
            continue
        tree.rewards[node, action] = np.float32(reward)
        tree.afters[node, action, 0], tree.afters[node, action, 1] = after.lo, after.hi
        key, can_remember = key_of(rules, after)
        slot = slot_of(tree.leaf_boards, key)
        if settings.remembers and tree.leaf_boards[slot] == key and can_remember:
            tree.values[node, action] = tree.leaf_values[slot]
            known |= 1 << action
        else:
            find_entries(rules, network, after, tree.lookup, action)
            prefetch_entries(network, tree.lookup, action)
    for action in range(4):
        if has_move(tree, node, action):
            if not known & 1 << action:
                tree.values[node, action] = value_at(network, tree.lookup, action)
                key, can_remember = key_of(rules, afterstate_of(tree, node, action))
                if settings.remembers and can_remember:
                    slot = slot_of(tree.leaf_boards, key)
                    tree.leaf_boards[slot], tree.leaf_values[slot] = key, tree.values[node, action]
            # In single precision, as the 1-ply player computes it.
            tree.q_values[node, action] = tree.rewards[node, action] + tree.values[node, action]
    tree.best[node] = _best_return(tree, node)
    return node


@inline_once
def _best_return(tree: MCTSTree, node: int) -> float:
    """Return max_a Q(s, a), 0 if no move is legal."""
    left = max(tree.q_values[node, 0], tree.q_values[node, 1])
    best = max(left, max(tree.q_values[node, 2], tree.q_values[node, 3]))
    return best if best > -np.inf else 0.0


@inline_once
def _is_decided(settings: MCTSSettings, tree: MCTSTree, left: int) -> bool:
    """Return whether the simulations that are left cannot change the move."""
    first, second, legal = 0, 0, 0
    for action in range(4):
        if has_move(tree, ROOT, action):
            visits = tree.visits[ROOT, action]
            first, second = max(first, visits), max(second, min(first, visits))
            legal += 1
    return legal == 1 or (settings.is_mean and first - second > left)


@inline_once
def _select_move(tree: MCTSTree, node: int, bonus: float) -> int:
    """Return the move by UCB, the lowest among equals; -1 if none is legal."""
    bonus *= tree.sqrt_log[count_visits(tree, node)]
    best, highest = -1, -np.inf
    for action in range(4):
        bound = tree.q_values[node, action] + bonus * tree.inverse_sqrt[tree.visits[node, action]]
        if bound > highest:
            best, highest = action, bound
    return best


@inline_once
def _go_down(search: TreeSearch, bonus: float) -> tuple[int, float]:
    """Make one simulation down to its end; return the length of its path and the value there."""
    rules, tree = search.rules, search.tree
    node, depth = ROOT, 0
    while True:
        action = _select_move(tree, node, bonus)
        if action < 0:  # the game is over; its value is known already
            tree.shares[max(depth - 1, 0)] = NO_SPAWN
            return depth, 0.0
        tree.path[depth, NODE], tree.path[depth, ACTION] = node, action
        tree.shares[depth], tree.placed[depth] = NO_SPAWN, 0.0
        depth += 1
        visits = tree.visits[node, action]
        if visits == 0:
            return depth, np.float64(tree.values[node, action])
        if tree.blocks[node, action] == NONE:
            add_block(rules, tree, node, action)
        after = afterstate_of(tree, node, action)
        cells, ways = places(rules, after), count_placements(rules, after)
        count = np.int64(count_cells(cells))
        tree.rng[0] = step(tree.rng[0])
        bits = mix(tree.rng[0])
        cell, number = np.int64(bounded(bits, np.uint64(count))), drawn_placement(rules, after, bits)
        if not search.settings.is_mean and visits <= ways * count:
            number, cell = (visits - 1) // count, (visits - 1) % count  # in 2048 each 2 before each 4
        board, chance, level = placement(rules, after, kth_cell(cells, np.uint64(cell)), number)
        tree.shares[depth - 1] = chance / np.float64(count)
        tree.placed[depth - 1] = np.float64(place_points(rules, level))
        slot = int(tree.blocks[node, action]) + cell * ways + number
        below = tree.slots[slot]
        if below == NONE:
            tree.slots[slot] = np.int32(tree.used[NODES])
            return depth, tree.best[_add_valued(search, board)]
        node = int(below)


@inline_once
def _back_up_mean(tree: MCTSTree, depth: int, value: float) -> None:
    """Count the visit on the path and update the means, from the end to the root."""
    for i in range(depth - 1, -1, -1):
        node, action = tree.path[i, NODE], tree.path[i, ACTION]
        value += np.float64(tree.rewards[node, action]) + tree.placed[i]
        visits = tree.visits[node, action] + 1
        if visits > 1:  # the first value is there already
            tree.q_values[node, action] += (value - tree.q_values[node, action]) / visits
        tree.visits[node, action] = visits


@inline_once
def _back_up_expectimax(tree: MCTSTree, depth: int, value: float) -> None:
    """Count the visit on the path and update the expectations, from the end to the root."""
    last, action = tree.path[depth - 1, NODE], tree.path[depth - 1, ACTION]
    change = tree.shares[depth - 1] * (tree.placed[depth - 1] + value - np.float64(tree.values[last, action]))
    for i in range(depth - 1, -1, -1):
        node, action = tree.path[i, NODE], tree.path[i, ACTION]
        tree.visits[node, action] += 1
        if change != 0:
            tree.q_values[node, action] += change
            before = tree.best[node]
            tree.best[node] = _best_return(tree, node)
            change = (tree.best[node] - before) * tree.shares[i - 1] if i > 0 else 0.0
