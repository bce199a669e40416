"""The players that can be chosen: runs and checkpoints, the networks of the package, and players without training."""

import contextlib
import functools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from launch.errors import LaunchError, UserError
from launch.evaluation.boards.notation import board_of, board_order, parse_named_board
from launch.evaluation.loading import BASELINES, UNTRAINED, LoadedPlayer, find_player, load_player
from launch.evaluation.search_options import HEURISTIC, SearchOptions
from launch.evaluation.searches import resolve
from launch.experiment import registry
from launch.experiment.checkpoints import is_checkpoint, newest_checkpoint
from launch.experiment.experiment import CONFIG_FILE, Experiment, load_experiment
from launch.experiment.metrics_file import last_value, read_last_rows
from launch.jobs.run_states import find_runs
from launch.trained import HERE, PACKAGED, packaged
from ntuple.core.games.game_2048 import GAME_2048
from ntuple.core.learner_spec import EXPECTIMAX, MCTS, ONE_PLY, TREE

ROOT_RULES = ("gumbel", "puct")
BOARDS = ("4x4", "3x4", "3x3", "2x3", "2x2")  # offered for the players without training, with the boards of the runs
SIMULATIONS, PLIES = "simulations", "plies"  # what the number of a search counts: fields of SearchOptions
COUNTED = {EXPECTIMAX: PLIES, MCTS: SIMULATIONS} | dict.fromkeys(ROOT_RULES, SIMULATIONS)
MOST = {SIMULATIONS: 10**6, PLIES: 100}  # of a request
MOST_CHECKED = 256  # choices whose options are known to be good


class NotOfferedError(UserError):
    """A player that the listing does not offer, or not on this board."""


class Choice(NamedTuple):
    """A player with its search: what a process of its own loads."""

    place: str  # folder of a run or checkpoint, or the name of a player without training
    board: str  # its name, such as "4x4" or "threes 4x4"
    options: SearchOptions

    def load(self) -> LoadedPlayer:
        """Load the player; UserError if it cannot be loaded or does not have the options."""
        return load_player(self.place, self.options, self.board if self.place in UNTRAINED else None)


def choose(path: str, board: str | None, options: SearchOptions) -> Choice:
    """Return the player that `load_player` would load, without loading it; UserError as there."""
    source = find_player(path, options, board)
    return Choice(str(source.checkpoint.folder) if source.checkpoint else path, source.board, options)


class Catalogue:
    """The players by name. A request can name these alone, so it never reaches another folder."""

    def __init__(self, names: Sequence[str], runs_folder: Path) -> None:
        """Find runs, groups and checkpoints in `runs_folder`; no names: all runs, read again at each listing.

        Raises:
            UserError: a name is of no run, or a run has no checkpoint.
        """
        self._names, self._runs_folder = names, runs_folder
        self._folders = self._find()
        for folder in self._folders.values() if names else ():
            if not _has_checkpoint(folder):
                raise UserError(f"{folder} holds no checkpoint yet; give runs that have saved one")

    def listing(self) -> dict[str, Any]:
        """Return the players and boards as the page reads them.

        The page selects the first run: of those that the user named the first one, else that with the highest score.
        """
        if not self._names:
            found = self._find().items()
            self._folders = dict(sorted(found, key=lambda named: -_last_score(named[1])))
        agents = [entry for name, folder in self._folders.items() if (entry := _describe(name, folder))]
        boards = sorted({*BOARDS, *(agent["board"] for agent in agents)}, key=board_order)
        of_2048 = [
            board for board in boards if parse_named_board(board)[0] is GAME_2048
        ]  # all that the heuristic knows
        agents.append({"id": HEURISTIC, "board": None, "boards": of_2048, "searches": [_search(EXPECTIMAX)]})
        agents += [{"id": name, "board": None, "searches": []} for name in BASELINES]
        return {"agents": agents, "boards": boards}

    def choose(self, name: str, board: str, options: SearchOptions) -> Choice:
        """Return a player of the listing, with its search.

        Raises:
            NotOfferedError: there is no such player, or it plays another board.
            UserError: it does not have the options.
        """
        if name in UNTRAINED:
            return _baseline(name, board, options)
        folder = self._folders.get(name)
        if folder is None:
            raise NotOfferedError(f"there is no player {name!r}; give one of /api/agents")
        experiment = _experiment(folder)
        if board != (own := board_of(experiment.settings)):
            raise NotOfferedError(f"{name} plays on {own}, not on {board}; choose that board")
        _check_search(folder, options)
        return Choice(str(folder), board, options)

    def _find(self) -> dict[str, Path]:
        runs = [name for name in self._names if not packaged(name)]
        folders = find_runs(runs, self._runs_folder) if runs or not self._names else []
        folders += [HERE / name for name in sorted(PACKAGED, key=lambda name: name not in self._names)]
        names = [folder.name for folder in folders]
        return {str(folder) if names.count(folder.name) > 1 else folder.name: folder for folder in folders}


def _describe(name: str, folder: Path) -> dict[str, Any] | None:
    """Return a run as the page reads it; None without a checkpoint or a good config."""
    if not _has_checkpoint(folder):
        return None
    try:
        experiment = _experiment(folder)
    except UserError:
        return None
    spec = registry.spec_of(experiment.learner)
    kinds = [kind for kind in (ONE_PLY, EXPECTIMAX, MCTS) if kind in spec.players]
    kinds += ROOT_RULES if TREE in spec.players else ()
    if spec.has_search_settings:  # the first one is chosen at first: the search of the training
        settings: Any = experiment.settings
        kinds.sort(key=lambda kind: kind != settings.search.root)
    searches = [_search(kind) for kind in kinds]
    return {"id": name, "board": board_of(experiment.settings), "learner": experiment.learner, "searches": searches}


def _last_score(folder: Path) -> float:
    """Return the mean score of the last evaluation of a run; -inf if there is none, or it cannot be read."""
    with contextlib.suppress(LaunchError):
        score = last_value(read_last_rows(folder), "eval/score_mean")
        return -math.inf if score is None else score
    return -math.inf


def _search(kind: str) -> dict[str, Any]:
    counts = COUNTED.get(kind)
    return {"name": kind, "counts": counts, "most": MOST.get(counts or "")}


def _has_checkpoint(folder: Path) -> bool:
    return is_checkpoint(folder) or newest_checkpoint(folder) is not None


def _experiment(folder: Path) -> Experiment:
    try:
        return _read_experiment(folder, (folder / CONFIG_FILE).stat().st_mtime_ns)
    except OSError as error:
        raise UserError(f"{folder}: {error.strerror}; was the run removed?") from error


@functools.lru_cache(1024)
def _read_experiment(folder: Path, written: int) -> Experiment:
    return load_experiment(folder)


@functools.lru_cache(MOST_CHECKED)
def _check_search(folder: Path, options: SearchOptions) -> None:
    resolve(_experiment(folder), options, folder)


_baseline = functools.lru_cache(MOST_CHECKED)(choose)
