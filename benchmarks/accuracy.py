"""Error of both tree searches where exact values are known, by simulations, rules and leaf values: in ten minutes.

python -m benchmarks.accuracy [--json]

The search in JAX is measured with each chance rule and read-out, that of ntuple/mcts with each back-up. A search plans
in the simulator, from positions late in the game. Its error is Q of the action that it chooses less the exact Q of that
action, in points. There are two kinds of leaf values:

- zero: all that Q holds comes from the search;
- exact: the error is what the search itself adds, namely the mean over visits that only explored, and chance events
  that were not drawn in proportion to their probabilities.
"""

import dataclasses
import functools
import sys
from typing import Any, NamedTuple, get_args, get_type_hints

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.script import run_bench
from launch.bench.rows import BenchRow
from muzero2048.game.env import NUM_ACTIONS, Board, Game2048
from muzero2048.search.base import Plan
from muzero2048.search.config import SearchConfig
from muzero2048.search.dynamics import SimulatorDynamics
from muzero2048.search.plan_move import make_root
from muzero2048.search.root_rules import read_out
from muzero2048.search.tree import root_statistics
from muzero2048.search.tree_search import grow_tree
from ntuple import MCTSConfig, MCTSPlayer, NTupleConfig
from ntuple.exact.positions import LEVELS
from ntuple.exact.solution import Solution
from ntuple.exact.solver import solve
from ntuple.files.stored_network import filled_network
from ntuple.game.bitboard import U15, make_rules, word_shifts

CHANCE_RULES = get_args(get_type_hints(SearchConfig)["chance"])
BACKUPS = get_args(get_type_hints(MCTSConfig)["backup"])
EXPLORATION = 0.1  # c of ntuple/mcts; V_norm is the mean exact value of the positions
READ_OUTS = get_args(get_type_hints(SearchConfig)["read_out"])
MOST_CELLS = 6  # 2x3 has 8^6 boards
NO_TILE = LEVELS + 1

Array = jax.Array


class Roots(NamedTuple):
    """Positions to search from: reachable, the game not over, the sum of the tiles at least `least_sum`."""

    rows: int
    columns: int
    least_sum: int
    most: int = 128  # positions; where there are more, they are drawn without replacement


ROOTS = (Roots(2, 2, least_sum=44), Roots(2, 3, least_sum=180))  # the sums reach 60 and 252


class LeafValues(NamedTuple):
    """Leaf values by the number of the board."""

    states: Array  # float32[L^cells]
    afterstates: Array  # float32[L^cells]


class Exact(NamedTuple):
    """The exact values of a board in tables that a jitted search can index by `board_number`."""

    game: Game2048
    solution: Solution
    reachable: np.ndarray  # int[N] numbers of the states that play can reach, ascending
    states: np.ndarray  # float64[L^cells] V(s); 0 where play cannot come
    afterstates: np.ndarray  # float64[L^cells] V(as); 0 where play cannot come


class TableEvaluator:
    """Leaf values from tables, and a uniform policy."""

    def __init__(self, game: Game2048, tables: LeafValues):
        self._game, self._tables = game, tables

    def states(self, board: Board, legal: Array) -> tuple[Array, Array]:
        """Return V(s) and equal logits."""
        return self._tables.states[board_number(self._game, board)], jnp.zeros(legal.shape)

    def afterstates(self, board: Board, action: Array, afterstate: Board) -> Array:
        """Return V(as), float32[*B] in points."""
        return self._tables.afterstates[board_number(self._game, afterstate)]


def bench(
    roots: tuple[Roots, ...] = ROOTS,
    simulations: tuple[int, ...] = (16, 64, 256, 1024, 4096),
    chance_rules: tuple[Any, ...] = CHANCE_RULES,
) -> list[BenchRow]:
    """Measure the root mean square error of every combination, with a Gumbel root and PUCT at inner nodes.

    There is a row for each board, leaf values, chance rule and read-out or back-up, and number of simulations.
    """
    rows = []
    for at in roots:
        exact = tabulate(at.rows, at.columns)
        board = late_board(exact, at)
        for chance in chance_rules:
            for n in simulations:
                config = SearchConfig(simulations=n, chance=chance)
                for (leaves, name), error in errors(exact, board, config).items():
                    setting = f"{at.rows}x{at.columns}, {leaves} leaves, {chance}, {name}, N = {n}"
                    rows.append(BenchRow(setting, error, "points"))
        for backup in BACKUPS:
            for n in simulations:
                for leaves, error in mcts_errors(exact, board, n, backup).items():
                    setting = f"{at.rows}x{at.columns}, {leaves} leaves, mcts, {backup}, N = {n}"
                    rows.append(BenchRow(setting, error, "points"))
    return rows


def board_number(game: Game2048, board: Board) -> Array:
    """Return the index of boards in the tables, int32[*B]: the cells are its digits in base L."""
    digits = game.to_cells(board).reshape(*board[0].shape, game.num_cells).astype(jnp.int32)
    return digits @ (_base(game) ** jnp.arange(game.num_cells))


def _base(game: Game2048) -> int:
    """Return L: one more than the level of the largest tile that play can reach, 2^(cells + 1)."""
    return game.num_cells + 2


