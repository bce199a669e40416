"""Players that use the value network: the best of the four moves; tree search or expectimax in the simulator.

Only the parameters of a checkpoint are read; a ValueError says if they are damaged or belong to another network.
"""

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, UInt32

from muzero2048.deep_td.config import DeepTDConfig
from muzero2048.deep_td.network import afterstate_values, make_network, q_values
from muzero2048.game.env import Board
from muzero2048.players.analysis import Judge, JudgedBoards
from muzero2048.players.expectimax_player import make_expectimax_player
from muzero2048.players.search_player import Params, PlayerSetting, SearchPlayer, SearchSetting
from muzero2048.search.base import Dynamics
from muzero2048.search.config import NetworkExpectimaxConfig, SearchConfig
from muzero2048.search.dynamics import BoardEvaluator, SimulatorDynamics
from muzero2048.training.array_files import load_network


@dataclass(frozen=True)
class OnePlySetting(PlayerSetting):
    """Play argmax_a Q(s, a), a search of one ply."""

    effort_unit = "ply"
    graphdef: nnx.GraphDef[Any]

    def judge(self, params: Params) -> Judge:
        """Return the judge that chooses the best of the four moves; its values are Q."""
        network = nnx.merge(self.graphdef, params)

        def judge(board: Board, _: UInt32[Array, "B"]) -> JudgedBoards:
            q = q_values(network, self.game, board, self.discount)
            return JudgedBoards(jnp.argmax(q, axis=-1), q, jnp.ones(q.shape, jnp.int32))

        return judge


@dataclass(frozen=True)
class AfterstateSearch(SearchSetting):
    """Tree search in the simulator, with the values of td_afterstate at the leaves."""

    graphdef: nnx.GraphDef[Any]

    def dynamics(self, params: Params) -> Dynamics:
        """Return the simulator; the prior of a state is softmax(q / search.value_scale) over its four moves."""
        value = functools.partial(afterstate_values, nnx.merge(self.graphdef, params), self.game)
        evaluator = BoardEvaluator(self.game, value, self.discount, self.search.value_scale)
        return SimulatorDynamics(self.game, evaluator)


def make_player(config: DeepTDConfig, graphdef: nnx.GraphDef[Any], params: Params) -> SearchPlayer:
    """Return the player that chooses the best of the four moves."""
    return SearchPlayer(OnePlySetting(config.board_game, config.discount, graphdef), params)


def load_one_ply_player(folder: Path, config: DeepTDConfig) -> SearchPlayer:
    """Load the player of a checkpoint that chooses the best of the four moves."""
    return make_player(config, *load_network(folder, lambda: make_network(config, seed=0)))


def load_value_search(folder: Path, config: DeepTDConfig, search: SearchConfig) -> SearchPlayer:
    """Load the player of a checkpoint that plays by tree search; ValueError if the method has no afterstate values."""
    return SearchPlayer(*_load_search(folder, config, search))


def load_value_expectimax(folder: Path, config: DeepTDConfig, search: NetworkExpectimaxConfig) -> SearchPlayer:
    """Load the player of a checkpoint that plays by expectimax."""
    return make_expectimax_player(*_load_search(folder, config, SearchConfig()), search)


def _load_search(folder: Path, config: DeepTDConfig, search: SearchConfig) -> tuple[AfterstateSearch, Params]:
    if config.method != "td_afterstate":
        raise ValueError(f"a search needs values of afterstates, {config.method} has none; give --search 1ply")
    graphdef, params = load_network(folder, lambda: make_network(config, seed=0))
    return AfterstateSearch(config.board_game, config.discount, search, graphdef), params
