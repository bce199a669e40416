"""The games that `serve` and `play` show: openings, moves and chance events, by the rules of ntuple/game.

A chance event is a function of the seed, its number and the afterstate: the first 64 random bits of the stream (seed,
number) choose one of the cells where a tile may be placed, listed row by row, and the tile, or the next hint. The first
tiles of a game have the numbers 0 to k - 1, in 2048 k = 2; the event after move t = 1, 2, ... has the number k + t - 1.
So two games of one seed get the same random bits at the same move, and the same spawn where their empty cells are the
same. A seed has 64 bits.
"""

from typing import Any, NamedTuple

import numpy as np

from launch.errors import UserError
from launch.evaluation.boards.analyse import NAMES
from launch.evaluation.boards.notation import format_state, parse_named_board
from ntuple.core.games.definition import Game, State
from ntuple.core.games.event_codes import event_of
from ntuple.game.any_game import AnyRules, afterstate, make_game_rules, spawn
from ntuple.game.bitboard import ZERO, Board
from ntuple.game.episode import open_for_tile, spawn_code
from ntuple.game.family import FamilyRules
from ntuple.game.family_events import begin_opening, decode_state, encode_state
from ntuple.game.rng import mix, step, stream

FIRST_HINT = 2**63  # number of the stream that draws the first hint of a game


class Spawn(NamedTuple):
    """A tile that appeared."""

    row: int  # from 0
    column: int
    tile: int


class PlayedMove(NamedTuple):
    """A move and the chance event after it."""

    reward: int  # points of the move and of the placed tile
    spawn: Spawn
    state: State  # after the event

    def to_json(self, game: Game) -> dict[str, Any]:
        """Return the move as the page reads it: reward, spawn, and the board after it."""
        return {"reward": self.reward, "spawn": self.spawn._asdict(), "after": describe(self.state, game)}


class GameState(NamedTuple):
    """A board of a game, before the next move."""

    state: State
    score: int  # points
    moves: int
    spawn: Spawn | None  # the last one; None: the opening


def describe(state: State, game: Game) -> dict[str, Any]:
    """Return a board as the page reads it: its notation, levels, legal moves, whether the game is over, next tile."""
    rules, board = make_game_rules(game.name, len(state.board), len(state.board[0])), encode_state(state)
    legal = [name for action, name in enumerate(NAMES) if _after(rules, board, action)[0] != board]
    described = {"position": format_state(state, game), "levels": [list(row) for row in state.board], "legal": legal}
    return described | {"over": not legal, "next": game.hint_name(state.hint), "drawn": _drawn_text(state)}


def open_game(board: str, seed: int) -> GameState:
    """Return the start of a game on a board of a name, such as "4x4" or "threes 4x4"."""
    game, rows, columns = parse_named_board(board)
    rules, words, score = make_game_rules(game.name, rows, columns), Board(ZERO, ZERO), 0
    if isinstance(rules, FamilyRules):
        words = _unsigned(begin_opening(rules, _stream(seed, FIRST_HINT))[0])
    for number in range(game.initial_tiles):
        words, points = _spawn(rules, _unsigned(open_for_tile(rules, words)), seed, number)
        score += points
    return GameState(decode_state(rules, words), score, 0, None)


def make_move(state: State, game: Game, action: str, seed: int, moves: int) -> PlayedMove:
    """Make the move of a name of `NAMES`, after `moves` others; UserError if it is not legal."""
    rules, board = make_game_rules(game.name, len(state.board), len(state.board[0])), encode_state(state)
    after, reward = _after(rules, board, NAMES.index(action))
    if after == board:
        raise UserError(f"{action} is not legal on {format_state(state, game)}: it moves no tile")
    spawned, points = _spawn(rules, after, seed, game.initial_tiles + moves)
    event = event_of(game, int(spawn_code(rules, after, spawned)))
    row, column = divmod(event.cell, len(state.board[0]))
    placed = Spawn(row, column, game.tiles[event.level])
    return PlayedMove(reward + points, placed, decode_state(rules, spawned))


class InteractiveGame:
    """A game that is played move by move, and whose moves can be taken back."""

    def __init__(self, board: str, seed: int) -> None:
        """Open the game of a seed on a board of a name."""
        self.board, self.seed = board, seed
        self.game, self.rows, self.columns = parse_named_board(board)
        self._states = [open_game(board, seed)]
        self._describe()

    @property
    def state(self) -> GameState:
        """The board that the next move starts from."""
        return self._states[-1]

    def move(self, action: str) -> int:
        """Make a move; return its reward. UserError if it is not legal."""
        before, score, moves, _ = self.state
        step = make_move(before, self.game, action, self.seed, moves)
        self._states.append(GameState(step.state, score + step.reward, moves + 1, step.spawn))
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
        described = describe(self.state.state, self.game)
        self.position: str = described["position"]
        self.legal: list[str] = described["legal"]  # names of the legal moves
        self.is_over: bool = described["over"]
        self.next: str = described["next"]  # the next tile; "": the game does not tell it


def _drawn_text(state: State) -> str:
    """Return hint and bag as `parse_state` reads them after the tiles; "" in a game without hints."""
    return f" +{state.hint} bag {' '.join(map(str, state.bag))}" if state.hint else ""


def _after(rules: AnyRules, board: Board, action: int) -> tuple[Board, int]:
    after, reward = afterstate(rules, board, action)
    return _unsigned(after), int(reward)


def _spawn(rules: AnyRules, board: Board, seed: int, number: int) -> tuple[Board, int]:
    """Return the board after a chance event, and the points of its tile."""
    placed, points = spawn(rules, board, np.uint64(mix(np.uint64(step(_stream(seed, number))))))
    return _unsigned(placed), int(points)


def _stream(seed: int, number: int) -> np.uint64:
    return np.uint64(stream(np.uint64(seed), np.uint64(number)))


def _unsigned(board: Board) -> Board:
    """Return a board that a kernel returned as one that a kernel takes: Python's integers would count as signed."""
    return Board(np.uint64(board.lo), np.uint64(board.hi))
