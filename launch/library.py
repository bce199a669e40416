"""The front door for Python programs: `import muzero2048` finds the functions below (docs/library.md has examples).

A mistake of the caller raises `UserError`, with one line that says what is wrong and how to correct it; an argument of
a wrong type raises TypeError, an array of a wrong shape or type ValueError. Nothing here loads JAX or numba before a
player, a network or a solution needs it.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from launch.arguments import checked, shown
from launch.errors import UserError
from launch.experiment import metrics_file
from launch.trained import DEFAULT

if TYPE_CHECKING:
    from launch.evaluation.loading import LoadedPlayer
    from launch.experiment.metrics import Row
    from muzero2048.muzero.trained_network import TrainedNetwork


@checked
def load(
    path: str | Path = DEFAULT,
    search: str | None = None,
    *,
    simulations: int | None = None,
    plies: int | None = None,
    model: str | None = None,
    value: str | None = None,
    strength: float | None = None,
    settings: Mapping[str, Any] | None = None,
    board: str | None = None,
) -> "LoadedPlayer":
    """Load a player: what `muzero2048 evaluate PATH` plays with, by the same options (docs/evaluate.md).

    Args:
        path: a run folder (its newest good checkpoint), a checkpoint, ntuple or muzero (the networks of the package,
            launch/trained), or random, greedy or heuristic.
        search: 1ply, expectimax, mcts, gumbel or puct; None: that of the training.
        simulations: of mcts or a tree search, for each move.
        plies: depth of expectimax.
        model: what a network's search plans in, learned or simulator.
        value: what evaluates the positions of a tree search, network or ntuple.
        strength: mean score in points at which mcts plays.
        settings: other keys of the search with their values, such as {"gumbel.considered_actions": 4}.
        board: "HxW" of random, greedy and heuristic; None: 4x4.

    Returns:
        The player.

    Raises:
        UserError: there is no good checkpoint, it cannot serve the search, or a value is out of range.
    """
    from launch.evaluation.loading import load_player
    from launch.evaluation.search_options import SearchOptions

    overrides = tuple(f"search.{key}={_value_text(key, value)}" for key, value in (settings or {}).items())
    options = SearchOptions(search, simulations, model, value, overrides, plies, strength)
    return load_player(path, options, board)


def _value_text(key: str, value: Any) -> str:
    """Return a value of a search's key as the command line writes it."""

    def plainer(part: Any) -> Any:
        if not hasattr(part, "__array__"):
            raise TypeError(f"settings: {key} is {shown(value)}; give numbers, True, False, text, or lists of them")
        return np.asarray(part).tolist()

    return json.dumps(value, default=plainer)


@checked
def load_network(path: str | Path) -> "TrainedNetwork":
    """Load the network of a MuZero run, for values and policies of boards and for searches.

    Args:
        path: a run folder (its newest good checkpoint) or a checkpoint.

    Returns:
        The network.

    Raises:
        UserError: there is no good checkpoint, or another learner made it.
    """
    from launch.experiment.checkpoints import find_checkpoint, read_checkpoint

    checkpoint = find_checkpoint(Path(path))
    experiment, _ = read_checkpoint(checkpoint)
    if experiment.learner != "muzero":
        raise UserError(f"{path} was trained by {experiment.learner}; load its values with load(...).advise(...)")
    from muzero2048.muzero.config import MuZeroConfig
    from muzero2048.muzero.trained_network import load_trained_network

    assert isinstance(experiment.settings, MuZeroConfig)
    try:
        return load_trained_network(checkpoint, experiment.settings)
    except ValueError as error:
        raise UserError(f"{checkpoint}: {error}") from error


@checked
def read_metrics(run: str | Path) -> "list[Row]":
    """Return the rows of a run's metrics.jsonl in order; launch/experiment/metrics.py has names, units and meanings.

    Args:
        run: the run's folder.

    Returns:
        For each report and evaluation of the training a mapping from name to number.

    Raises:
        UserError: there is no such file, or a line of it is no row.
    """
    folder = Path(run)
    if not (folder / metrics_file.METRICS_FILE).is_file():
        raise UserError(f"there is no {folder / metrics_file.METRICS_FILE}; give the folder of a run")
    return metrics_file.read_metrics(folder)
