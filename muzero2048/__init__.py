"""Stochastic + Gumbel MuZero and n-tuple networks for 2048; docs/library.md shows how to use them from Python.

A public name is imported at its first use: `import muzero2048` alone loads neither JAX nor numba. This is the one file
of muzero2048 that names launch, whose library.py joins the learners (docs/architecture.md).

Glossary of the whole package; docstrings do not repeat it.

    game           the rules (`Game2048`); it gives the sides of the board
    board          a batch of boards as words (game/env.py); `cells` are the same as log2 of the tiles, 0 = empty
    config         the settings of the learner, or in search/ of the search
    model, params  networks with their parameters; parameters alone
    discount       gamma, once a move; values and rewards are in points of the game
    key, bits      of random numbers: a key of JAX, or words that were drawn already
    rows           in training: how games or samples are cut among the devices; of a board: H
    share          of the planned updates of a training that are made, 0 to 1

Shapes: `B` boards or samples, `*B` any leading axes, `E` environments, `T` moves of a chunk, `K` unroll steps, `H, W`
board, `N` = H W cells (in search/: simulations), `A` = 4 actions: up, right, down, left, `C` chance codes, `S` spawn
codes (in search/: slots of a node).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the same names as in _MODULES: tests/test_public_names.py compares them
    from launch.errors import UserError as UserError
    from launch.evaluation.boards.analyse import Advice as Advice
    from launch.evaluation.boards.analyse import Move as Move
    from launch.evaluation.boards.solve import solve_board as solve_board
    from launch.evaluation.loading import LoadedPlayer as LoadedPlayer
    from launch.evaluation.records.judgement import judge_record as judge_record
    from launch.evaluation.records.record import GameRecord as GameRecord
    from launch.evaluation.records.record import parse_record as parse_record
    from launch.evaluation.records.record import write_record as write_record
    from launch.evaluation.summary import Summary as Summary
    from launch.evaluation.summary import summarize as summarize
    from launch.library import load as load
    from launch.library import load_network as load_network
    from launch.library import read_metrics as read_metrics
    from muzero2048.environments.game_env import GameEnv as GameEnv
    from muzero2048.environments.vector_env import GameVectorEnv as GameVectorEnv
    from muzero2048.game.env import Game2048 as Game2048
    from muzero2048.game.env import Transition as Transition
    from muzero2048.muzero.trained_network import NetworkOutput as NetworkOutput
    from muzero2048.muzero.trained_network import TrainedNetwork as TrainedNetwork
    from muzero2048.search.base import Plan as Plan
    from muzero2048.search.config import SearchConfig as SearchConfig
    from ntuple.core.interfaces import Games as Games
    from ntuple.exact.solution import Solution as Solution
    from ntuple.learning.config import NTupleConfig as NTupleConfig
    from ntuple.learning.learner import NTupleLearner as NTupleLearner

_MODULES = {  # module -> names
    "launch.errors": "UserError",
    "launch.evaluation.boards.analyse": "Advice Move",
    "launch.evaluation.boards.solve": "solve_board",
    "launch.evaluation.loading": "LoadedPlayer",
    "launch.evaluation.records.judgement": "judge_record",
    "launch.evaluation.records.record": "GameRecord parse_record write_record",
    "launch.evaluation.summary": "Summary summarize",
    "launch.library": "load load_network read_metrics",
    "muzero2048.environments.game_env": "GameEnv",
    "muzero2048.environments.vector_env": "GameVectorEnv",
    "muzero2048.game.env": "Game2048 Transition",
    "muzero2048.muzero.trained_network": "NetworkOutput TrainedNetwork",
    "muzero2048.search.base": "Plan",
    "muzero2048.search.config": "SearchConfig",
    "ntuple.core.interfaces": "Games",
    "ntuple.exact.solution": "Solution",
    "ntuple.learning.config": "NTupleConfig",
    "ntuple.learning.learner": "NTupleLearner",
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULE_OF[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULE_OF})
