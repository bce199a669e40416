"""The tree of a search: states and their moves, in arrays of a fixed size.

Node i is a state, its four moves are columns of row i. The states after a move, one for each spawn, are a block of
`slots` in the order of the cells, each with all ways to place a tile there, in 2048 a 2 and then a 4. A block is made
when a simulation first goes past the afterstate.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntuple.expectimax.search_memory import NO_BOARD
from ntuple.game.any_game import AnyRules, afterstate, count_placements, most_events, places
from ntuple.game.bitboard import Board, count_cells, is_same
from ntuple.game.episode import Row, board_of, last_afterstate
from ntuple.game.jit import inline, inline_once, kernel
from ntuple.tables.entries import Lookup, make_lookup
from ntuple.tables.network import Network

ROOT = 0
LEAF_BITS = 12  # 48 KB, which stay in the second-level cache; with 2^14 a search takes a seventh longer
NONE = -1  # in `blocks` and `slots`: not made yet
NODES, SLOTS = range(2)  # of MCTSTree.used


class MCTSTree(NamedTuple):
    """The tree of one thread, for up to N simulations; made by `make_tree`."""

    boards: NDArray[np.uint64]  # [N, 2] words of the states
    afters: NDArray[np.uint64]  # [N, 4, 2] words of the afterstates, turned (valued_afterstate) until the block is made
    rewards: NDArray[np.float32]  # [N, 4] points of the moves; ILLEGAL if a move is not legal
    values: NDArray[np.float32]  # [N, 4] V(as) of the network
    visits: NDArray[np.int32]  # [N, 4] N(s, a)
    q_values: NDArray[np.float64]  # [N, 4] Q(s, a) in points; -inf if a move is not legal
    best: NDArray[np.float64]  # [N] max_a Q(s, a); 0 if the game is over
    blocks: NDArray[np.int32]  # [N, 4] first slot of the states after a move, or NONE
    slots: NDArray[np.int32]  # [E N] nodes, or NONE; an afterstate has up to E spawns, in 2048 30
    used: NDArray[np.int64]  # [2] number of nodes and slots in use
    path: NDArray[np.int32]  # [N, 2] node and action of each step of a simulation
    shares: NDArray[np.float64]  # [N] probability of the spawn after each step
    placed: NDArray[np.float64]  # [N] points of this spawn
    sqrt_log: NDArray[np.float64]  # [N + 1] sqrt(ln n), 0 for n = 0
    inverse_sqrt: NDArray[np.float64]  # [N + 1] 1 / sqrt(n), 1 for n = 0
    lookup: Lookup  # 4 rows
    leaf_boards: NDArray[np.uint64]  # [2^LEAF_BITS] words of remembered afterstates, see slot_of
    leaf_values: NDArray[np.float32]  # [2^LEAF_BITS]
    rng: NDArray[np.uint64]  # [1] random stream of the search
    places: NDArray[np.int32]  # [N] see `keep`
    kept_slots: NDArray[np.int32]  # [E N] see `keep`
    endgame: NDArray[np.float64]  # [4] probabilities of the moves at the root in a table of endgames


def make_tree(rules: AnyRules, network: Network, simulations: int) -> MCTSTree:
    """Return the memory of one thread for searches of up to `simulations` simulations, in 2048 470 bytes each."""
    size, counts = simulations, np.maximum(np.arange(simulations + 1.0), 1.0)
    spawns = most_events(rules)
    return MCTSTree(
        boards=np.zeros((size, 2), np.uint64),
        afters=np.zeros((size, 4, 2), np.uint64),
        rewards=np.zeros((size, 4), np.float32),
        values=np.zeros((size, 4), np.float32),
        visits=np.zeros((size, 4), np.int32),
        q_values=np.zeros((size, 4)),
        best=np.zeros(size),
        blocks=np.zeros((size, 4), np.int32),
        slots=np.zeros(spawns * size, np.int32),
        used=np.zeros(2, np.int64),
        path=np.zeros((size, 2), np.int32),
        shares=np.zeros(size),
        placed=np.zeros(size),
        sqrt_log=np.sqrt(np.log(counts)),
        inverse_sqrt=1 / np.sqrt(counts),
        lookup=make_lookup(network, 4),
        leaf_boards=np.full(1 << LEAF_BITS, NO_BOARD, np.uint64),
        leaf_values=np.zeros(1 << LEAF_BITS, np.float32),
        rng=np.zeros(1, np.uint64),
        places=np.zeros(size, np.int32),
        kept_slots=np.zeros(spawns * size, np.int32),
        endgame=np.zeros(4),
    )


@inline_once
def has_move(tree: MCTSTree, node: int, action: int) -> bool:
    """Return whether a move of a node is legal."""
    return bool(tree.rewards[node, action] >= 0)


@inline_once
def afterstate_of(tree: MCTSTree, node: int, action: int) -> Board:
    """Return the afterstate of a move whose block is made."""
    return Board(tree.afters[node, action, 0], tree.afters[node, action, 1])


@inline_once
def state_of(tree: MCTSTree, node: int) -> Board:
    """Return the state of a node."""
    return Board(tree.boards[node, 0], tree.boards[node, 1])


@inline
def clear(tree: MCTSTree) -> None:
    """Remove all nodes."""
    tree.used[NODES] = tree.used[SLOTS] = 0


@inline_once
def add_state(tree: MCTSTree, board: Board) -> int:
    """Add a state, without its moves, and return its node."""
    node = tree.used[NODES]
    tree.used[NODES] = node + 1
    tree.boards[node, 0], tree.boards[node, 1] = board.lo, board.hi
    return node


@inline
def add_block(rules: AnyRules, tree: MCTSTree, node: int, action: int) -> None:
    """Make the block of a move: its afterstate, and an empty slot for each spawn."""
    after, _ = afterstate(rules, state_of(tree, node), action)
    tree.afters[node, action, 0], tree.afters[node, action, 1] = after.lo, after.hi
    first = tree.used[SLOTS]
    tree.blocks[node, action] = first
    tree.used[SLOTS] = first + block_size(rules, after)
    for slot in range(first, tree.used[SLOTS]):
        tree.slots[slot] = NONE


@inline
def block_size(rules: AnyRules, after: Board) -> int:
    """Return the number of spawns after an afterstate."""
    return count_placements(rules, after) * int(count_cells(places(rules, after)))


@inline
def count_visits(tree: MCTSTree, node: int) -> int:
    """Return N(s), the visits of all moves of a node."""
    return tree.visits[node, 0] + tree.visits[node, 1] + tree.visits[node, 2] + tree.visits[node, 3]


@kernel
def keep(rules: AnyRules, tree: MCTSTree, row: Row) -> bool:
    """Make the board of a game the root of the tree, and keep what is below it.

    Nodes keep their order, in which a state comes before those below it. So each moves to its new row or stays.

    Args:
        tree: the tree of the board before the last move of the game.

    Returns:
        Whether the tree had the board; if not, the tree is empty now.
    """
    root = _find_root(rules, tree, row)
    if root == NONE:
        clear(tree)
        return False
    nodes, slots = 0, 0
    for node in range(root, tree.used[NODES]):
        tree.places[node] = NONE
    tree.places[root] = ROOT
    for node in range(root, tree.used[NODES]):
        if tree.places[node] == NONE:
            continue
        tree.places[node] = nodes
        _copy_node(tree, node, nodes)
        for action in range(4):
            first = tree.blocks[nodes, action]
            if not has_move(tree, nodes, action) or first == NONE:
                continue
            tree.blocks[nodes, action] = slots
            for slot in range(first, first + block_size(rules, afterstate_of(tree, nodes, action))):
                below = tree.slots[slot]
                tree.kept_slots[slots] = below
                slots += 1
                if below != NONE:
                    tree.places[below] = ROOT  # any place: it is kept
        nodes += 1
    for slot in range(slots):
        below = tree.kept_slots[slot]
        tree.slots[slot] = tree.places[below] if below != NONE else NONE
    tree.used[NODES], tree.used[SLOTS] = nodes, slots
    return True


@inline
def _find_root(rules: AnyRules, tree: MCTSTree, row: Row) -> int:
    """Return the node of the board of a game below the root, or NONE."""
    if tree.used[NODES] == 0:
        return NONE
    board, after = board_of(row), last_afterstate(row)
    for action in range(4):
        first = tree.blocks[ROOT, action]
        if not has_move(tree, ROOT, action) or first == NONE or not is_same(afterstate_of(tree, ROOT, action), after):
            continue
        for slot in range(first, first + block_size(rules, after)):
            node = tree.slots[slot]
            if node != NONE and is_same(state_of(tree, node), board):
                return node
    return NONE


@inline
def _copy_node(tree: MCTSTree, node: int, place: int) -> None:
    """Copy a node to an earlier row."""
    tree.boards[place, 0], tree.boards[place, 1] = tree.boards[node, 0], tree.boards[node, 1]
    tree.best[place] = tree.best[node]
    for action in range(4):
        tree.afters[place, action, 0] = tree.afters[node, action, 0]
        tree.afters[place, action, 1] = tree.afters[node, action, 1]
        tree.rewards[place, action] = tree.rewards[node, action]
        tree.values[place, action] = tree.values[node, action]
        tree.visits[place, action] = tree.visits[node, action]
        tree.q_values[place, action] = tree.q_values[node, action]
        tree.blocks[place, action] = tree.blocks[node, action]
