"""A trained MuZero network for use from Python: values and policies of boards, and searches with any settings.

Shapes: `B` boards of `H, W` cells, `A` = 4 actions: up, right, down, left.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float32, UInt8, UInt32
from numpy.typing import NDArray

from muzero2048.models.base import Model
from muzero2048.muzero.config import MuZeroConfig
from muzero2048.muzero.network_player import NetworkSetting, load_model, network_setting
from muzero2048.players.analysis import observations_of
from muzero2048.players.search_player import Params
from muzero2048.search.base import Plan
from muzero2048.search.config import SearchConfig
from muzero2048.search.plan_move import make_root
from ntuple.core.interfaces import check_boards

Boards = NDArray[np.integer] | Sequence[Sequence[Sequence[int]]]  # int[B, H, W], levels of the tiles, 0 = empty
Draws = NDArray[np.integer] | Sequence[int] | None  # int[B], see check_boards; None: the game tells no hints


class NetworkOutput(NamedTuple):
    """What a network says of B boards, without a search."""

    value: Float32[np.ndarray, " B"]  # expected points of the rest of the game; 0 where no move is legal
    policy: Float32[np.ndarray, "B A"]  # probability of each move; 0 of illegal moves


@dataclass(frozen=True, eq=False)
class TrainedNetwork:
    """A MuZero model with fixed parameters; the first call with another B or other settings compiles."""

    config: MuZeroConfig  # of its training
    setting: NetworkSetting  # board, discount and structure of the model
    params: Params

    def evaluate(self, boards: Boards, draws: Draws = None) -> NetworkOutput:
        """Return values [B] and policies [B, 4] of boards: h, then f. Wrong boards are a ValueError."""
        return NetworkOutput(*jax.device_get(_evaluate(self.setting, self.params, self._observed(boards, draws))))

    def search(self, boards: Boards, config: SearchConfig | None = None, seed: int = 0, *, draws: Draws = None) -> Plan:
        """Plan a move on each board, without the noise of self-play.

        `config` is the search; None: that of the training. `seed` is that of the rules at chance nodes that draw, 0 <=
        seed < 2^32. Returns move [B], improved policy, Q-values and visits [B, 4], and value [B], in arrays of numpy.
        Wrong boards are a ValueError.
        """
        observations = self._observed(boards, draws)
        setting = self.setting if config is None else replace(self.setting, search=config)
        seeds = jnp.full(len(observations), seed, jnp.uint32)
        return Plan(*jax.device_get(_search(setting, self.params, observations, seeds)))

    def model(self) -> Model:
        """Return the model itself, with the functions h, f, phi, psi, g of muzero2048/models/base.py."""
        return self.setting.model(self.params)

    def _observed(self, boards: Boards, draws: Draws) -> NDArray[np.uint8]:
        cells, game = np.asarray(boards), self.setting.game
        numbers = None if draws is None else np.asarray(draws)
        seeds = np.zeros(len(cells), np.uint32)
        check_boards(game.rows, game.columns, cells, seeds, numbers, game.largest_level, game.hints)
        return observations_of(cells, numbers, game.observation_size)


def load_trained_network(folder: Path, config: MuZeroConfig) -> TrainedNetwork:
    """Load the network of a checkpoint."""
    graphdef, params = load_model(folder, config)
    return TrainedNetwork(config, network_setting(config, graphdef), params)


@functools.partial(jax.jit, static_argnums=0)
def _evaluate(setting: NetworkSetting, params: Params, observations: UInt8[Array, "B O"]) -> tuple[Array, Array]:
    board = setting.game.from_observation(observations)
    seeds = jnp.zeros(len(observations), jnp.uint32)  # nothing is drawn: the root alone is evaluated
    root = make_root(setting.dynamics(params), setting.game, board, seeds, None, setting.search)
    policy = jnp.where(root.legal, jax.nn.softmax(root.policy_logits), 0.0)
    return jnp.where(root.legal.any(axis=-1), root.value, 0.0), policy


@functools.partial(jax.jit, static_argnums=0)
def _search(
    setting: NetworkSetting, params: Params, observations: UInt8[Array, "B O"], seeds: UInt32[Array, "B"]
) -> Plan:
    return setting.search_boards(setting.dynamics(params), setting.game.from_observation(observations), seeds)[0]
