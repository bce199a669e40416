"""n-tuple networks for 2048 in numba: the game on bitboards, TD learning, and players with expectimax search.

A name is imported at its first use, so that reading a configuration does not load numba.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ntuple.expectimax.config import ExpectimaxConfig
    from ntuple.expectimax.player import ExpectimaxPlayer, load_expectimax_player, make_heuristic_player
    from ntuple.files.stored_network import load_weights
    from ntuple.game.bitboard import Rules, make_rules
    from ntuple.game.interfaces import Analysis, Games
    from ntuple.game.rollout import PlayedGame
    from ntuple.learning.config import NTupleConfig
    from ntuple.learning.learner import NTupleLearner
    from ntuple.mcts.config import MCTSConfig
    from ntuple.mcts.player import MCTSPlayer, load_mcts_player
    from ntuple.players.player import GreedyPlayer, NTuplePlayer, RandomPlayer, load_player
    from ntuple.tables.placement import available_cores

_MODULES = {
    "Analysis": "game.interfaces",
    "ExpectimaxConfig": "expectimax.config",
    "ExpectimaxPlayer": "expectimax.player",
    "Games": "game.interfaces",
    "GreedyPlayer": "players.player",
    "MCTSConfig": "mcts.config",
    "MCTSPlayer": "mcts.player",
    "NTupleConfig": "learning.config",
    "NTupleLearner": "learning.learner",
    "NTuplePlayer": "players.player",
    "PlayedGame": "game.rollout",
    "RandomPlayer": "players.player",
    "Rules": "game.bitboard",
    "available_cores": "tables.placement",
    "load_expectimax_player": "expectimax.player",
    "load_mcts_player": "mcts.player",
    "load_player": "players.player",
    "load_weights": "files.stored_network",
    "make_heuristic_player": "expectimax.player",
    "make_rules": "game.bitboard",
}

__all__ = [
    "Analysis",
    "ExpectimaxConfig",
    "ExpectimaxPlayer",
    "Games",
    "GreedyPlayer",
    "MCTSConfig",
    "MCTSPlayer",
    "NTupleConfig",
    "NTupleLearner",
    "NTuplePlayer",
    "PlayedGame",
    "RandomPlayer",
    "Rules",
    "available_cores",
    "load_expectimax_player",
    "load_mcts_player",
    "load_player",
    "load_weights",
    "make_heuristic_player",
    "make_rules",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
