"""An n-tuple network as the value function of a tree search in the game itself.

The one file of this package that knows of ntuple: it takes the names of networks and the weights of a checkpoint from
there, and reads the table on the device. Numba learns and plays by 1-ply, JAX searches deeper with the same values.
"""

import functools
import operator
from dataclasses import dataclass
from pathlib import Path

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from muzero2048.game.env import Board, Game2048
from muzero2048.game.symmetry import symmetries
from muzero2048.players.player import SearchPlayer, SearchSetting
from muzero2048.search.base import Dynamics
from muzero2048.search.config import SearchConfig
from muzero2048.search.dynamics import BoardEvaluator, SimulatorDynamics
from ntuple import NTupleConfig, load_weights
from ntuple.tables.patterns import Pattern, count_levels, parse_network, table_sizes

MOST_WEIGHTS = 2**31 - 1  # positions are int32: the largest named network has 2^27 weights


@dataclass(frozen=True)
class NTupleSetting(SearchSetting):
    """The game itself with the values of an n-tuple network; its parameters are the weights."""

    patterns: tuple[Pattern, ...]  # M tuples of cells

    def dynamics(self, params: Float[Array, "entries"]) -> Dynamics:
        """The simulator; the prior is softmax(q / search.value_scale) of the four moves' values."""
        value = functools.partial(afterstate_values, self.game, self.patterns, params)
        evaluator = BoardEvaluator(self.game, value, self.discount, self.search.value_scale)
        return SimulatorDynamics(self.game, evaluator)


def afterstate_values(
    game: Game2048, patterns: tuple[Pattern, ...], weights: Float[Array, "entries"], board: Board
) -> Float[Array, "*B"]:
    """V(as) = sum over M tuples m and S views v of weights[start_m + sum_i min(cell_v(m, i), R - 1) R^i], in points.

    R is 16 on 4x4 and less on smaller boards (ntuple.patterns.count_levels). S is 8 on square boards and 4 on oblong
    ones; the tables of the tuples lie one behind the other. It equals ntuple.network (find_entries, value_at) to
    float32 rounding.

    An array an entry, not one of [.., S M] with a sum over its last axis: no stacked form was reliably faster on a CPU,
    and they compile up to three times as long. The cache misses of the entries decide: 3 to 4 million boards/s of 4x6
    on two busy cores, about what one numba thread reaches there.
    """
    cells = _clamped_cells(game, board)
    views = symmetries(game.rows, game.columns).cell_from
    starts = np.cumsum([0, *table_sizes(patterns, game.rows, game.columns)]).tolist()
    levels = count_levels(game.rows, game.columns)
    tables = []
    for start, pattern in zip(starts[:-1], patterns, strict=True):
        positions = [start + _index([cells[view[cell]] for cell in pattern], levels) for view in views]
        entries = [weights.at[position].get(mode="promise_in_bounds") for position in positions]
        tables.append(functools.reduce(operator.add, entries))
    return functools.reduce(operator.add, tables)


def _clamped_cells(game: Game2048, board: Board) -> list[Int[Array, "*B"]]:
    """The cells row by row, an array each, tiles above the largest of an index taken for that."""
    largest = np.uint32(count_levels(game.rows, game.columns) - 1)
    return [
        jnp.minimum((word >> np.uint32(8 * column)) & np.uint32(0xFF), largest).astype(jnp.int32)
        for word in board
        for column in range(game.columns)
    ]


def _index(cells: list[Int[Array, "*B"]], levels: int) -> Int[Array, "*B"]:
    """Cells as the digits of a number, the lowest first."""
    return functools.reduce(operator.add, [cell * levels**i for i, cell in enumerate(cells)])


def load_player(folder: Path, config: NTupleConfig, search: SearchConfig) -> SearchPlayer:
    """The player of an n-tuple checkpoint folder that plans by tree search; it reads the weights and nothing else.

    Raises:
        ValueError: the weights are missing, damaged, of another board or network than the config's, or too many, or
            the board is smaller than 2x2, or the network has stages or tables of single views, or values no
            afterstates.
    """
    if config.stages or config.promotion != "none" or not config.symmetry or config.values != "afterstate":
        raise ValueError("tree search reads afterstate networks of one stage with symmetry: play with --search 1ply")
    game = Game2048(config.rows, config.columns)
    weights = load_weights(folder, config)
    if weights.size > MOST_WEIGHTS:
        raise ValueError(f"network {config.network!r} has {weights.size:,} weights, tree search takes {MOST_WEIGHTS:,}")
    patterns = parse_network(config.network, config.rows, config.columns)
    # Discount 1: the values of an n-tuple network are sums of the rewards to come, without one.
    return SearchPlayer(NTupleSetting(game, search, 1.0, patterns), jnp.asarray(weights))
