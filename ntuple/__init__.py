"""n-tuple networks for 2048 in numba: the game on bitboards, TD learning, and players with expectimax search.

A name is imported at its first use, so that reading a configuration does not load numba.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the same names as in _MODULES: tests/test_public_names.py compares them
    from ntuple.core.interfaces import Analysis as Analysis
    from ntuple.core.interfaces import Games as Games
    from ntuple.expectimax.config import ExpectimaxConfig as ExpectimaxConfig
    from ntuple.expectimax.player import ExpectimaxPlayer as ExpectimaxPlayer
    from ntuple.expectimax.player import load_expectimax_player as load_expectimax_player
    from ntuple.expectimax.player import make_heuristic_player as make_heuristic_player
    from ntuple.files.stored_network import load_weights as load_weights
    from ntuple.game.bitboard import Rules as Rules
    from ntuple.game.bitboard import make_rules as make_rules
    from ntuple.game.rollout import PlayedGame as PlayedGame
    from ntuple.learning.config import NTupleConfig as NTupleConfig
    from ntuple.learning.learner import NTupleLearner as NTupleLearner
    from ntuple.mcts.config import MCTSConfig as MCTSConfig
    from ntuple.mcts.player import MCTSPlayer as MCTSPlayer
    from ntuple.mcts.player import load_mcts_player as load_mcts_player
    from ntuple.players.player import GreedyPlayer as GreedyPlayer
    from ntuple.players.player import NTuplePlayer as NTuplePlayer
    from ntuple.players.player import RandomPlayer as RandomPlayer
    from ntuple.players.player import load_player as load_player
    from ntuple.tables.placement import available_cores as available_cores

_MODULES = {
    "Analysis": "core.interfaces",
    "ExpectimaxConfig": "expectimax.config",
    "ExpectimaxPlayer": "expectimax.player",
    "Games": "core.interfaces",
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

__all__ = list(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
