"""Speed of Monte Carlo tree search on one thread, and the time it takes for each board that the network values.

2-ply expectimax on the same positions is the comparison: it too takes nearly all of its time to value boards. Both
remember values from position to position. The positions are games of the 2-ply player.
"""

import functools

import numpy as np
from numpy.typing import NDArray

from launch.bench.ntuple import WARM_MOVES, trained
from launch.bench.rows import BenchRow, best_seconds
from launch.progress import COMPILING, numbered, say
from ntuple import ExpectimaxConfig, ExpectimaxPlayer, MCTSConfig, MCTSPlayer, Rules, make_rules
from ntuple.files.stored_network import filled_network
from ntuple.game.bitboard import Board, afterstate, decode, empty_cells
from ntuple.game.rollout import states_of
from ntuple.mcts.search import search_tree
from ntuple.mcts.tree import clear
from ntuple.tables.network import Network

NETWORKS = ("4x6",)
POSITIONS = 2_000
COUNTED = 200  # positions on which boards are counted
SEED = 1
PEER = "time of 2 plies, by board"
SEARCHES = {
    "N = 140": MCTSConfig(simulations=140),
    "N = 140, mean": MCTSConfig(simulations=140, c=0.005, backup="mean"),
    "N = 1,000": MCTSConfig(simulations=1000),
}


def bench(networks: tuple[str, ...] = NETWORKS, warm_moves: int = WARM_MOVES) -> list[BenchRow]:
    """Measure searches of whole trees: moves per second, and the time for each board as a multiple of that of 2 plies.

    The rows of a network are 2 plies, each search with its ratio, and the memory of its tree.
    """
    rules, rows = make_rules(4, 4), []
    for name in numbered(networks):
        stored = trained(name, warm_moves)
        network = filled_network(stored.config, stored.weights)
        plies = ExpectimaxPlayer(rules, network, ExpectimaxConfig(plies=2), threads=1)
        words = positions(rules, plies)
        boards = np.stack([decode(rules, Board(*word)) for word in words]).astype(np.uint8)
        seeds = np.zeros(len(boards), np.uint32)
        players = {"2 plies": plies}
        players |= {search: MCTSPlayer(rules, network, config, threads=1) for search, config in SEARCHES.items()}
        runs = {search: functools.partial(player.analyse, boards, seeds) for search, player in players.items()}
        say(COMPILING)
        for run in runs.values():
            run()
        seconds = best_seconds(runs)
        by_board = seconds["2 plies"] / len(words) / boards_of_two_plies(rules, words[:COUNTED])
        rows.append(BenchRow(f"{name}, 2 plies, 1 thread", len(words) / seconds["2 plies"], "moves/s"))
        for search, config in SEARCHES.items():
            valued, size = _counted(rules, network, config, words[:COUNTED])
            ratio = seconds[search] / len(words) / valued / by_board
            rows.append(
                BenchRow(f"{name}, mcts {search}, 1 thread", len(words) / seconds[search], "moves/s", {PEER: ratio})
            )
            rows.append(BenchRow(f"{name}, mcts {search}, boards of a move", valued, "boards"))
            rows.append(BenchRow(f"{name}, mcts {search}, memory of a thread", size / 1e3, "kB"))
    return rows


def positions(rules: Rules, player: ExpectimaxPlayer) -> NDArray[np.uint64]:
    """Return POSITIONS boards [B, 2] evenly from two games of a player."""
    games = player.play_each(range(2), SEED)
    words = np.concatenate([states_of(rules, game.opening, game.actions, game.spawns) for game in games])
    return np.ascontiguousarray(words[np.linspace(0, len(words) - 1, POSITIONS).astype(int)])


def boards_of_two_plies(rules: Rules, words: NDArray[np.uint64]) -> float:
    """Return the mean number of afterstates in the second layer of a search."""
    total = 0
    for word in words:
        for after in _afterstates(rules, Board(*word)):
            empty = int(empty_cells(rules, after))
            for at in range(0, 64, 4):
                if empty >> at & 1:
                    for tile in (1, 2):
                        spawned = Board(np.uint64(int(after.lo) | tile << at), after.hi)
                        total += len(_afterstates(rules, spawned))
    return total / len(words)


def _afterstates(rules: Rules, board: Board) -> list[Board]:
    moved = [Board(*(np.uint64(word) for word in afterstate(rules, board, action)[0])) for action in range(4)]
    return [after for after in moved if after != board]


def _counted(rules: Rules, network: Network, config: MCTSConfig, words: NDArray[np.uint64]) -> tuple[float, int]:
    """Return the mean number of afterstates in a tree, and the bytes of a thread's memory."""
    search, total = MCTSPlayer(rules, network, config, threads=1).new_search(SEED, 0), 0
    tree = search.tree
    for word in words:
        clear(tree)
        search_tree(search, Board(*word), False)
        total += int((tree.rewards[: tree.used[0]] >= 0).sum())
    arrays = [part for part in (*tree, *tree.lookup) if isinstance(part, np.ndarray)]
    return total / len(words), sum(array.nbytes for array in arrays)
