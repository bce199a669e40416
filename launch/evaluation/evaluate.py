"""The evaluation of one player: play games with fixed weights, print their statistics, and save the result.

Games are played in one of two ways, which draw other random spawns:

| way | players and outputs | what a signal leaves |
|---|---|---|
| whole, by `play` | players with fast games, where no output needs the moves | nothing |
| move by move, into a game log | `plays_one_by_one`; or records, regret, `--keep` | the finished games, in the log |
"""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from launch.errors import UserError, warn
from launch.evaluation.against import AgainstOptions
from launch.evaluation.loading import Checkpoint, LoadedPlayer, PlayerSource, find_player, play_each
from launch.evaluation.parts import parse_part
from launch.evaluation.result import (
    FOLDER,
    Evaluation,
    Measure,
    OutputOptions,
    prepare_folder,
    prepare_outputs,
    report,
    report_games,
    result_names,
    write_outputs,
)
from launch.evaluation.search_options import SearchOptions
from launch.evaluation.seeds import BASELINE_SEED, check_seed, final_evaluation_seed
from launch.experiment.checkpoints import run_folder_of
from launch.experiment.experiment import MOST_GAMES
from launch.experiment.interfaces import Player
from launch.files import write_json
from launch.progress import GamesText, progress_line
from launch.signals import StopSignals
from ntuple.core.interfaces import Games
from ntuple.core.opponents import CHANCE

if TYPE_CHECKING:
    from launch.evaluation.records.game_log import LoggedGame

Played = tuple[Games, list["LoggedGame"]]  # games, and the same with their records: empty if they were played whole


class PlayerEvaluation(NamedTuple):
    """The evaluation of a player that was checked: it can be loaded with its search, and the outputs can be written."""

    source: PlayerSource
    evaluation: Evaluation
    outputs: OutputOptions
    measures: list[Measure]

    def play(self) -> dict[str, Any] | None:
        """Play the games, print the report, and save the result in the run folder of a checkpoint.

        If the run folder cannot be written, a warning is printed and the result is not saved. For other players, only
        the files that the outputs name are written. Games that are played move by move are logged as they end, so that
        the same command continues after a stop.

        Returns the result; None if a signal stopped the games and the finished games are in the log.

        Raises:
            UserError: the checkpoint does not fit its config, or a file cannot be used, or the player computed NaN.
            KeyboardInterrupt: a signal stopped games that are not logged in a file.
        """
        source, outputs, checkpoint = self.source, self.outputs, self.source.checkpoint
        loaded = source.load()
        player = loaded.player
        run_folder = _writable(run_folder_of(checkpoint.folder)) if checkpoint else None
        log_file = outputs.log
        if checkpoint and run_folder and not log_file:
            env_steps = checkpoint.state.progress["env_steps"]
            log_file = self.evaluation.log_file(run_folder, env_steps, source.setting["search"])
        is_by_moves = player.plays_one_by_one or outputs.need_moves
        played = self._play_by_moves(loaded, log_file) if is_by_moves else self._play_whole(player)
        if played is None:
            return None
        games, logged = played
        result = self._report(games) | write_outputs(outputs, source.board, self.measures, logged)
        if checkpoint and run_folder and not outputs.part:
            try:
                write_json(self.result_file(run_folder, checkpoint, player), result)
            except OSError as error:
                warn(f"the result is not kept: cannot write to {run_folder / FOLDER}: {error.strerror}")
        return result

    def result_file(self, run_folder: Path, checkpoint: Checkpoint, player: Player | None) -> Path:
        """Return the result file in the run folder; the player is needed if the outputs need moves."""
        # Games played move by move have other spawns than games played whole, so their results get another name.
        is_by_moves = self.outputs.need_moves and player is not None and not player.plays_one_by_one
        name = result_names(self.source.setting["search"])[is_by_moves]
        return self.evaluation.file(run_folder, checkpoint.state.progress["env_steps"], name)

    def _play_whole(self, player: Player) -> Played:
        """Play all games by one call of the player."""
        if part := self.outputs.part:
            raise UserError(f"--part {part} is for games that are kept as they end: add --keep")
        text = GamesText(self.evaluation.games)
        with progress_line(self.source.name, text):
            games = _interruptible(lambda: player.play(*self.evaluation, text.watch), "stopping", "no game is kept")
        if games is None:
            raise KeyboardInterrupt
        return games, []

    def _play_by_moves(self, loaded: LoadedPlayer, file: Path | None) -> Played | None:
        """Play the games that the log lacks move by move; None if a signal stopped them and the log has a file."""
        from launch.evaluation.records.game_log import (  # needs numba; MuZero's evaluation does without
            GameLog,
            play_missing,
        )

        part, (count, seed) = self.outputs.part, self.evaluation
        if part and file is None:
            raise UserError(f"--part {part} needs a file for its games: add --keep FILE")
        play_numbered = functools.partial(play_each, loaded)
        with GameLog(file, self._log_header(), parse_part(part), loaded.definition) as log:
            text = GamesText(len(log.numbers(count)))

            def play() -> Games:
                if len(log.ordered(count)) < len(log.numbers(count)):
                    self._compile(loaded)  # before the clock of the first game starts
                return play_missing(play_numbered, log, count, seed, text.watch)

            action, lost = "stopping", "no game is kept"
            if file is not None:
                action = "keeping the finished games and stopping"
                lost = f"the finished games are in {log.path}, and the same command goes on"
            with progress_line(self.source.name, text):
                games = _interruptible(play, action, lost)
            if games is None and file is None:
                raise KeyboardInterrupt
            if games is None:
                print(f"stopped; {lost}")
                return None
            if part:
                print(f"part {part}: the same command without --part puts the parts together")
            return games, log.ordered(count)

    def _compile(self, loaded: LoadedPlayer) -> None:
        """Compile the functions of the player, by a call with the shapes of the games."""
        from ntuple.game.rollout import LANES

        player: Any = loaded.player
        if player.plays_one_by_one:
            player.prepare()
        else:
            loaded.advise_all([loaded.empty_state] * min(self.evaluation.games, LANES))

    def _log_header(self) -> dict[str, Any]:
        source, seed = self.source, self.evaluation.seed
        if source.checkpoint is None:
            return {"player": source.path, "seed": seed} | source.setting
        _, experiment, state = source.checkpoint
        return {"board": source.board, "seed": seed, "run": experiment.run.name, **state.progress} | source.setting

    def _report(self, games: Games) -> dict[str, Any]:
        source = self.source
        if source.checkpoint and source.search:
            _, experiment, state = source.checkpoint
            return report(games, experiment, state, self.evaluation, source.search)
        setting = source.setting
        title = f"{source.path} ({setting['search']})" if setting["search"] != source.path else source.path
        return report_games(games, self.evaluation, f"{title} on {source.board}", setting)


