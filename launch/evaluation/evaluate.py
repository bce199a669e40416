"""The evaluation of one player: play games with fixed weights, print their statistics, and save the result."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from launch.errors import UserError, warn
from launch.evaluation.boards.notation import parse_board
from launch.evaluation.loading import load_baseline
from launch.evaluation.parts import parse_part
from launch.evaluation.play import PlayRequest, play_evaluation
from launch.evaluation.result import (
    FOLDER,
    Evaluation,
    OutputOptions,
    prepare_folder,
    prepare_outputs,
    report,
    report_games,
    result_names,
    save_result,
    write_outputs,
)
from launch.evaluation.search_options import SearchChoice, SearchOptions
from launch.evaluation.searches import resolve
from launch.evaluation.seeds import BASELINE_SEED, check_seed, final_evaluation_seed
from launch.experiment import checkpoints, registry
from launch.experiment.checkpoints import State
from launch.experiment.experiment import MOST_GAMES, Experiment

if TYPE_CHECKING:
    from ntuple.exact.solution import Solution


class CheckpointEvaluation(NamedTuple):
    """The evaluation of a checkpoint that was checked: its files are whole, and it can serve the search."""

    path: str  # the word of the user
    checkpoint: Path
    experiment: Experiment
    state: State
    evaluation: Evaluation
    search: SearchChoice
    outputs: OutputOptions
    solution: "Solution | None"

    def load_player(self) -> Any:
        """Load the player; UserError if the checkpoint does not fit its config."""
        settings, search = self.experiment.settings, self.search
        return registry.load_player(self.experiment.learner, self.checkpoint, settings, search.player, search.config)

    def result_file(self, run_folder: Path, player: Any) -> Path:
        """Return the result file in a run folder; `player` is that of `load_player`."""
        # Games played move by move have other spawns than games played whole, so their results get another name.
        name = result_names(self.search.name)[self.outputs.need_moves and not player.plays_one_by_one]
        return self.evaluation.file(run_folder, self.state.progress["env_steps"], name)

    def play(self) -> dict[str, Any] | None:
        """Play the games, print the report, and save the result in the run folder.

        If the run folder cannot be written, a warning is printed and the result is not saved. For a checkpoint outside
        a run folder, only the files that the outputs name are written. Games that are played move by move are logged as
        they end, so that the same command continues after a stop. Returns the result; None if a signal stopped the
        games and the finished games are in the log.
        """
        experiment, state, outputs, search = self.experiment, self.state, self.outputs, self.search
        player = self.load_player()
        run_folder = _writable(checkpoints.run_folder_of(self.checkpoint))
        rows, columns = experiment.settings.rows, experiment.settings.columns
        board, seed = f"{rows}x{columns}", self.evaluation.seed
        header = {"board": board, "seed": seed, "run": experiment.run.name, **state.progress, **search.record()}
        env_steps = state.progress["env_steps"]
        log_file = outputs.log or (run_folder and self.evaluation.log_file(run_folder, env_steps, search.name))
        played = play_evaluation(PlayRequest(player, rows, columns, self.evaluation, outputs, log_file, header))
        if played is None:
            return None
        _, result = report(played.games, experiment, state, self.evaluation, search)
        result |= write_outputs(outputs, board, self.solution, played.logged)
        if run_folder is not None and not outputs.part:
            try:
                save_result(result, self.result_file(run_folder, player))
            except OSError as error:
                warn(f"the result is not kept: cannot write to {run_folder / FOLDER}: {error.strerror}")
        return result


class BaselineEvaluation(NamedTuple):
    """The evaluation of a player that needs no training."""

    path: str  # its name: random, greedy or heuristic
    board: str  # "HxW"
    player: Any
    search: SearchChoice | None  # of the heuristic player
    evaluation: Evaluation
    outputs: OutputOptions
    solution: "Solution | None"

    def load_player(self) -> Any:
        """Return the player."""
        return self.player

    def play(self) -> dict[str, Any] | None:
        """Play the games and print the report; returns and raises as `CheckpointEvaluation.play`."""
        rows, columns = parse_board(self.board)
        setting = {"board": self.board, "search": self.path} | (self.search.record() if self.search else {})
        header = {"player": self.path, "seed": self.evaluation.seed, **setting}
        played = play_evaluation(
            PlayRequest(self.player, rows, columns, self.evaluation, self.outputs, self.outputs.log, header)
        )
        if played is None:
            return None
        title = self.path if self.search is None else f"{self.path} ({self.search.name})"
        _, result = report_games(played.games, self.evaluation, f"{title} on {self.board}", setting)
        return result | write_outputs(self.outputs, self.board, self.solution, played.logged)


def prepare_path(
    path: str, games: int, seed: int | None, options: SearchOptions, outputs: OutputOptions
) -> CheckpointEvaluation:
    """Check the evaluation of a checkpoint, or of a run's newest one, before games are played.

    The seed None is that of the evaluation that ends the run.

    Raises:
        UserError: there is no good checkpoint, it cannot serve the search, or a file cannot be used.
    """
    check_numbers(games, seed, outputs)
    return prepare_checkpoint(path, checkpoints.find_checkpoint(Path(path)), games, seed, options, outputs)


def prepare_checkpoint(
    path: str, checkpoint: Path, games: int, seed: int | None, options: SearchOptions, outputs: OutputOptions
) -> CheckpointEvaluation:
    """Check the evaluation of a checkpoint whose files are whole, with checked numbers; see `prepare_path`."""
    experiment, state = checkpoints.read_checkpoint(checkpoint)
    evaluation = Evaluation(games, final_evaluation_seed(experiment.run.seed) if seed is None else seed)
    search = resolve(experiment, options, checkpoint)
    solution = prepare_outputs(outputs, experiment.settings.rows, experiment.settings.columns)
    return CheckpointEvaluation(path, checkpoint, experiment, state, evaluation, search, outputs, solution)


def prepare_baseline(
    name: str, board: str, games: int, seed: int | None, options: SearchOptions, outputs: OutputOptions
) -> BaselineEvaluation:
    """Check the evaluation of a player that needs no training; the seed None is BASELINE_SEED."""
    check_numbers(games, seed, outputs)
    if outputs.keep and outputs.log is None:
        raise UserError(f"{name} has no run folder that keeps its games: give --keep FILE")
    evaluation = Evaluation(games, BASELINE_SEED if seed is None else seed)
    player, search = load_baseline(name, board, options)
    solution = prepare_outputs(outputs, *parse_board(board))
    return BaselineEvaluation(name, board, player, search, evaluation, outputs, solution)


def _writable(run_folder: Path | None) -> Path | None:
    """Return the run folder if results can be saved there; otherwise warn and return None."""
    if run_folder is None:
        return None
    try:
        prepare_folder(run_folder)
    except UserError as error:
        warn(f"the result is not kept: {error}")
        return None
    return run_folder


def check_numbers(games: int, seed: int | None, outputs: OutputOptions) -> None:
    """Refuse a number of games or a seed that is out of range; UserError has the range."""
    least = 2 * parse_part(outputs.part).of
    if games < least:
        raise UserError(f"--games is {games}; give {least} or more, since one game has no interval")
    if games > MOST_GAMES:
        raise UserError(f"--games is {games}; give {MOST_GAMES} or less")
    check_seed(seed)
