"""The game log: each finished game of an evaluation is written to a file at once.

A stopped evaluation loses no finished game and plays none of them again. The file has one JSON object a line:

    {"format": ..., board, search, seed ...}                the header: the evaluation that the games belong to
    {"number": ..., "score": ..., ..., "crc32": ...}        a game with the checksum of the rest of the line

`record` of a game is its record (launch/evaluation/records/record.py). The log is read before games are played, so the
same command continues after a stop. If a crash left an incomplete last line, this line is removed.

Several processes can share the games of an evaluation. Then each process writes the log of its part. The same command
without a part reads the logs of all parts and plays the missing games.
"""

import contextlib
import json
import os
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from launch.errors import UserError
from launch.evaluation.parts import WHOLE, Part, files_of
from launch.evaluation.records.record import record_of, write_record
from launch.files import in_json
from launch.locks import take_lock
from ntuple import Games, PlayedGame
from ntuple.core.games.definition import Game
from ntuple.core.games.game_2048 import GAME_2048
from ntuple.core.interfaces import SoFar, Watch, unwatched

FORMAT = "muzero2048 games 2"
CHECKSUM = "crc32"  # key of the checksum of a line's other entries


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

        A file with another header is refused. A part writes a file of its own, and reads the games of the other files.
        """
        self.games: dict[int, LoggedGame] = {}  # by number
        self.path = path and part.file(path)
        self._part, self._game = part, game
        self._file: BinaryIO | None = None  # the file that is written
        self._open_files: list[BinaryIO] = []
        if path is None or self.path is None:
            return
        header = in_json({"format": FORMAT, **header})
        try:
            for other in sorted(files_of(path) - {self.path}):
                self._open(other, header, is_own=False)
            self._open(self.path, header, is_own=True)
        except UserError:
            self.close()
            raise

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the files, which ends the lock."""
        for file in self._open_files:
            with contextlib.suppress(OSError):  # of the text of a failed write, whose error is told
                file.close()

    def _open(self, path: Path, header: dict[str, Any], is_own: bool) -> None:
        """Read the games of a file.

        The log of this part is locked, and cut after its last whole line. An evaluation without a part locks the files
        of all parts too; a part reads the other files without a lock.
        """
        if not is_own and not path.exists():
            return
        try:
            file = path.open("a+b")
            self._open_files.append(file)
            if is_own or self._part == WHOLE:
                take_lock(file)
            file.seek(0)
            length = self._read(file.read(), path, header)
            if is_own:
                self._file = file
                file.truncate(length)
                if length == 0:
                    self._write(header)
        except BlockingIOError as error:
            raise UserError(f"{path}: another process is playing these games; let it end") from error
        except OSError as error:
            raise UserError(f"cannot use {path}: {error.strerror}; make it writable") from error

    def _read(self, text: bytes, path: Path, header: dict[str, Any]) -> int:
        """Add the games of a file's text; return the length of its whole lines."""
        length = text.rfind(b"\n") + 1
        try:
            first, *lines = [json.loads(line) for line in text[:length].splitlines()] or [header]
            if first["format"] != FORMAT:
                raise UserError(f"{path}: saved by another version; move it away to play all its games again")
            if first != header:
                raise UserError(f"{path}: holds games of another evaluation; move it away")
            self.games |= {line["number"]: LoggedGame(**_checked(line)) for line in lines}
        except (ValueError, TypeError, KeyError) as error:
            raise UserError(f"{path}: damaged; move it away to play all its games again") from error
        return length

    @property
    def goals(self) -> tuple[int, ...]:
        """Those of the game."""
        return self._game.goals

    def add(self, played: PlayedGame, seconds: float) -> None:
        """Add a game, and write it to the disk (fsync) before returning."""
        record = record_of(played, self._game)
        moves = int(played.actions.size)
        game = LoggedGame(played.number, played.score, played.max_tile, moves, seconds, write_record(record))
        try:
            self._write(game._asdict() | {CHECKSUM: _checksum(game._asdict())})
        except OSError as error:
            raise UserError(
                f"cannot write {self.path}: {error.strerror}; the games before this one are kept"
            ) from error
        self.games[game.number] = game

    def _write(self, value: dict[str, Any]) -> None:
        if self._file:
            self._file.write(json.dumps(value).encode() + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())

    def ordered(self, count: int) -> list[LoggedGame]:
        """Return the finished games of this part among games 0..count - 1, in the order of their numbers."""
        return [self.games[number] for number in self.numbers(count) if number in self.games]

    def numbers(self, count: int) -> range:
        """Return the numbers of this part among games 0..count - 1."""
        return self._part.numbers(count)


def _checksum(line: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(line).encode())


def _checked(line: dict[str, Any]) -> dict[str, Any]:
    """Return a line without its checksum; raise ValueError if the checksum is wrong."""
    checksum = line.pop(CHECKSUM)
    if checksum != _checksum(line):
        raise ValueError("a game was changed after it was kept")
    return line


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
