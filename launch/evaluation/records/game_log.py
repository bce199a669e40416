"""The game log: each finished game of an evaluation is written to a file at once (line_log.py).

A stopped evaluation loses no finished game and plays none of them again. The header has the board, the search, the seed
and so on; an entry is a `LoggedGame`, with the record of the game (launch/evaluation/records/record.py). The log is
read before games are played, so the same command continues after a stop.

Several processes can share the games of an evaluation. Then each process writes the log of its part. The same command
without a part reads the logs of all parts and plays the missing games.
"""

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from launch.evaluation.parts import WHOLE, Part, files_of
from launch.evaluation.records.line_log import LineLog
from launch.evaluation.records.record import record_of, write_record
from ntuple import Games, PlayedGame
from ntuple.core.games.definition import Game
from ntuple.core.games.game_2048 import GAME_2048
from ntuple.core.interfaces import SoFar, Watch, unwatched

FORMAT = "muzero2048 games 2"


class LoggedGame(NamedTuple):
    """A finished game. The field names are keys of the file."""

    number: int
    score: int
    max_tile: int
    moves: int
    seconds: float  # since the previous game finished, or since the start; the sum is the wall time of all games
    record: str  # notation of launch/evaluation/records/record.py


class GameLog(AbstractContextManager["GameLog"]):
    """The finished games of one evaluation, in memory and in a file that this process locks until `close`."""

    def __init__(self, path: Path | None, header: dict[str, Any], part: Part = WHOLE, game: Game = GAME_2048) -> None:
        """Open the log of a game and read its games; the path None keeps games in memory only.

        A file with another header is refused. A part writes a file of its own, and reads those of other parts without a
        lock; an evaluation without a part locks the files of all parts too.
        """
        self.games: dict[int, LoggedGame] = {}  # by number
        self.path = path and part.file(path)
        self._part, self._game = part, game
        self._log: LineLog | None = None  # the file that is written
        self._files = contextlib.ExitStack()
        if path is None or self.path is None:
            return
        header = {"format": FORMAT, **header}
        with contextlib.ExitStack() as files:
            others = filter(Path.exists, sorted(files_of(path) - {self.path}))
            logs = [files.enter_context(LineLog(other, header, writes=False, locks=part == WHOLE)) for other in others]
            self._log = files.enter_context(LineLog(self.path, header))
            self.games = {game.number: game for log in [*logs, self._log] for game in log.read(LoggedGame)}
            self._files = files.pop_all()  # if the log is refused, they are closed here

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the files, which ends the lock."""
        self._files.close()

    @property
    def goals(self) -> tuple[int, ...]:
        """Those of the game."""
        return self._game.goals

    def add(self, played: PlayedGame, seconds: float) -> None:
        """Add a game, and write it to the disk (fsync) before returning."""
        record = record_of(played, self._game)
        moves = int(played.actions.size)
        game = LoggedGame(played.number, played.score, played.max_tile, moves, seconds, write_record(record))
        if self._log:
            self._log.add(game._asdict())
        self.games[game.number] = game

    def ordered(self, count: int) -> list[LoggedGame]:
        """Return the finished games of this part among games 0..count - 1, in the order of their numbers."""
        return [self.games[number] for number in self.numbers(count) if number in self.games]

    def numbers(self, count: int) -> range:
        """Return the numbers of this part among games 0..count - 1."""
        return self._part.numbers(count)


def play_missing(
    play_each: Callable[[Iterable[int], int], Iterator[PlayedGame]],
    log: GameLog,
    count: int,
    seed: int,
    watch: Watch = unwatched,
) -> Games:
    """Play and log the games of the log's part that the log lacks, among games 0..count - 1.

    The function `play_each` yields the games of the given numbers and seed, each when it ends.
    """
    numbers = log.numbers(count)
    missing = [number for number in numbers if number not in log.games]
    before = len(numbers) - len(missing)
    if before:
        print(f"{before:,} of {len(numbers):,} games are there; {len(missing):,} to play", flush=True)
    began = ended = time.monotonic()

    def read() -> SoFar:
        games, elapsed = log.ordered(count), time.monotonic() - began
        done, left = len(games) - before, len(numbers) - len(games)
        return SoFar(_games(games, log.goals)._replace(seconds=elapsed), elapsed / done * left if done else None)

    watch(read)
    for played in play_each(missing, seed):
        now = time.monotonic()
        log.add(played, now - ended)
        ended = now
    return _games(log.ordered(count), log.goals)


def _games(games: list[LoggedGame], goals: tuple[int, ...]) -> Games:
    columns = np.array([(game.score, game.max_tile, game.moves) for game in games], np.int64).reshape(-1, 3)
    score, max_tile, moves = np.ascontiguousarray(columns.T)
    return Games(score, max_tile, moves, sum(game.seconds for game in games), goals=goals)