def prepare_path(
    path: str,
    games: int,
    seed: int | None,
    options: SearchOptions,
    outputs: OutputOptions,
    board: str | None = None,
    against: AgainstOptions | None = None,
) -> PlayerEvaluation:
    """Check the evaluation of a player before games are played; path, board and errors as of `find_player`."""
    check_numbers(games, seed, outputs)
    source = find_player(path, options, board)
    return prepare(source.facing(against, options) if against else source, games, seed, outputs)


def prepare(source: PlayerSource, games: int, seed: int | None, outputs: OutputOptions) -> PlayerEvaluation:
    """Check the outputs of an evaluation with checked numbers.

    The seed None is that of the evaluation that ends the run, or BASELINE_SEED.
    """
    if outputs.keep and outputs.log is None and source.checkpoint is None:
        raise UserError(f"{source.path} has no run folder that keeps its games: give --keep FILE")
    if seed is None:
        seed = final_evaluation_seed(source.checkpoint.experiment.run.seed) if source.checkpoint else BASELINE_SEED
    opponent = source.against.opponent if source.against else CHANCE
    measures = prepare_outputs(outputs, source.game, source.rows, source.columns, opponent)
    return PlayerEvaluation(source, Evaluation(games, seed), outputs, measures)


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


def _interruptible(play: Callable[[], Games], action: str, lost: str) -> Games | None:
    """Call `play`; None if a signal stopped it. `action` and `lost` are the words of `StopSignals`."""
    try:
        with StopSignals(action, lost) as stop:
            return stop.interruptible(play)
    except ValueError as error:  # the player computed NaN
        raise UserError(str(error)) from error
