"""Whole games with the board before each move, from records or played on the spot.

Shapes: `T` moves of a game, `N` positions, `H, W` board. A cell holds the level of its tile, in 2048 log2; 0 = empty.
"""

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from launch.evaluation.boards.notation import parse_named_board
from launch.evaluation.loading import LoadedPlayer, play_each
from launch.evaluation.records.game_log import GameLog, play_missing
from launch.evaluation.records.judge import read_right_games
from launch.evaluation.records.record import GameRecord, parse_record
from launch.progress import GamesText, progress_line
from ntuple import RandomPlayer
from ntuple.core.games.definition import Game as GameRules
from ntuple.core.games.event_codes import event_of
from ntuple.core.games.game_2048 import GAME_2048
from ntuple.game.any_game import make_game_rules
from ntuple.game.episode import BOARD_HI, BOARD_LO, COLUMNS
from ntuple.game.family_events import draws_of
from ntuple.game.rollout import boards_of, states_of

Number = TypeVar("Number", bound=np.generic)


@dataclass(frozen=True, eq=False)
class Game:
    """A game of T moves."""

    number: int  # from 1, in the order of the file or of the play
    actions: NDArray[np.int8]  # [T]
    spawns: NDArray[np.int16]  # [T] code of the chance event after each move
    boards: NDArray[np.uint8]  # [T + 1, H, W] before each move, and the last board
    rewards: NDArray[np.int64]  # [T + 1, 4] points of each move of these boards, -1 if it is illegal
    draws: NDArray[np.uint16]  # [T + 1] hint and bag with these boards, 0 in a game without
    placed: NDArray[np.int64]  # [T + 1] points of the first tiles, then of the tile placed after each move
    kind: GameRules = GAME_2048

    @functools.cached_property
    def points(self) -> NDArray[np.int64]:
        """Points of the moves that were made and of the tiles placed after them, [T]."""
        return self.rewards[np.arange(self.moves), self.actions] + self.placed[1:]

    @property
    def moves(self) -> int:
        """The number of moves T."""
        return len(self.actions)

    @property
    def score(self) -> int:
        """Points of the whole game."""
        return int(self.points.sum() + self.placed[0])

    @property
    def max_tile(self) -> int:
        """The largest tile of the last board."""
        return self.kind.tiles[self.boards[-1].max()]

    @property
    def is_over(self) -> bool:
        """Whether no move is legal on the last board."""
        return bool((self.rewards[-1] < 0).all())

    @property
    def rest(self) -> NDArray[np.int64]:
        """Points from each move to the end of the game, its own included, [T]."""
        return np.cumsum(self.points[::-1])[::-1]


def read_games(path: Path, board: str | None, most: int | None) -> tuple[list[Game], str, str]:
    """Read at most `most` games of a file of records; without a board, that of the file's header, or 4x4.

    Returns the games, the board, and the text after the board in the file's header.

    Raises:
        UserError: the file cannot be read, has no game, or has a wrong game among those to read.
    """
    games: list[Game] = []
    name = note = ""
    for line, _ in read_right_games(path, board):
        kind, rows, columns = parse_named_board(line.board)
        games.append(game_of(len(games) + 1, parse_record(line.text, kind), rows, columns))
        name, note = line.board, line.note
        if len(games) == most:
            break
    return games, name, note


def play_games(loaded: LoadedPlayer, count: int, seed: int) -> list[Game]:
    """Play games move by move and return them in the order of their numbers; progress is shown."""
    log, text = GameLog(None, {}, game=loaded.definition), GamesText(count)
    play = functools.partial(play_each, loaded)
    with progress_line(loaded.name, text):
        play_missing(play, log, count, seed, text.watch)
    records = [parse_record(game.record, loaded.definition) for game in log.ordered(count)]
    return [game_of(i, record, loaded.rows, loaded.columns) for i, record in enumerate(records, 1)]


def game_of(number: int, record: GameRecord, rows: int, columns: int) -> Game:
    """Return the game, of a number from 1, of a record without mistake."""
    rules, game = make_game_rules(record.game.name, rows, columns), record.game
    # One move more than the record has: the board before it is the last one, and what comes after it is not used.
    actions, spawns = np.append(record.actions, np.int8(0)), np.append(record.spawns, record.opening[-1:])
    states = np.zeros((len(actions), COLUMNS), np.uint64)
    states[:, [BOARD_LO, BOARD_HI]] = states_of(rules, record.opening, actions, spawns.astype(np.int16))
    boards, draws = boards_of(rules, states), draws_of(states[:, BOARD_HI])
    rewards = RandomPlayer(rules, threads=1).analyse(boards, np.zeros(len(boards), np.uint32), draws).reward
    placed = [game.place_points(event_of(game, code).level) for code in (*record.opening, *record.spawns.tolist())]
    first = len(record.opening)
    points = np.array([sum(placed[:first]), *placed[first:]], np.int64)
    return Game(number, record.actions, record.spawns, boards, rewards, draws, points, game)


def gather(games: Iterable[Game], read: Callable[[Game], NDArray[Number]]) -> NDArray[Number]:
    """Return what `read` returns of each game as one array."""
    return np.concatenate([read(game) for game in games])
