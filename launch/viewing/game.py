"""The game that `serve` and `play` show: openings, moves and spawns, by the rules of ntuple/game.

A spawn is a function of the seed, its number and the afterstate: the first 64 random bits of the stream (seed, number)
choose one of the empty cells, listed row by row, and whether the tile is a 4. The two spawns of the opening have the
numbers 0 and 1, the spawn after move t = 1, 2, ... has the number t + 1. So two games of one seed get the same random
bits at the same move, and the same spawn where their empty cells are the same. A seed has 64 bits.
"""

import functools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from launch.errors import UserError
from launch.evaluation.boards.analyse import NAMES
from launch.evaluation.boards.notation import format_position
from ntuple.game.bitboard import ZERO, Board, Rules, afterstate, decode, encode, make_rules, spawn
from ntuple.game.rng import mix, step, stream

OPENING = 2  # spawns before the first move

Levels = NDArray[np.integer]  # [H, W]


class Spawn(NamedTuple):
    """A tile that appeared."""

    row: int  # from 0
    column: int
    tile: int  # 2 or 4


class PlayedMove(NamedTuple):
    """A move and the spawn after it."""

    reward: int  # points
    spawn: Spawn
    levels: Levels  # the board after the spawn

    def to_json(self) -> dict[str, Any]:
        """Return the move as the page reads it: reward, spawn, and the board after it."""
        return {"reward": self.reward, "spawn": self.spawn._asdict(), "after": describe(self.levels)}


def describe(levels: Levels) -> dict[str, Any]:
    """Return a board as the page reads it: its notation, levels, legal moves and whether the game is over."""
    board, rules = encode(levels), _rules(*levels.shape)
    legal = [name for action, name in enumerate(NAMES) if _afterstate(rules, board, action)[0] != board]
    return {"position": format_position(levels), "levels": levels.tolist(), "legal": legal, "over": not legal}


def open_game(rows: int, columns: int, seed: int) -> Levels:
    """Return the board after the two spawns of the opening."""
    rules, board = _rules(rows, columns), Board(ZERO, ZERO)
    for number in range(OPENING):
        board = _spawn(rules, board, seed, number)
    return decode(rules, board)


def make_move(levels: Levels, action: str, seed: int, moves: int) -> PlayedMove:
    """Make the move of a name of `NAMES`, after `moves` others; UserError if it is not legal."""
    rules, board = _rules(*levels.shape), encode(levels)
    after, reward = _afterstate(rules, board, NAMES.index(action))
    if after == board:
        raise UserError(f"{action} is not legal on {format_position(levels)}: it moves no tile")
    spawned = decode(rules, _spawn(rules, after, seed, OPENING + moves))
    row, column = np.argwhere(spawned != decode(rules, after))[0].tolist()
    return PlayedMove(reward, Spawn(row, column, 2 ** int(spawned[row, column])), spawned)


class GameState(NamedTuple):
    """A board of a game, before the next move."""

    levels: Levels
    score: int  # points
    moves: int
    spawn: Spawn | None  # the last one; None: the opening


class InteractiveGame:
    """A game that is played move by move, and whose moves can be taken back."""

    def __init__(self, rows: int, columns: int, seed: int) -> None:
        self.rows, self.columns, self.seed = rows, columns, seed
        self._states = [GameState(open_game(rows, columns, seed), 0, 0, None)]
        self._describe()

    @property
    def state(self) -> GameState:
        """The board that the next move starts from."""
        return self._states[-1]

    def move(self, action: str) -> int:
        """Make a move; return its reward. UserError if it is not legal."""
        levels, score, moves, _ = self.state
        step = make_move(levels, action, self.seed, moves)
        self._states.append(GameState(step.levels, score + step.reward, moves + 1, step.spawn))
        self._describe()
        return step.reward

    def take_back(self) -> bool:
        """Take back the last move; return whether there was one."""
        if len(self._states) == 1:
            return False
        self._states.pop()
        self._describe()
        return True

    def _describe(self) -> None:
        described = describe(self.state.levels)
        self.position: str = described["position"]
        self.legal: list[str] = described["legal"]  # names of the legal moves
        self.is_over: bool = described["over"]


def _afterstate(rules: Rules, board: Board, action: int) -> tuple[Board, int]:
    after, reward = afterstate(rules, board, action)
    return _unsigned(after), int(reward)


def _spawn(rules: Rules, board: Board, seed: int, number: int) -> Board:
    first = np.uint64(step(np.uint64(stream(np.uint64(seed), np.uint64(number)))))
    return _unsigned(spawn(rules, board, np.uint64(mix(first))))


def _unsigned(board: Board) -> Board:
    """Return a board that a kernel returned as one that a kernel takes: Python's integers would count as signed."""
    return Board(np.uint64(board.lo), np.uint64(board.hi))


@functools.cache
def _rules(rows: int, columns: int) -> Rules:
    return make_rules(rows, columns)
