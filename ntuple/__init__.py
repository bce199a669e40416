"""n-tuple networks for 2048 in numba: the game on bitboards, TD learning, and players with expectimax search.

A name is imported at its first use, so that reading a configuration does not load numba.

What arguments of these names are, unless a docstring says otherwise; "changed" means changed in place:

| name | meaning |
|---|---|
| rules | the game of one board size, `H` rows and `W` columns; `rows`, `columns` are H and W |
| board, after, before | a `Board`: a state before a move, an afterstate before a spawn |
| words | uint64[B, 2], `lo` and `hi` of B boards; `word` is one number; `levels` are log2 of tiles, 0 = empty |
| action, reward, value | up, right, down, left = 0..3; points of the move, -1 if illegal; r + V(as), -inf if illegal |
| code, spawns, opening | 2 * cell + (1 if the tile is a 4 else 0); after the moves; of the first two tiles |
| row, games | one game in progress, uint64[16] (ntuple.game.episode), changed; G of them |
| seed, number, start | game i draws from the random stream (seed, i); `start` is the first i |
| results, trace | a row of each finished game; of each move, filled until the trace is full or the game is over |
| network | values of afterstates, of `kind` STATES or ACTIONS where a function says so |
| scratch, lookup | memory of one thread; `game` is the index of a game, `row` that of a board, overwritten |
| learning | network, memory and learning rule of an update |
| history | the last moves of the games; `first`, `last`, `move` are numbers of moves of one game |
| config | settings of a training; of a player the settings of its search |
| folder, path | of a checkpoint; a file, replaced when it is written, named in errors when it is read |
| tensors, weights | arrays by name; float32[stages N] in the order of files |
| M, S, R, n, A | tuples, views, levels of a cell, cells of a tuple, tables of a tuple (4 for action values) |

A configuration raises ValueError for a value that it does not accept; the message names the key. A file raises
ValueError if it is missing or damaged, or does not fit the configuration. A player raises ValueError for boards that
`check_boards` refuses, and where all values of the legal moves of a board are NaN or -inf.
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
    from ntuple.players.player import load_ntuple_player as load_ntuple_player
    from ntuple.tables.cpu_placement import available_cores as available_cores

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
    "available_cores": "tables.cpu_placement",
    "load_expectimax_player": "expectimax.player",
    "load_mcts_player": "mcts.player",
    "load_ntuple_player": "players.player",
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
