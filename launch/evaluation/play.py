"""The games of an evaluation, played in one of two ways.

| way | players and outputs | what a signal leaves |
|---|---|---|
| whole, by `play` | players with fast games, where no output needs the moves | nothing |
| move by move, into a game log | `plays_one_by_one`; or records, regret, `--keep` | the finished games, in the log |

Games that are played move by move have other random spawns than games that are played whole.
"""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from launch.errors import UserError
from launch.evaluation.loading import play_each
from launch.evaluation.parts import parse_part
from launch.evaluation.result import Evaluation, OutputOptions
from launch.signals import StopSignals
from ntuple.core.interfaces import Games

if TYPE_CHECKING:
    from launch.evaluation.records.game_log import LoggedGame


class PlayRequest(NamedTuple):
    """The games to play, and the file in which finished games are logged."""

    player: Any  # a Player of launch/experiment/interfaces.py
    rows: int  # H of the board
    columns: int  # W of the board
    evaluation: Evaluation
    outputs: OutputOptions  # whether the moves are needed, and which part of the games is played
    log_file: Path | None  # None: finished games are not logged in a file
    log_header: dict[str, Any]  # the evaluation that the log belongs to


class Played(NamedTuple):
    """The games of an evaluation."""

    games: Games
    logged: list["LoggedGame"]  # the same games with their records; empty if they were played whole


def play_evaluation(request: PlayRequest) -> Played | None:
    """Play the games of an evaluation; None if a signal stopped them and the finished games are in the log.

    Raises:
        UserError: a file cannot be used, or the player computed NaN.
        KeyboardInterrupt: a signal stopped games that are not logged in a file.
    """
    if request.player.plays_one_by_one or request.outputs.need_moves:
        return _play_by_moves(request)
    return _play_whole(request)


def _play_whole(request: PlayRequest) -> Played:
    """Play all games by one call of the player."""
    player, evaluation, part = request.player, request.evaluation, request.outputs.part
    if part:
        raise UserError(f"--part {part} is for games that are kept as they end: add --keep")
    games = _interruptible(lambda: player.play(evaluation.games, evaluation.seed), "stopping", "no game is kept")
    if games is None:
        raise KeyboardInterrupt
    return Played(games, [])


def _play_by_moves(request: PlayRequest) -> Played | None:
    """Play the games that the log lacks move by move; None if a signal stopped them and the log has a file."""
    from launch.evaluation.records.game_log import (  # needs numba; MuZero's evaluation does without
        GameLog,
        play_missing,
    )

    part, file, evaluation = request.outputs.part, request.log_file, request.evaluation
    if part and file is None:
        raise UserError(f"--part {part} needs a file for its games: add --keep FILE")
    play_numbered = functools.partial(play_each, request.player, request.rows, request.columns)
    with GameLog(file, request.log_header, parse_part(part)) as log:

        def play() -> Games:
            if len(log.ordered(evaluation.games)) < len(log.numbers(evaluation.games)):
                _compile(request)  # before the clock of the first game starts
            return play_missing(play_numbered, log, evaluation.games, evaluation.seed)

        if file is None:
            action, lost = "stopping", "no game is kept"
        else:
            action = "keeping the finished games and stopping"
            lost = f"the finished games are in {log.path}, and the same command goes on"
        games = _interruptible(play, action, lost)
        if games is None and file is None:
            raise KeyboardInterrupt
        if games is None:
            print(f"stopped; {lost}")
            return None
        if part:
            print(f"part {part}: the same command without --part puts the parts together")
        return Played(games, log.ordered(evaluation.games))


def _compile(request: PlayRequest) -> None:
    """Compile the functions of the player, by a call with the shapes of the games."""
    from ntuple.game.rollout import LANES

    player = request.player
    if player.plays_one_by_one:
        player.prepare()
    else:
        lanes = min(request.evaluation.games, LANES)
        player.analyse(np.zeros((lanes, request.rows, request.columns), np.uint8), np.zeros(lanes, np.uint32))


def _interruptible(play: Callable[[], Games], action: str, lost: str) -> Games | None:
    """Call `play`; None if a signal stopped it. `action` and `lost` are the words of `StopSignals`."""
    try:
        with StopSignals(action, lost) as stop:
            return stop.interruptible(play)
    except ValueError as error:  # the player computed NaN
        raise UserError(str(error)) from error
