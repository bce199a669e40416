"""Tree search in the simulator with an n-tuple network as the value function.

This is the only file of muzero2048 that imports networks of ntuple: their named patterns and the weights of a
checkpoint. The tables are read on the device. The numba learner plays by 1-ply; this player searches deeper with the
same values.
"""

import functools
import operator
from dataclasses import dataclass
from pathlib import Path

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from muzero2048.game.env import Board, BoardGame, Game2048
from muzero2048.game.symmetry import symmetries
from muzero2048.players.search_player import SearchPlayer, SearchSetting
from muzero2048.search.base import Dynamics
from muzero2048.search.config import SearchConfig
from muzero2048.search.dynamics import BoardEvaluator, SimulatorDynamics
from ntuple import NTupleConfig, load_weights
from ntuple.core.settings import list_text
from ntuple.tables.patterns import Pattern, count_levels, parse_network, table_sizes

MOST_WEIGHTS = 2**31 - 1  # positions in the table are int32; the largest named network has 2^27 weights


@dataclass(frozen=True)
class NTupleSetting(SearchSetting):
    """Search in the simulator with the values of an n-tuple network; its parameters are the weights."""

    patterns: tuple[Pattern, ...]  # M tuples of cells

    def dynamics(self, params: Float[Array, "entries"]) -> Dynamics:
        """Return the simulator; the prior of a state is softmax(q / search.value_scale) over its four moves."""
        value = functools.partial(afterstate_values, self.game, self.patterns, params)
        evaluator = BoardEvaluator(self.game, value, self.discount, self.search.value_scale)
        return SimulatorDynamics(self.game, evaluator)


def afterstate_values(
    game: BoardGame, patterns: tuple[Pattern, ...], weights: Float[Array, "entries"], board: Board
) -> Float[Array, "*B"]:
    """Compute the values of an n-tuple network, in points.

        V(as) = sum over M tuples m and S views v of weights[start_m + sum_i min(cell_v(m, i), R - 1) R^i]

    R is 16 on 4x4 boards and less on smaller ones (ntuple/tables/patterns.py, count_levels). S is 8 on square boards
    and 4 on oblong ones. The tables of the tuples lie one after another. The result equals that of
    ntuple/tables/network.py (find_entries, value_at) to float32 rounding.

    There is one array for each of the S M entries, not one stacked array with a sum over its last axis: no stacked form
    was reliably faster on a CPU, and stacked forms take up to three times as long to compile. The time is that of cache
    misses: 3 to 4 million boards/s of 4x6 on two busy cores, about the speed of one numba thread there.
    """
    views = symmetries(game.rows, game.columns).cell_from
    levels = count_levels(game.rows, game.columns)
    # Larger tiles than an index can hold are clamped.
    cells = [jnp.minimum(cell, np.uint32(levels - 1)).astype(jnp.int32) for cell in game.list_cells(board)]
    starts = np.cumsum([0, *table_sizes(patterns, levels)]).tolist()
    tables = []
    for start, pattern in zip(starts[:-1], patterns, strict=True):
        positions = [start + _index([cells[view[cell]] for cell in pattern], levels) for view in views]
        entries = [weights.at[position].get(mode="promise_in_bounds") for position in positions]
        tables.append(functools.reduce(operator.add, entries))
    return functools.reduce(operator.add, tables)


def _index(cells: list[Int[Array, "*B"]], levels: int) -> Int[Array, "*B"]:
    """Return the number whose digits are the cells, the lowest digit first."""
    return functools.reduce(operator.add, [cell * levels**i for i, cell in enumerate(cells)])


def load_value_player(folder: Path, config: NTupleConfig, search: SearchConfig) -> SearchPlayer:
    """Load the player of an n-tuple checkpoint that plays by tree search; only the weights are read.

    Raises:
        ValueError: the weights are missing, damaged, too many, or of another board or network than the config's; or
            the board is smaller than 2x2; or the network has stages, has no symmetry, or does not value afterstates.
    """
    if not config.rules_of_game.doubles:
        raise ValueError(
            f"tree search reads networks of 2048, and this one is of {config.game}: play with --search 1ply"
        )
    if config.stages or config.promotion != "none" or not config.symmetry or config.values != "afterstate":
        raise ValueError("tree search reads afterstate networks of one stage with symmetry: play with --search 1ply")
    game = Game2048(config.rows, config.columns)
    weights = load_weights(folder, config)
    if weights.size > MOST_WEIGHTS:
        raise ValueError(
            f"network {list_text(config.network)} has {weights.size:,} weights, tree search takes {MOST_WEIGHTS:,}"
        )
    patterns = parse_network(config.network, config.rows, config.columns)
    # The discount is 1: the values of an n-tuple network are undiscounted sums of future rewards.
    return SearchPlayer(NTupleSetting(game, 1.0, search, patterns), jnp.asarray(weights))
