"""Whole games with the board before each move, from records or played on the spot.

Shapes: `T` moves of a game, `N` positions, `H, W` board. A cell holds log2 of its tile, 0 = empty.
"""

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from launch.evaluation.loading import LoadedPlayer, play_each
from launch.evaluation.records.game_log import GameLog, play_missing
from launch.evaluation.records.record import GameRecord, parse_record
from launch.progress import GamesText, progress_line
from ntuple import RandomPlayer, Rules, make_rules
from ntuple.game.episode import BOARD_HI, BOARD_LO, COLUMNS
from ntuple.game.rollout import boards_of, states_of

Number = TypeVar("Number", bound=np.generic)


@dataclass(frozen=True, eq=False)
class Game:
    """A game of T moves."""

    number: int  # from 1, in the order of the file or of the play
    actions: NDArray[np.int8]  # [T]
    spawns: NDArray[np.int16]  # [T] code of the spawn after each move
    boards: NDArray[np.uint8]  # [T + 1, H, W] before each move, and the last board
    rewards: NDArray[np.int64]  # [T + 1, 4] points of each move of these boards, -1 if it is illegal

    @functools.cached_property
    def points(self) -> NDArray[np.int64]:
        """Points of the moves that were made, [T]."""
        return self.rewards[np.arange(self.moves), self.actions]

    @property
    def moves(self) -> int:
        """The number of moves T."""
        return len(self.actions)

    @property
    def score(self) -> int:
        """Points of the whole game."""
        return int(self.points.sum())

    @property
    def max_tile(self) -> int:
        """The largest tile of the last board."""
        return 1 << int(self.boards[-1].max())

    @property
    def is_over(self) -> bool:
        """Whether no move is legal on the last board."""
        return bool((self.rewards[-1] < 0).all())

    @property
    def rest(self) -> NDArray[np.int64]:
        """Points from each move to the end of the game, its own included, [T]."""
        return np.cumsum(self.points[::-1])[::-1]


def play_games(loaded: LoadedPlayer, count: int, seed: int) -> list[Game]:
    """Play games move by move and return them in the order of their numbers; progress is shown."""
    log, text = GameLog(None, {}), GamesText(count)
    play = functools.partial(play_each, loaded.player, loaded.rows, loaded.columns)
    with progress_line(loaded.name, text):
        play_missing(play, log, count, seed, text.watch)
    records = [parse_record(game.record) for game in log.ordered(count)]
    return [game_of(i, record, loaded.rows, loaded.columns) for i, record in enumerate(records, 1)]


def game_of(number: int, record: GameRecord, rows: int, columns: int) -> Game:
    """Return the game, of a number from 1, of a record without mistake."""
    rules = make_rules(rows, columns)
    boards = _boards(rules, record)
    nothing = np.zeros(len(boards), np.uint32)
    rewards = RandomPlayer(rules, threads=1).analyse(boards, nothing).reward
    return Game(number, record.actions, record.spawns, boards, rewards)


def gather(games: Iterable[Game], read: Callable[[Game], NDArray[Number]]) -> NDArray[Number]:
    """Return what `read` returns of each game as one array."""
    return np.concatenate([read(game) for game in games])


def _boards(rules: Rules, record: GameRecord) -> NDArray[np.uint8]:
    """Return the boards [T + 1, H, W] before each move and after the last one."""
    # One move more than the record has: the board before it is the last one, and what comes after it is not used.
    actions, spawns = np.append(record.actions, np.int8(0)), np.append(record.spawns, np.int16(0))
    rows = np.zeros((len(actions), COLUMNS), np.uint64)
    rows[:, [BOARD_LO, BOARD_HI]] = states_of(rules, record.opening, actions, spawns)
    return boards_of(rules, rows)
