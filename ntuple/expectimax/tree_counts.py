"""Size of an expectimax tree and the share of negative leaves, by depth (Guei 2023, table 14 and fig. 41).

The whole tree is counted, as in the paper: without transposition tables, pruning or a rectified search. So this walks a
tree of its own, and the search of the players counts nothing.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ntuple.expectimax.leaves import leaf_value
from ntuple.expectimax.search import play_on
from ntuple.expectimax.search_memory import Search, make_one_ply
from ntuple.game.any_game import AnyRules, count_placements, placement, places
from ntuple.game.bitboard import Board, count_cells, is_same, kth_cell
from ntuple.game.episode import BOARD_HI, BOARD_LO, COLUMNS
from ntuple.game.jit import kernel
from ntuple.game.rollout import TRACE_COLUMNS, open_game
from ntuple.learning.config import NTupleConfig
from ntuple.players.greedy import valued_afterstate
from ntuple.players.one_by_one import load_afterstate_values
from ntuple.tables.network import Network

GAMES = 16  # least number of games from which the boards come
MOST_PLIES = 5  # 4 million nodes on average, about 30 times more for each further ply
STATES, AFTERS, NEGATIVE = range(3)  # columns of the counts of a layer


def tree_of_checkpoint(
    folder: Path, config: NTupleConfig, boards: int, depth: int, seed: int, say: Callable[[str], None]
) -> dict[str, NDArray[np.float64]]:
    """Count the trees of searches of 0 ... `depth` plies on boards of the network's own 1-ply play.

    Returns for each name of TREE_NUMBERS in launch/experiment/metrics.py the numbers by plies. `say` gets what is done
    now.

    Raises:
        ValueError: `depth` is above MOST_PLIES; see `load_afterstate_values`.
    """
    if depth > MOST_PLIES:
        raise ValueError(f"a tree of {depth} plies has too many nodes to count; give --depth {MOST_PLIES} or less")
    rules, network = load_afterstate_values(folder, config, "diagnose")
    return count_trees(rules, network, _played_boards(rules, network, boards, seed), depth, say)


def count_trees(
    rules: AnyRules, network: Network, boards: list[Board], depth: int, say: Callable[[str], None]
) -> dict[str, NDArray[np.float64]]:
    """Return the numbers of `tree_of_checkpoint` on given boards."""
    search = make_one_ply(rules, network)
    counts = np.zeros((len(boards), depth, 3), np.int64)
    for i, (board, count) in enumerate(zip(boards, counts, strict=True)):
        say(f"tree {i + 1} of {len(boards)}" if i else "compiling ...")
        count_tree(search, board, 0, count)
    nodes, negative = np.ones((len(boards), depth + 1)), np.zeros(depth + 1)
    nodes[:, 1:] += counts[:, :, AFTERS].cumsum(axis=1)
    nodes[:, 2:] += counts[:, 1:, STATES].cumsum(axis=1)
    leaves = counts.sum(axis=0)
    negative[1:] = leaves[:, NEGATIVE] / leaves[:, AFTERS]
    return {"nodes": nodes.mean(axis=0), "nodes_most": nodes.max(axis=0), "negative_leaves": negative}


@kernel
def count_tree(search: Search, board: Board, layer: int, counts: NDArray[np.int64]) -> int:
    """Count a state of a layer and all nodes below it, to the last layer of `counts` [plies, 3]; return 0."""
    rules = search.rules
    counts[layer, STATES] += 1
    for action in range(4):
        source, after, _ = valued_afterstate(rules, search.network, board, action)
        if is_same(after, source):
            continue
        counts[layer, AFTERS] += 1
        counts[layer, NEGATIVE] += leaf_value(search, after) < 0
        if layer + 1 == counts.shape[0]:
            continue
        cells = places(rules, after)
        for k in range(count_cells(cells)):
            for number in range(count_placements(rules, after)):
                below, _, _ = placement(rules, after, kth_cell(cells, np.uint64(k)), number)
                count_tree(search, below, layer + 1, counts)
    return 0


def _played_boards(rules: AnyRules, network: Network, boards: int, seed: int) -> list[Board]:
    """Return random boards with a legal move, from all parts of games of the 1-ply policy."""
    search = make_one_ply(rules, network)
    played: list[Board] = []
    row, trace, game = np.zeros(COLUMNS, np.uint64), np.zeros((1, TRACE_COLUMNS)), 0
    while game < GAMES or len(played) < boards:
        open_game(rules, seed, game, row)
        board = Board(row[BOARD_LO], row[BOARD_HI])
        while play_on(search, None, row, trace):
            played.append(board)
            board = Board(row[BOARD_LO], row[BOARD_HI])
        game += 1
    chosen = np.random.default_rng(seed).choice(len(played), boards, replace=False)
    return [played[i] for i in chosen]
