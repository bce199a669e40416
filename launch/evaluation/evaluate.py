"""The evaluation, the same for every learner: play games with fixed weights, print and keep what came out."""

import json
import tempfile
from dataclasses import replace
from datetime import UTC, datetime
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from launch.config.experiment import MOST_GAMES, SEEDS, Experiment
from launch.errors import UserError, warn
from launch.evaluation.search_options import Options, Search, expectimax, resolve
from launch.evaluation.seeds import BASELINE_SEED, final_evaluation_seed
from launch.evaluation.summary import Summary, statistics_block, summarize, summary_line
from launch.files import write_json, write_text
from launch.learners import registry
from launch.run import checkpoints
from launch.run.checkpoints import State
from launch.run.environment import command_line, machine, project_version
from launch.run.signals import STOPPED, StopSignals
from ntuple.game.interfaces import Games
from ntuple.learner_spec import EXPECTIMAX

if TYPE_CHECKING:
    from launch.evaluation.game_log import KeptGame
    from ntuple.exact.solution import Solution

FOLDER = "evaluations"

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

    records: Path | None = None  # a new file for the records of all games
    solution: Path | None = None  # of the board, for the regret of the moves
    keep: Path | None = None  # the file in which games are kept as they end, if it is not to be the run's own
    part: str = ""  # such as 2/4: every fourth game, beginning with the second, for one of four processes
    as_json: bool = False

    @property
    def need_moves(self) -> bool:
        """Whether games are to be played move by move, whoever plays."""
        return bool(self.records or self.solution or self.keep)


class Played(NamedTuple):
    """The games of an evaluation."""

    games: Games
    kept: list["KeptGame"]  # the same with their records; empty if they were played the fast way


def evaluate_path(path: Path, games: int, seed: int | None, options: Options, wishes: Wishes) -> int:
    """Evaluate a checkpoint or the newest one of a run; print the result and keep it in the run's folder.

    A folder that cannot be written costs a warning, not the result. Of a checkpoint that was copied out of its
    run nothing is kept, unless the wishes name a file. Games of expectimax, and all of which records or regret are
    wished, are kept as they end, so the same command goes on where it was stopped.

    Args:
        path: a run folder or a checkpoint.
        games: how many to play.
        seed: of the games; None: that of the evaluation that ends the run.
        options: of the search.
        wishes: optional outputs.

    Returns:
        The exit code: 0 done, 75 stopped by a signal with games kept.

    Raises:
        UserError: no good checkpoint, or one that cannot serve the search of the options; files that cannot be used.
    """
    _check(games, seed, wishes)
    checkpoint = checkpoints.find_checkpoint(path)
    experiment, state = checkpoints.read_checkpoint(checkpoint)
    evaluation = Evaluation(games, final_evaluation_seed(experiment.run.seed) if seed is None else seed)
    search = resolve(experiment, options, checkpoint)
    settings = experiment.settings
    solution = _prepare(wishes, settings.rows, settings.columns)
    player = registry.load_player(experiment.learner, checkpoint, settings, search.player, search.config)
    run_folder = _writable(checkpoints.run_folder_of(checkpoint))
    board = f"{settings.rows}x{settings.columns}"
    heading = {"board": board, "seed": evaluation.seed, "run": experiment.run.name, **state.progress, **search.record()}
    # The spawns of games that are played move by move are other draws: their results have a name of their own.
    name = search.name if not wishes.need_moves or player.plays_one_by_one else f"{search.name}-by_moves"
    env_steps = state.progress["env_steps"]
    own_file = run_folder and run_folder / FOLDER / f"{env_steps}-{name}-seed{evaluation.seed}.games.jsonl"
    played = _play(player, settings.rows, settings.columns, evaluation, wishes, wishes.keep or own_file, heading)
    if played is None:
        return STOPPED
    _, record = report(played.games, experiment, state, evaluation, search)
    record |= _finish(wishes, board, solution, played)
    if run_folder is not None and not wishes.part:
        try:
            keep(record, evaluation.file(run_folder, env_steps, name))
        except OSError as error:
            warn(f"the result is not kept: cannot write to {run_folder / FOLDER}: {error.strerror}")
    if wishes.as_json:
        print(json.dumps(record))
    return 0


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


