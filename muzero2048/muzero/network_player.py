"""The players of a MuZero model: tree search and expectimax in its learned dynamics, or in the simulator.

Only the parameters of a checkpoint are read; a ValueError says if they are damaged or belong to another network.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from flax import nnx

from muzero2048.models.base import Model
from muzero2048.models.make import make_model
from muzero2048.muzero.config import MuZeroConfig
from muzero2048.players.expectimax_player import make_expectimax_player
from muzero2048.players.search_player import Params, SearchPlayer, SearchSetting
from muzero2048.search.base import Dynamics
from muzero2048.search.config import NetworkExpectimaxConfig, SearchConfig
from muzero2048.search.dynamics import make_dynamics
from muzero2048.training.array_files import load_network


@dataclass(frozen=True)
class NetworkSetting(SearchSetting):
    """Search with a MuZero model; its parameters are those of the model."""

    graphdef: nnx.GraphDef[Any]

    def dynamics(self, params: Params) -> Dynamics:
        """Return the learned model or the simulator, according to `search.model`."""
        return make_dynamics(self.model(params), self.game, self.search)

    def model(self, params: Params) -> Model:
        """Return the model with these parameters."""
        return nnx.merge(self.graphdef, params)


def make_player(config: MuZeroConfig, graphdef: nnx.GraphDef[Any], params: Params) -> SearchPlayer:
    """Return the player of a model, with the search of its config."""
    return SearchPlayer(network_setting(config, graphdef), params)


def network_setting(config: MuZeroConfig, graphdef: nnx.GraphDef[Any]) -> NetworkSetting:
    """Return how a model plays with the search of its config."""
    return NetworkSetting(config.board_game, config.discount, config.search, graphdef)


def load_model(folder: Path, config: MuZeroConfig) -> tuple[nnx.GraphDef[Any], Params]:
    """Load structure and parameters of the model of a checkpoint; raises the ValueError of `load_network`."""
    return load_network(folder, lambda: make_model(config, seed=0))


def load_muzero_player(folder: Path, config: MuZeroConfig, search: SearchConfig | None = None) -> SearchPlayer:
    """Load the player of a checkpoint."""
    graphdef, params = load_model(folder, config)
    if search is not None:
        config = replace(config, search=search)
    return make_player(config, graphdef, params)


def load_muzero_expectimax(folder: Path, config: MuZeroConfig, search: NetworkExpectimaxConfig) -> SearchPlayer:
    """Load the player of a checkpoint that plays by expectimax."""
    graphdef, params = load_model(folder, config)
    return make_expectimax_player(network_setting(config, graphdef), params, search)
