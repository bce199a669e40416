"""The evaluation, the same for every learner: play games with fixed weights, print and keep what came out."""

import json
from dataclasses import replace
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
from launch.files import write_json, write_text
from launch.report import Summary, statistics_block, summarize, summary_line
from launch.searches import EXPECTIMAX, Options, Search, expectimax, resolve

FOLDER = "evaluations"

# Far from the small seeds that training takes. The seed of the last evaluation, and of `evaluate`, is not
# the one of those during training: a figure must not come from the games that a checkpoint was chosen by.
TRAINING_EVALUATION_SEED = 1_000_003
FINAL_EVALUATION_SEED = 2_000_003

BASELINES = {"random": "RandomPlayer", "greedy": "GreedyPlayer"}  # of ntuple, for scale
HEURISTIC = "heuristic"  # expectimax over hand-made values, which needs no training


class Evaluation(NamedTuple):
    """Which games are played: `games` of them, numbered from 0 under `seed`."""

    games: int
    seed: int

    def file(self, run_folder: Path, env_steps: int, search: str) -> Path:
        """Where the result is kept."""
        return run_folder / FOLDER / f"{env_steps}-{search}-{self.games}games-seed{self.seed}.json"


class Wishes(NamedTuple):
    """What an evaluation is to give beside the scores."""

    records: Path | None = None  # a file for the records of all games
    solution: Path | None = None  # of the board, for the regret of the moves
    as_json: bool = False


def evaluate_path(path: Path, evaluation: Evaluation, options: Options, wishes: Wishes) -> None:
    """Evaluate a checkpoint or the newest one of a run; print the result and keep it in the run's folder.

    A folder that cannot be written costs a warning, not the result. Of a checkpoint that was copied out of its
    run nothing is kept. Games of expectimax, and all of which records or regret are wished, are kept as they end, so
    the same command goes on where it was stopped.

    Raises:
        UserError: no good checkpoint, or one that cannot serve the search of the options; files that cannot be used.
    """
    _check(evaluation)
    checkpoint = checkpoints.find_checkpoint(path)
    experiment, state = checkpoints.read_checkpoint(checkpoint)
    search = resolve(experiment, options, checkpoint)
    settings = experiment.settings
    board = f"{settings.rows}x{settings.columns}"
    player = learners.load_player(experiment.learner, checkpoint, settings, search.player, search.config)
    run_folder = _writable(checkpoints.run_folder_of(checkpoint))
    trained = {"run": experiment.run.name, "updates": state.progress["updates"], "wall_hours": state.wall_hours}
    env_steps = state.progress["env_steps"]
    file = run_folder and run_folder / FOLDER / f"{env_steps}-{search.name}-seed{evaluation.seed}.games.jsonl"
    games, extra = _play(player, board, evaluation, wishes, file, trained | search.record())
    _, record = report(games, experiment, state, evaluation, search)
    record |= extra
    if run_folder is not None:
        try:
            keep(record, run_folder, evaluation)
        except OSError as error:
            warn(f"the result is not kept: cannot write to {run_folder / FOLDER}: {error.strerror}")
    if wishes.as_json:
        print(json.dumps(record))


def _writable(run_folder: Path | None) -> Path | None:
    """The run's folder if results can be kept there; a warning else."""
    if run_folder is None:
        return None
    try:
        prepare_folder(run_folder)
    except UserError as error:
        warn(f"the result is not kept: {error}")
        return None
    return run_folder


def _play(
    player: Any, board: str, evaluation: Evaluation, wishes: Wishes, file: Path | None, heading: dict[str, Any]
) -> tuple[Games, dict[str, Any]]:
    """The games of an evaluation, and what else the wishes add to its record."""
    is_long = hasattr(player, "play_each")
    if not (is_long or wishes.records or wishes.solution):
        return player.play(evaluation.games, evaluation.seed), {}
    # These need numba, which MuZero's evaluation does without.
    kept_games, stepwise = import_module("launch.kept_games"), import_module("ntuple.stepwise")
    rows, columns = parse_board(board)
    rules = import_module("ntuple").make_rules(rows, columns)
    regret = import_module("launch.regret") if wishes.solution else None
    solution = regret and regret.load_solution(wishes.solution, rows, columns)

    if is_long:
        player.prepare()

    def play_each(numbers: Any, seed: int) -> Any:
        if is_long:
            return player.play_each(numbers, seed)
        return stepwise.play_by_advice(rules, lambda *asked: player.advise(*asked).action, numbers, seed)

    kept = kept_games.KeptGames(file, {"board": board, "seed": evaluation.seed, **heading})
    games = kept_games.play_kept(play_each, kept, evaluation.games, evaluation.seed)
    played = kept.ordered(evaluation.games)
    if wishes.records:
        _write_records(wishes.records, f"% board {board}", [game.record for game in played])
    if regret is None:
        return games, {}
    found = regret.regret_of(solution, played)
    print(found.line(), flush=True)
    return games, found.record()


def _write_records(path: Path, heading: str, lines: list[str]) -> None:
    try:
        write_text(path, "\n".join([heading, *lines, ""]))
    except OSError as error:
        raise UserError(f"cannot write the records to {path}: {error.strerror}; give another file") from error


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


def evaluate_baseline(name: str, board: str, evaluation: Evaluation, options: Options, wishes: Wishes) -> None:
    """Evaluate the random, the greedy or the heuristic player on a board such as "4x4"; print the result.

    Raises:
        UserError: options that the player does not have.
    """
    _check(evaluation)
    player, search = load_baseline(name, board, options)
    games, extra = _play(player, board, evaluation, wishes, None, {})
    title = name if search is None else f"{name} ({search.name})"
    setting = {"board": board, "search": name} | (search.record() if search else {})
    _, result = _report(games, evaluation, f"{title} on {board}", setting)
    if wishes.as_json:
        print(json.dumps(result | extra))


def load_baseline(name: str, board: str, options: Options) -> tuple[Any, Search | None]:
    """A player that needs no training, and the search of the heuristic one; UserError for options it does not have."""
    ntuple = import_module("ntuple")  # not at the top: MuZero's evaluation does without numba
    rows, columns = parse_board(board)
    if name == HEURISTIC:
        if options.search not in (None, EXPECTIMAX):
            raise UserError(f"{HEURISTIC} searches by expectimax alone; leave out --search {options.search}")
        search = expectimax(replace(options, search=EXPECTIMAX), HEURISTIC)
        return ntuple.make_heuristic_player(rows, columns, search.config), search
    if options.words():
        raise UserError(f"{name} does not search; leave out {' '.join(options.words())}")
    return getattr(ntuple, BASELINES[name])(ntuple.make_rules(rows, columns), threads=ntuple.available_cores()), None


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
