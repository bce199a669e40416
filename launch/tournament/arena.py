"""`muzero2048 arena PATH`: a player of this project as a program of a tournament (the protocol: referee.py).

It slides tiles by its search. It places tiles where its best reply is worst, if it has n-tuple values; otherwise
anywhere that the rules allow. Where chance decides, its draws depend on the board alone, so a game can be played again.
"""

import random
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from launch.errors import UserError
from launch.evaluation.against import AgainstOptions, find_against
from launch.evaluation.loading import PlayerSource
from launch.evaluation.records.record import ACTIONS, LEVELS, code_of_spawn, spawn_text
from ntuple.core.games.definition import Game
from ntuple.core.games.known import find_game
from ntuple.core.opponents import ADVERSARY
from ntuple.game.any_game import (
    AnyRules,
    afterstate,
    count_placements,
    make_game_rules,
    may_choose,
    placement,
    places,
)
from ntuple.game.bitboard import ZERO, Board, count_cells, kth_cell
from ntuple.game.episode import BOARD_HI, BOARD_LO, COLUMNS, before_opening, open_for_tile, place_spawn, spawn_code
from ntuple.game.family_events import draws_of
from ntuple.game.rollout import boards_of, open_game

Place = Callable[[Board, int], Board]  # (afterstate, number of a drawn placement) -> the state that the program chooses


class Arena:
    """A player that answers lines."""

    def __init__(self, source: PlayerSource) -> None:
        """Load the player, and compile what a game needs: from then on it has to be in time."""
        self._game = find_game(source.game, source.rows, source.columns)
        self._rules = make_game_rules(source.game, source.rows, source.columns)
        self._player: Any = source.load().player
        self._place = _placing(source, self._rules)
        self._begin()
        row = np.zeros(COLUMNS, np.uint64)
        codes = open_game(self._rules, 0, 0, row)
        drawn = f" {LEVELS[self._game.spawns[0][0]]}" if self._game.adversary == "expectiminimax" else ""
        texts = [spawn_text(self._game, code) for code in codes]
        for action in ("open a:b", *texts, "?"):
            answer = self.answer(f"#0 {action}")
        for action in ("open a:b", *texts, answer[3:], f"?{drawn}"):
            self.answer(f"#0 {action}")

    def _begin(self) -> None:
        self._board = self._after = Board(ZERO, ZERO)
        self._first_tiles, self._is_placing = 0, False

    def answer(self, line: str) -> str:
        """Return the answer to a line; "": it needs none. UserError if it is no line of the protocol."""
        name, _, action = line.strip().partition(" ")
        if action.startswith("open "):
            self._begin()
            return f"{name} open accept"
        if action == "?" or action.startswith("? "):
            drawn = _read(line, lambda: _drawn(self._game, action[2:]))
            return f"{name} {self._placed(drawn) if self._is_placing else self._slid()}"
        if action.startswith("#"):
            self._after = self._slide(_read(line, lambda: [*ACTIONS].index(action[1:])))
            self._is_placing = True
        elif not action.startswith("close"):
            code = _read(line, lambda: code_of_spawn(self._game, action))
            if self._first_tiles < self._game.initial_tiles:
                before = self._board if self._first_tiles else _board(before_opening(self._rules, code))
                self._after = _board(open_for_tile(self._rules, before))
                self._first_tiles += 1
            self._board = _board(place_spawn(self._rules, self._after, code))
        return ""

    def _slide(self, action: int) -> Board:
        return _board(afterstate(self._rules, self._board, action)[0])

    def _slid(self) -> str:
        """Choose a move, and make it."""
        row, seed = np.zeros((1, COLUMNS), np.uint64), np.array([_seed(self._board)], np.uint32)
        row[0, BOARD_LO], row[0, BOARD_HI] = self._board
        found = self._player.analyse(boards_of(self._rules, row), seed, draws_of(row[:, BOARD_HI]))
        action = int(found.action[0])
        self._after = self._slide(action)
        return f"#{ACTIONS[action]}"

    def _placed(self, drawn: int) -> str:
        """Choose a placement, of the drawn tile if there is one, and make it."""
        self._board = self._place(self._after, drawn)
        self._is_placing = False
        return spawn_text(self._game, int(spawn_code(self._rules, self._after, self._board)))


def serve(source: PlayerSource, lines: Iterable[str]) -> None:
    """Answer lines until "@ exit" or their end."""
    arena = Arena(source)
    for line in lines:
        if line.strip() == "@ exit":
            return
        if answer := arena.answer(line):
            print(answer, flush=True)


def _seed(board: Board) -> int:
    """Return a seed of 32 bits."""
    return random.Random(f"{board.lo} {board.hi}").getrandbits(32)


def _board(board: Any) -> Board:
    """Return a board that a kernel returned as an argument of kernels."""
    return Board(*map(np.uint64, board))


def _read(line: str, read: Callable[[], int]) -> int:
    """Return what is read from a line; UserError quotes a line that is not of the protocol."""
    try:
        return read()
    except (KeyError, ValueError) as error:
        raise UserError(f"{line.strip()!r} is no line of the protocol; see docs/tournament.md") from error


def _drawn(game: Game, level: str) -> int:
    """Return the number of the placements of a tile that the referee drew, 0 if it drew none; ValueError for others."""
    return [LEVELS[number] for number, _ in game.spawns].index(level) if level else 0


def _placing(source: PlayerSource, rules: AnyRules) -> Place:
    """Return the function that places the tiles of a program."""
    own = (source.checkpoint.folder, source.checkpoint.experiment) if source.checkpoint else None
    try:
        against = find_against(AgainstOptions(ADVERSARY), source.path, (source.game, source.rows, source.columns), own)
    except UserError:  # it has no n-tuple values
        chooses = find_game(source.game, source.rows, source.columns).adversary == "minimax"
        return lambda after, drawn: _random_placement(rules, after, drawn, chooses)
    adversary = against.load(source.game, source.rows, source.columns)
    return lambda after, drawn: _board(adversary.place(after, drawn))


def _random_placement(rules: AnyRules, after: Board, drawn: int, chooses: bool) -> Board:
    cells, draws = places(rules, after), random.Random(_seed(after))
    while True:
        cell = kth_cell(cells, np.uint64(draws.randrange(int(count_cells(cells)))))
        number = draws.randrange(int(count_placements(rules, after))) if chooses else drawn
        board = _board(placement(rules, after, np.uint64(cell), number)[0])
        if may_choose(rules, board):
            return board
