"""Error of the search on boards whose exact values are known, by simulations, chance rule, read-out and leaf values.

The search plans in the simulator, from roots late in the game; the error is Q of the action that it chooses less the
exact Q of that action, in points. Leaf values are zero, which leaves all to the search, or exact, where what remains is
what the search adds by itself: the mean over visits that only explored, and chance events not seen in proportion.
"""

import dataclasses
import functools
from typing import Any, NamedTuple, get_args, get_type_hints

import jax
import jax.numpy as jnp
import numpy as np

from launch.bench.rows import Row
from muzero2048.exact import Solution, solve, tile_sums
from muzero2048.game.env import NUM_ACTIONS, Board, Game2048
from muzero2048.search.base import Plan
from muzero2048.search.config import SearchConfig
from muzero2048.search.dynamics import SimulatorDynamics
from muzero2048.search.policies import make_root
from muzero2048.search.policy_output import read_out, root_statistics
from muzero2048.search.root_rules import ROOT_RULES
from muzero2048.search.tree_search import grow_tree

CHANCE_RULES = get_args(get_type_hints(SearchConfig)["chance"])
READ_OUTS = get_args(get_type_hints(SearchConfig)["read_out"])

Array = jax.Array


class Roots(NamedTuple):
    """Positions to search from: reachable, the game not over, and so many points at least on the tiles."""

    rows: int
    columns: int
    least_sum: int
    most: int = 128  # drawn without replacement where there are more


ROOTS = (Roots(2, 2, least_sum=44), Roots(2, 3, least_sum=180))  # of at most 60 and 252


class Tables(NamedTuple):
    """Leaf values by the number of the board."""

    states: Array
    afterstates: Array


class TableEvaluator:
    """Leaf values from tables, and a uniform policy."""

    def __init__(self, solution: Solution, tables: Tables):
        self._solution, self._tables = solution, tables

    def states(self, board: Board, legal: Array) -> tuple[Array, Array]:
        """V(s) and equal logits."""
        return self._tables.states[self._solution.number(board)], jnp.zeros(legal.shape)

    def afterstates(self, board: Board, action: Array, afterstate: Board) -> Array:
        """V(as)."""
        return self._tables.afterstates[self._solution.number(afterstate)]


def bench_accuracy(
    roots: tuple[Roots, ...] = ROOTS,
    simulations: tuple[int, ...] = (16, 64, 256, 1024, 4096),
    chance_rules: tuple[Any, ...] = CHANCE_RULES,
) -> list[Row]:
    """Root mean square error of every combination, with a Gumbel root and PUCT inside."""
    rows = []
    for at in roots:
        solution = solve(Game2048(at.rows, at.columns))
        board = late_board(solution, at)
        for chance in chance_rules:
            for n in simulations:
                config = SearchConfig(simulations=n, chance=chance)
                for (leaves, name), error in errors(solution, board, config).items():
                    setting = f"{at.rows}x{at.columns}, {leaves} leaves, {chance}, {name}, N = {n}"
                    rows.append(Row(setting, error, "points", {}))
    return rows


def late_board(solution: Solution, roots: Roots) -> Board:
    """The positions of `roots`."""
    numbers = np.flatnonzero(solution.reachable & (solution.states > 0))
    cells = np.array(solution.game.to_cells(solution.board(numbers))).reshape(len(numbers), -1).astype(int)
    late = numbers[tile_sums(cells) >= roots.least_sum]
    drawn = np.random.default_rng(0).permutation(late)[: roots.most]
    return solution.board(np.sort(drawn))


def errors(solution: Solution, board: Board, config: SearchConfig) -> dict[tuple[str, str], float]:
    """Root mean square error by (leaf values, read-out)."""
    exact = Tables(*(jnp.asarray(x, jnp.float32) for x in (solution.states, solution.afterstates)))
    truth = exact_q(solution, board)
    found = {}
    for leaves, tables in (("zero", jax.tree.map(jnp.zeros_like, exact)), ("exact", exact)):
        plans = _search(solution.game, board, tables, config)
        for name in READ_OUTS:
            plan = plans[name]
            chosen = np.arange(len(truth)), np.array(plan.action)
            error = np.array(plan.q_values)[chosen] - truth[chosen]
            found[leaves, name] = float(np.sqrt(np.mean(error**2)))
    return found


def exact_q(solution: Solution, board: Board) -> np.ndarray:
    """Exact r + V(as) of every action, float64[B, A]; -inf where it is illegal."""
    legal = np.array(solution.game.legal_actions(board))
    q_values = np.full(legal.shape, -np.inf)
    for action in range(NUM_ACTIONS):
        rows = legal[:, action]
        after, reward = solution.game.afterstate(tuple(word[rows] for word in board), action)
        q_values[rows, action] = np.array(reward) + solution.afterstates[np.array(solution.number(after))]
    return q_values


@functools.partial(jax.jit, static_argnums=(0, 3))
def _search(game: Game2048, board: Board, tables: Tables, config: SearchConfig) -> dict[str, Plan]:
    """One tree, read out in every way."""
    dynamics = SimulatorDynamics(game, TableEvaluator(solve(game), tables))
    seeds = jnp.arange(len(board[0]), dtype=jnp.uint32)
    root = make_root(dynamics, game, board, seeds, None, config)
    rule = ROOT_RULES[config.root]
    tree = grow_tree(dynamics, root, rule, config, discount=1.0)
    configs = [dataclasses.replace(config, read_out=name) for name in READ_OUTS]
    return {c.read_out: read_out(root, root_statistics(tree, c, discount=1.0), rule, c) for c in configs}