@functools.cache
def tabulate(rows: int, columns: int) -> Exact:
    """Solve a board and write its values into dense tables.

    The values of moves are q = r + V(as). Thus V(s) = max q, or 0 if no move is legal, and V(as) = q - r.

    Raises:
        ValueError: the board has more than six cells.
    """
    if rows * columns > MOST_CELLS:
        raise ValueError(f"board {rows}x{columns}: exact values are tabled for up to {MOST_CELLS} cells")
    game = Game2048(rows, columns)
    solution = Solution(rows, columns, NO_TILE, NO_TILE, solve(rows, columns))
    cells = _all_views(solution)
    board = game.from_cells(jnp.asarray(cells, jnp.uint8))
    numbers = np.array(board_number(game, board))
    q_values = _move_values(solution, cells)
    states, afterstates = np.zeros(_base(game) ** game.num_cells), np.zeros(_base(game) ** game.num_cells)
    states[numbers] = np.maximum(q_values.max(axis=1), 0)
    for action in range(NUM_ACTIONS):
        after, reward = game.afterstate(board, action)
        legal = np.isfinite(q_values[:, action])
        afterstates[np.array(board_number(game, after))[legal]] = (q_values[:, action] - np.array(reward))[legal]
    return Exact(game, solution, np.unique(numbers), states, afterstates)


def _all_views(solution: Solution) -> np.ndarray:
    """Return the cells [B, H, W] of all reachable states in all their views; a symmetric board is there repeatedly."""
    shifts = word_shifts(solution.rules)
    cells = solution.solved.states[:, np.newaxis, np.newaxis] >> shifts & U15
    views = [cells, cells[:, ::-1], cells[:, :, ::-1], cells[:, ::-1, ::-1]]
    if solution.rows == solution.columns:
        views += [view.transpose(0, 2, 1) for view in views]
    return np.concatenate(views)


def late_board(exact: Exact, roots: Roots) -> Board:
    """Return the positions of `roots` as a batch of boards."""
    going_on = exact.reachable[exact.states[exact.reachable] > 0]
    tiles = _cells(exact.game, going_on)
    sums = np.where(tiles > 0, 2**tiles, 0).sum(axis=1)
    late = going_on[sums >= roots.least_sum]
    drawn = np.sort(np.random.default_rng(0).permutation(late)[: roots.most])
    cells = _cells(exact.game, drawn).reshape(-1, exact.game.rows, exact.game.columns)
    return exact.game.from_cells(jnp.asarray(cells, jnp.uint8))


def _cells(game: Game2048, numbers: np.ndarray) -> np.ndarray:
    """Return the cells int[B, H W] of the boards of these numbers."""
    base = _base(game)
    return (numbers[:, np.newaxis] // base ** np.arange(game.num_cells)) % base


def errors(exact: Exact, board: Board, config: SearchConfig) -> dict[tuple[str, str], float]:
    """Return the root mean square error in points by (leaf values, read-out); `config.read_out` does not matter."""
    truth = exact_q(exact, board)
    known = LeafValues(*(jnp.asarray(x, jnp.float32) for x in (exact.states, exact.afterstates)))
    by_leaves = {}
    for leaves, tables in (("zero", jax.tree.map(jnp.zeros_like, known)), ("exact", known)):
        plans = _search(exact.game, board, tables, config)
        for name in READ_OUTS:
            plan = plans[name]
            chosen = np.arange(len(truth)), np.array(plan.action)
            error = np.array(plan.q_values)[chosen] - truth[chosen]
            by_leaves[leaves, name] = float(np.sqrt(np.mean(error**2)))
    return by_leaves


def mcts_errors(exact: Exact, board: Board, simulations: int, backup: Any) -> dict[str, float]:
    """Return the root mean square error in points of ntuple/mcts by leaf values: "zero" and "exact"."""
    truth, cells = exact_q(exact, board), np.array(exact.game.to_cells(board)).astype(np.uint8)
    config = MCTSConfig(simulations=simulations, c=EXPLORATION, v_norm=float(truth.max(axis=1).mean()), backup=backup)
    every_cell = "".join(f"{cell:x}" for cell in range(exact.game.num_cells))
    network = NTupleConfig(rows=exact.game.rows, columns=exact.game.columns, network=(every_cell,), symmetry=False)
    by_leaves = {}
    for leaves, values in (("zero", np.zeros_like(exact.afterstates)), ("exact", exact.afterstates)):
        filled = filled_network(network, values.astype(np.float32))
        player = MCTSPlayer(make_rules(exact.game.rows, exact.game.columns), filled, config, threads=1)
        analysis = player.analyse(cells, np.arange(len(cells), dtype=np.uint32))
        chosen = np.arange(len(truth)), analysis.action
        by_leaves[leaves] = float(np.sqrt(np.mean((analysis.value[chosen] - truth[chosen]) ** 2)))
    return by_leaves


def exact_q(exact: Exact, board: Board) -> np.ndarray:
    """Return the exact r + V(as) of every action of reachable boards, float64[B, A]; -inf where it is illegal."""
    return _move_values(exact.solution, np.array(exact.game.to_cells(board)).astype(np.uint64))


def _move_values(solution: Solution, cells: np.ndarray) -> np.ndarray:
    """Return r + V(as) of every action of the boards uint64[B, H, W]."""
    return solution.move_values((cells << word_shifts(solution.rules)).sum(axis=(1, 2), dtype=np.uint64))


@functools.partial(jax.jit, static_argnums=(0, 3))
def _search(game: Game2048, board: Board, tables: LeafValues, config: SearchConfig) -> dict[str, Plan]:
    """Grow one tree and read it out in every way."""
    dynamics = SimulatorDynamics(game, TableEvaluator(game, tables))
    seeds = jnp.arange(len(board[0]), dtype=jnp.uint32)
    root = make_root(dynamics, game, board, seeds, None, config)
    tree = grow_tree(dynamics, root, config, discount=1.0)
    configs = [dataclasses.replace(config, read_out=name) for name in READ_OUTS]
    return {c.read_out: read_out(root, root_statistics(tree, c, discount=1.0), c) for c in configs}


if __name__ == "__main__":
    sys.exit(run_bench("accuracy", "Compare searches with exact values.", bench))
