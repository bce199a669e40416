"""Games that are kept one by one: nothing is lost when an evaluation is stopped, and none is played again.

A line of the file is one game as JSON; `record` is the game in the notation of launch/records.py. A line that a crash
cut off counts as not written. The file is read before anything is played, so the same command goes on where it stopped.
"""

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from launch.errors import UserError
from launch.records import GameRecord, write_record
from launch.report import summarize
from ntuple import Games, PlayedGame

LINE_SECONDS = 10.0  # between two lines of progress
TILES = (8192, 16384, 32768)  # whose rates progress tells
FORMAT = "muzero2048 games 1"


class KeptGame(NamedTuple):
    """A finished game."""

    number: int
    score: int
    max_tile: int
    moves: int
    seconds: float
    record: str


class KeptGames:
    """The games of one evaluation; with a path they lie in a file, too."""

    def __init__(self, path: Path | None, heading: dict[str, Any]) -> None:
        """Read back what the file holds.

        Args:
            path: of the file; None: nothing is written.
            heading: what the games belong to: board, search, seed; another one in the file is refused.

        Raises:
            UserError: the file cannot be used, or belongs to something else.
        """
        self.games: dict[int, KeptGame] = {}
        self._path = path
        if path is None:
            return
        heading = {"format": FORMAT, **heading}
        try:
            whole = self._read(path, heading) if path.exists() else 0
            with path.open("ab") as file:
                file.truncate(whole)
            if whole == 0:
                self._write(path, heading)
        except OSError as error:
            raise UserError(f"cannot use {path}: {error.strerror}; make it writable") from error

    def _read(self, path: Path, heading: dict[str, Any]) -> int:
        """Take up the games of a file; return where its last whole line ends."""
        text = path.read_bytes()
        whole = text.rfind(b"\n") + 1
        try:
            first, *lines = [json.loads(line) for line in text[:whole].splitlines()] or [heading]
            if first != heading:
                raise UserError(f"{path}: holds games of another evaluation; move it away")
            self.games = {line["number"]: KeptGame(**line) for line in lines}
        except (ValueError, TypeError, KeyError) as error:
            raise UserError(f"{path}: damaged; move it away to play all its games again") from error
        return whole

    def add(self, played: PlayedGame) -> None:
        """Keep a game, on the disk before the next one counts."""
        record = GameRecord(played.opening, played.actions, played.spawns, played.rewards, played.milliseconds.round(1))
        game = KeptGame(
            played.number, played.score, played.max_tile, played.actions.size, played.seconds, write_record(record)
        )
        self.games[game.number] = game
        if self._path:
            self._write(self._path, game._asdict())

    @staticmethod
    def _write(path: Path, value: dict[str, Any]) -> None:
        with path.open("ab") as file:
            file.write(json.dumps(value).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def ordered(self, count: int) -> list[KeptGame]:
        """Games 0..count - 1, of those that are there."""
        return [self.games[number] for number in range(count) if number in self.games]


def play_kept(
    play_each: Callable[[Iterable[int], int], Iterator[PlayedGame]],
    kept: KeptGames,
    count: int,
    seed: int,
) -> Games:
    """Play what is missing of games 0..count - 1, print the mean with its interval as games end, and return them all.

    The seconds of all games are wall time, that of the games from before a stop taken at the speed of those from now.
    """
    missing = [number for number in range(count) if number not in kept.games]
    if len(missing) < count:
        print(f"{count - len(missing):,} of {count:,} games are there; {len(missing):,} to play", flush=True)
    began, printed, spent = time.monotonic(), -LINE_SECONDS, 0.0
    for done, played in enumerate(play_each(missing, seed), start=1):
        kept.add(played)
        spent += played.seconds
        now = time.monotonic()
        if now - printed >= LINE_SECONDS or done == len(missing):
            printed = now
            print(_progress(kept.ordered(count), count, (now - began) / done * (len(missing) - done)), flush=True)
    wall = time.monotonic() - began
    games = kept.ordered(count)
    share = wall / spent if spent else 1.0
    return _games(games, share * sum(game.seconds for game in games))


def _games(games: list[KeptGame], seconds: float) -> Games:
    columns = np.array([(game.score, game.max_tile, game.moves) for game in games], np.int64)
    score, max_tile, moves = np.ascontiguousarray(columns.T)
    return Games(score, max_tile, moves, seconds)


def _progress(games: list[KeptGame], count: int, left: float) -> str:
    text = f"game {len(games):,} of {count:,}"
    if len(games) > 1:
        summary = summarize(_games(games, 1.0))
        margin = (summary.score_high - summary.score_low) / 2
        rates = "".join(f"  {tile} {summary.reach[tile]:.0%}" for tile in TILES if summary.reach[tile])
        text += f"  mean {summary.score_mean:,.0f} +- {margin:,.0f}{rates}"
    minutes, seconds = divmod(round(left), 60)
    return f"{text}  {minutes}:{seconds:02} left"