def _prepare(wishes: Wishes, rows: int, columns: int) -> "Solution | None":
    """Refuse what cannot be wished before time is spent; the solution of the board, if one is named."""
    file = wishes.records
    if file is not None and (not file.name or file.exists()):
        raise UserError(f"{file} is there already: name another --records, or remove it")
    if file is not None and not file.absolute().parent.is_dir():
        raise UserError(f"there is no folder {file.absolute().parent} to write {file.name} into")
    if wishes.keep is not None and not wishes.keep.name:
        raise UserError(f"--keep is {wishes.keep}; give a file")
    return (
        import_module("launch.evaluation.regret").load_solution(wishes.solution, rows, columns)
        if wishes.solution
        else None
    )


def _play(
    player: Any,
    rows: int,
    columns: int,
    evaluation: Evaluation,
    wishes: Wishes,
    file: Path | None,
    heading: dict[str, Any],
) -> Played | None:
    """Play the games of an evaluation, kept in the file if they are played move by move.

    Args:
        player: see launch/learners/interfaces.py.
        rows: of the board.
        columns: of the board.
        evaluation: which games are played.
        wishes: whether their moves are needed, and which part of them is played here.
        file: for the games; None: they are not kept.
        heading: of the file.

    Returns:
        The games; None if a signal stopped them and the finished ones are kept.

    Raises:
        UserError: files that cannot be used, values of the player that are no numbers.
        KeyboardInterrupt: a signal stopped games that are not kept.
    """
    if player.plays_one_by_one or wishes.need_moves:
        return _play_kept(player, rows, columns, evaluation, wishes, file, heading)
    if wishes.part:
        raise UserError(f"--part {wishes.part} is for games that are kept as they end: add --keep FILE")
    try:
        with StopSignals("stopping", "no game is kept") as stop:
            games = stop.interruptible(lambda: player.play(evaluation.games, evaluation.seed))
    except ValueError as error:  # values that are no numbers
        raise UserError(str(error)) from error
    if games is None:
        raise KeyboardInterrupt
    return Played(games, [])


def _play_kept(
    player: Any,
    rows: int,
    columns: int,
    evaluation: Evaluation,
    wishes: Wishes,
    file: Path | None,
    heading: dict[str, Any],
) -> Played | None:
    """Play an evaluation move by move; see `_play`."""
    if wishes.part and file is None:
        raise UserError(f"--part {wishes.part} needs a file for its games: add --keep FILE")
    # These need numba, which MuZero's evaluation does without.
    game_log, rollout = import_module("launch.evaluation.game_log"), import_module("ntuple.game.rollout")
    rules = import_module("ntuple").make_rules(rows, columns)

    def play_by_analysis(numbers: Any, seed: int) -> Any:
        return rollout.play_by_analysis(rules, lambda *asked: player.analyse(*asked).action, numbers, seed)

    def compile_player() -> None:
        if player.plays_one_by_one:
            player.prepare()
        else:
            lanes = min(evaluation.games, rollout.LANES)
            player.analyse(np.zeros((lanes, rows, columns), np.uint8), np.zeros(lanes, np.uint32))

    with game_log.KeptGames(file, heading, game_log.Part(*parse_part(wishes.part))) as kept:

        def play() -> Games:
            compile_player()  # before a clock runs
            play_each = player.play_each if player.plays_one_by_one else play_by_analysis
            return game_log.play_kept(play_each, kept, evaluation.games, evaluation.seed)

        is_kept = file is not None
        says = "keeping the finished games and stopping" if is_kept else "stopping"
        lost = f"the finished games are in {kept.path}, and the same command goes on" if is_kept else "no game is kept"
        try:
            with StopSignals(says, lost) as stop:
                games = stop.interruptible(play)
        except ValueError as error:  # values that are no numbers
            raise UserError(str(error)) from error
        if games is None and not is_kept:
            raise KeyboardInterrupt
        if games is None:
            print(f"stopped; {lost}")
            return None
        if wishes.part:
            print(f"part {wishes.part}: the same command without --part puts the parts together")
        return Played(games, kept.ordered(evaluation.games))


