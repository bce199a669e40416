"""n-tuple networks for 2048 in numba: the rules as a bitboard, TD(0), TC and OTD+TC learning, 1-ply play."""

from ntuple.advice import Advice
from ntuple.board import Rules, make_rules
from ntuple.config import NTupleConfig, available_cores
from ntuple.player import Games, GreedyPlayer, NTuplePlayer, RandomPlayer
from ntuple.stored import load_player, load_weights
from ntuple.trainer import NTupleLearner

__all__ = [
    "Advice",
    "Games",
    "GreedyPlayer",
    "NTupleConfig",
    "NTupleLearner",
    "NTuplePlayer",
    "RandomPlayer",
    "Rules",
    "available_cores",
    "load_player",
    "load_weights",
    "make_rules",
]
