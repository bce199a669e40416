"""n-tuple networks for 2048 in numba: the rules as a bitboard, TD learning in all its forms, play by expectimax."""

from ntuple.advice import Advice
from ntuple.board import Rules, make_rules
from ntuple.config import NTupleConfig, available_cores
from ntuple.expectimax_player import ExpectimaxPlayer, load_expectimax_player, make_heuristic_player
from ntuple.player import Games, GreedyPlayer, NTuplePlayer, RandomPlayer
from ntuple.search_config import ExpectimaxConfig
from ntuple.stepwise import PlayedGame
from ntuple.stored import load_player, load_weights
from ntuple.trainer import NTupleLearner

__all__ = [
    "Advice",
    "ExpectimaxConfig",
    "ExpectimaxPlayer",
    "Games",
    "GreedyPlayer",
    "NTupleConfig",
    "NTupleLearner",
    "NTuplePlayer",
    "PlayedGame",
    "RandomPlayer",
    "Rules",
    "available_cores",
    "load_expectimax_player",
    "load_player",
    "load_weights",
    "make_heuristic_player",
    "make_rules",
]