def _finish(wishes: Wishes, board: str, solution: "Solution | None", played: Played) -> dict[str, Any]:
    """Write the records and print the regret that are wished for; what of it goes into the result."""
    if wishes.records:
        try:
            write_text(wishes.records, "\n".join([f"% board {board}", *(game.record for game in played.kept), ""]))
        except OSError as error:
            raise UserError(f"cannot write the records to {wishes.records}: {error.strerror}") from error
    if solution is None:
        return {}
    found = import_module("launch.evaluation.regret").regret_of(solution, played.kept)
    print(found.line(), flush=True)
    return found.record()


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
    # Games of training may begin elsewhere; those of an evaluation begin at normal starts.
    if start_key := registry.spec_of(experiment.learner).start_key:
        record["training_start"] = attrgetter(start_key)(settings)
    trained = f"{state.progress['env_steps']:,} moves"
    if record.get("training_start", "normal") != "normal":
        trained += f" from {record['training_start']} starts"
    heading = f"{experiment.run.name} ({experiment.learner}, {search.name}) after {trained}"
    board = f"{settings.rows}x{settings.columns}"
    summary, result = _report(games, evaluation, heading, {"board": board, **search.record()})
    return summary, record | result


def keep(record: dict[str, Any], file: Path) -> None:
    """Write the record of an evaluation into the run's folder; OSError if that is not possible."""
    file.parent.mkdir(exist_ok=True)
    write_json(file, record)


def evaluate_baseline(name: str, board: str, games: int, seed: int | None, options: Options, wishes: Wishes) -> int:
    """Evaluate the random, the greedy or the heuristic player on a board such as "4x4"; print the result.

    Args:
        name: of the player.
        board: rows x columns.
        games: how many to play.
        seed: of the games; None: BASELINE_SEED.
        options: of the search, of the heuristic player.
        wishes: optional outputs.

    Returns:
        The exit code: 0 done, 75 stopped by a signal with games kept.

    Raises:
        UserError: options that the player does not have.
    """
    _check(games, seed, wishes)
    evaluation = Evaluation(games, BASELINE_SEED if seed is None else seed)
    rows, columns = parse_board(board)
    player, search = load_baseline(name, board, options)
    solution = _prepare(wishes, rows, columns)
    setting = {"board": board, "search": name} | (search.record() if search else {})
    heading = {"player": name, "seed": evaluation.seed, **setting}
    played = _play(player, rows, columns, evaluation, wishes, wishes.keep, heading)
    if played is None:
        return STOPPED
    title = name if search is None else f"{name} ({search.name})"
    _, result = _report(played.games, evaluation, f"{title} on {board}", setting)
    result |= _finish(wishes, board, solution, played)
    if wishes.as_json:
        print(json.dumps(result))
    return 0


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


def parse_part(part: str) -> tuple[int, int]:
    """Number and count of "2/4"; of nothing 1 and 1."""
    words = (part or "1/1").split("/")
    if len(words) != 2 or not all(word.isdecimal() for word in words) or not 1 <= int(words[0]) <= int(words[1]):
        raise UserError(f"--part is {part}; give number/count, such as 2/4 for the second of four processes")
    return int(words[0]), int(words[1])


def prepare_folder(run_folder: Path) -> None:
    """Make the folder of evaluations before time is spent on playing; UserError if that is not possible."""
    try:
        (run_folder / FOLDER).mkdir(exist_ok=True)
        with tempfile.TemporaryFile(dir=run_folder / FOLDER):
            pass
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
        "machine": machine(),
        "command": command_line(),
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    return summary, result


def _check(games: int, seed: int | None, wishes: Wishes) -> None:
    least = 2 * parse_part(wishes.part)[1]
    if games < least:
        raise UserError(f"--games is {games}; give {least} or more, since one game has no interval")
    if games > MOST_GAMES:
        raise UserError(f"--games is {games}; give {MOST_GAMES} or less")
    if seed is not None and not 0 <= seed < SEEDS:
        raise UserError(f"--seed is {seed}; give 0 to {SEEDS - 1}")
