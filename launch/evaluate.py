"""The evaluation, the same for every learner: play games with fixed weights, print and keep what came out."""

import json
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from launch import checkpoints, learners
from launch.checkpoints import State
from launch.config import SEEDS, Experiment
from launch.contracts import Games
from launch.environment import project_version
from launch.errors import UserError, warn
from launch.files import write_json
from launch.report import Summary, statistics_block, summarize, summary_line
from launch.searches import Options, Search, resolve

FOLDER = "evaluations"

# Far from the small seeds that training takes. The seed of the last evaluation, and of `evaluate`, is not
# the one of those during training: a figure must not come from the games that a checkpoint was chosen by.
TRAINING_EVALUATION_SEED = 1_000_003
FINAL_EVALUATION_SEED = 2_000_003

BASELINES = {"random": "RandomPlayer", "greedy": "GreedyPlayer"}  # of ntuple, for scale


class Evaluation(NamedTuple):
    """Which games are played: `games` of them, numbered from 0 under `seed`."""

    games: int
    seed: int

    def file(self, run_folder: Path, env_steps: int, search: str) -> Path:
        """Where the result is kept."""
        return run_folder / FOLDER / f"{env_steps}-{search}-{self.games}games-seed{self.seed}.json"


def evaluate_path(path: Path, evaluation: Evaluation, options: Options, as_json: bool) -> None:
    """Evaluate a checkpoint or the newest one of a run; print the result and keep it in the run's folder.

    A folder that cannot be written costs a warning, not the result. Of a checkpoint that was copied out of its
    run nothing is kept.

    Raises:
        UserError: no good checkpoint, or one that cannot serve the search of the options.
    """
    _check(evaluation)
    checkpoint = checkpoints.find_checkpoint(path)
    experiment, state = checkpoints.read_checkpoint(checkpoint)
    search = resolve(experiment, options, checkpoint)
    player = learners.load_player(experiment.learner, checkpoint, experiment.settings, search.config)
    games = player.play(evaluation.games, evaluation.seed)
    _, record = report(games, experiment, state, evaluation, search)
    run_folder = checkpoints.run_folder_of(checkpoint)
    if run_folder is not None:
        try:
            keep(record, run_folder, evaluation)
        except OSError as error:
            warn(f"the result is not kept: cannot write to {run_folder / FOLDER}: {error.strerror}")
    if as_json:
        print(json.dumps(record))


def report(
    games: Games, experiment: Experiment, state: State, evaluation: Evaluation, search: Search
) -> tuple[Summary, dict[str, Any]]:
    """Print what came out of an evaluation; return its summary and the record that `keep` takes."""
    settings = experiment.settings
    record = {
        "run": experiment.run.name,
        "group": experiment.run.group,
        "learner": experiment.learner,
        "training_seed": experiment.run.seed,
        "env_steps": state.progress["env_steps"],
        "training_games": state.progress["games"],
        "updates": state.progress["updates"],
        "wall_hours": state.wall_hours,
    }
    if hasattr(settings, "start"):  # the games of training may have started elsewhere; those played here never do
        record["training_start"] = settings.start.kind
    trained = f"{state.progress['env_steps']:,} moves"
    if record.get("training_start", "normal") != "normal":
        trained += f" from {record['training_start']} starts"
    heading = f"{experiment.run.name} ({experiment.learner}, {search.name}) after {trained}"
    board = f"{settings.rows}x{settings.columns}"
    summary, result = _report(games, evaluation, heading, {"board": board, **search.record()})
    return summary, record | result


def keep(record: dict[str, Any], run_folder: Path, evaluation: Evaluation) -> None:
    """Write the record of an evaluation into the run's folder; OSError if that is not possible."""
    file = evaluation.file(run_folder, record["env_steps"], record["search"])
    file.parent.mkdir(exist_ok=True)
    write_json(file, record)


def evaluate_baseline(name: str, board: str, evaluation: Evaluation, as_json: bool) -> None:
    """Evaluate the random or the greedy player on a board such as "4x4"; print the result."""
    _check(evaluation)
    ntuple = import_module("ntuple")  # not at the top: MuZero's evaluation does without numba
    rules = ntuple.make_rules(*parse_board(board))
    player = getattr(ntuple, BASELINES[name])(rules, threads=ntuple.available_cores())
    games = player.play(evaluation.games, evaluation.seed)
    _, result = _report(games, evaluation, f"{name} on {board}", {"board": board, "search": name})
    if as_json:
        print(json.dumps(result))


def parse_board(board: str) -> tuple[int, int]:
    """Rows and columns of "HxW", each 2 to 4."""
    sides = board.split("x")
    if len(sides) != 2 or not all(side in ("2", "3", "4") for side in sides):
        raise UserError(f"cannot read the board '{board}'; give rows x columns, each 2 to 4, e.g. 3x4")
    return int(sides[0]), int(sides[1])


def prepare_folder(run_folder: Path) -> None:
    """Make the folder of evaluations before time is spent on playing; UserError if that is not possible."""
    try:
        (run_folder / FOLDER).mkdir(exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot write to {run_folder / FOLDER}: {error.strerror}; make it writable") from error


def _report(
    games: Games, evaluation: Evaluation, heading: str, setting: dict[str, Any]
) -> tuple[Summary, dict[str, Any]]:
    summary = summarize(games)
    print(f"{heading}\n{statistics_block(games)}\n{summary_line(summary)}, seed {evaluation.seed}", flush=True)
    result = {
        **setting,
        "seed": evaluation.seed,
        **summary._asdict(),
        "reach": {str(tile): rate for tile, rate in summary.reach.items()},
        "version": project_version(),
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    return summary, result


def _check(evaluation: Evaluation) -> None:
    if evaluation.games < 2:
        raise UserError(f"--games is {evaluation.games}; give 2 or more, since one game has no interval")
    if not 0 <= evaluation.seed < SEEDS:
        raise UserError(f"--seed is {evaluation.seed}; give 0 to {SEEDS - 1}")
