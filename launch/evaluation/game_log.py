"""Games that are kept one by one: nothing is lost when an evaluation is stopped, and none is played again.

A line of the file is one game as JSON with a checksum; `record` is the game in the notation of
launch/evaluation/records.py. A
line that a crash cut off counts as not written. The file is read before anything is played, so the same command goes on
where it stopped.
Processes that share the games of an evaluation have a file each, beside the one in which they come together.
"""

import contextlib
import fcntl
import glob
import json
import os
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from launch.errors import UserError
from launch.evaluation.records import GameRecord, write_record
from launch.evaluation.summary import summarize
from launch.run.progress import LINE_SECONDS, clock
from ntuple import Games, PlayedGame

TILES = (8192, 16384, 32768)  # whose rates progress tells
FORMAT = "muzero2048 games 2"
CHECKSUM = "crc32"  # of the rest of a line


class KeptGame(NamedTuple):
    """A finished game."""

    number: int
    score: int
    max_tile: int
    moves: int
    seconds: float  # from the end of the game before, or the start: of all games it is the wall time of playing
    record: str


class Part(NamedTuple):
    """The share of one of several processes."""

    number: int  # from 1
    of: int

    def file(self, whole: Path) -> Path:
        """Where it keeps its games."""
        return whole.with_suffix(f".part-{self.number}-of-{self.of}{whole.suffix}") if self.of > 1 else whole

    def numbers(self, count: int) -> range:
        """Those of games 0..count - 1 that it plays."""
        return range(self.number - 1, count, self.of)


WHOLE = Part(1, 1)


class KeptGames:
    """The games of one evaluation; with a path they lie in a file, too, which is this process's alone until `close`."""

    def __init__(self, path: Path | None, heading: dict[str, Any], part: Part = WHOLE) -> None:
        """Read back what the file holds.

        Args:
            path: of the file; None: nothing is written.
            heading: what the games belong to: board, search, seed; another one in the file is refused.
            part: which of the games are played here, in a file of their own; those in the other files are taken up.

        Raises:
            UserError: the file cannot be used, is in use, or belongs to something else.
        """
        self.games: dict[int, KeptGame] = {}
        self.path = path and part.file(path)
        self._part = part
        self._file: BinaryIO | None = None  # that is written
        self._held: list[BinaryIO] = []
        if path is None or self.path is None:
            return
        heading = {"format": FORMAT, **heading}
        others = {path, *path.parent.glob(f"{glob.escape(path.stem)}.part-*{path.suffix}")} - {self.path}
        try:
            for other in sorted(others):
                self._open(other, heading, is_own=False)
            self._open(self.path, heading, is_own=True)
        except UserError:
            self.close()
            raise

    def __enter__(self) -> "KeptGames":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the files."""
        for file in self._held:
            file.close()

    def _open(self, path: Path, heading: dict[str, Any], is_own: bool) -> None:
        """Take up the games of a file.

        The file of this part is held, and cut behind its last whole line; the whole holds those of all parts, while a
        part only looks into the others.
        """
        if not is_own and not path.exists():
            return
        try:
            file = path.open("a+b")
            self._held.append(file)
            if is_own or self._part == WHOLE:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            file.seek(0)
            whole = self._take_up(file.read(), path, heading)
            if is_own:
                self._file = file
                file.truncate(whole)
                if whole == 0:
                    self._write(heading)
        except BlockingIOError as error:
            raise UserError(f"{path}: another process is playing these games; let it end") from error
        except OSError as error:
            raise UserError(f"cannot use {path}: {error.strerror}; make it writable") from error

    def _take_up(self, text: bytes, path: Path, heading: dict[str, Any]) -> int:
        """Read the games of a file; where its last whole line ends."""
        whole = text.rfind(b"\n") + 1
        try:
            first, *lines = [json.loads(line) for line in text[:whole].splitlines()] or [heading]
            if first != heading:
                raise UserError(f"{path}: holds games of another evaluation; move it away")
            self.games |= {line["number"]: KeptGame(**_checked(line)) for line in lines}
        except (ValueError, TypeError, KeyError) as error:
            raise UserError(f"{path}: damaged; move it away to play all its games again") from error
        return whole

    def add(self, played: PlayedGame, seconds: float) -> None:
        """Keep a game, on the disk before the next one counts; UserError if that fails."""
        record = GameRecord(played.opening, played.actions, played.spawns, played.rewards, played.milliseconds.round(1))
        moves = int(played.actions.size)
        game = KeptGame(played.number, played.score, played.max_tile, moves, seconds, write_record(record))
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

    def ordered(self, count: int) -> list[KeptGame]:
        """Those of games 0..count - 1 that are this part's, of those that are there."""
        return [self.games[number] for number in self.numbers(count) if number in self.games]

    def numbers(self, count: int) -> range:
        """Those of games 0..count - 1 that are this part's."""
        return self._part.numbers(count)


def _checksum(line: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(line).encode())


def _checked(line: dict[str, Any]) -> dict[str, Any]:
    """A line without its checksum; ValueError if the two do not agree."""
    found = line.pop(CHECKSUM)
    if found != _checksum(line):
        raise ValueError("a game was changed after it was kept")
    return line


def play_kept(
    play_each: Callable[[Iterable[int], int], Iterator[PlayedGame]],
    kept: KeptGames,
    count: int,
    seed: int,
) -> Games:
    """Play what is missing of games 0..count - 1, of a part its share, and return them all.

    Every ten seconds a line tells how far it is.

    Raises:
        UserError: a game cannot be kept.
    """
    numbers = kept.numbers(count)
    missing = [number for number in numbers if number not in kept.games]
    before = len(numbers) - len(missing)
    if before:
        print(f"{before:,} of {len(numbers):,} games are there; {len(missing):,} to play", flush=True)
    began = ended = time.monotonic()

    def tell() -> None:
        games = kept.ordered(count)
        done, left = len(games) - before, len(numbers) - len(games)
        elapsed = time.monotonic() - began
        end = f"{clock(elapsed / done * left)} left" if done else f"{clock(elapsed)} since the start"
        print(f"{_progress(games, len(numbers))}  {end}", flush=True)

    with _now_and_then(tell):
        for played in play_each(missing, seed):
            now = time.monotonic()
            kept.add(played, now - ended)
            ended = now
    if missing:
        tell()
    return _games(kept.ordered(count))


@contextlib.contextmanager
def _now_and_then(tell: Callable[[], None]) -> Iterator[None]:
    """Call a function every ten seconds, from a thread of its own."""
    over = threading.Event()

    def run() -> None:
        while not over.wait(LINE_SECONDS):
            tell()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _games(games: list[KeptGame]) -> Games:
    columns = np.array([(game.score, game.max_tile, game.moves) for game in games], np.int64)
    score, max_tile, moves = np.ascontiguousarray(columns.T)
    return Games(score, max_tile, moves, sum(game.seconds for game in games))


def _progress(games: list[KeptGame], count: int) -> str:
    text = f"game {len(games):,} of {count:,}"
    if len(games) > 1:
        summary = summarize(_games(games))
        margin = (summary.score_high - summary.score_low) / 2
        rates = "".join(f"  {tile} {summary.reach[tile]:.0%}" for tile in TILES if summary.reach[tile])
        text += f"  mean {summary.score_mean:,.0f} +- {margin:,.0f}{rates}"
    return text
