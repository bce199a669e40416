"""`muzero2048 arena PATH`: a player of this project as a program of a tournament (the protocol: referee.py).

It slides tiles by its search. It places tiles where its best reply is worst, if it has n-tuple values; otherwise
anywhere that the rules allow.
"""

import random
import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from launch.errors import UserError
from launch.evaluation.against import AgainstOptions, find_against
from launch.evaluation.loading import PlayerSource
from launch.evaluation.records.record import ACTIONS, LEVELS, code_of_spawn, spawn_text
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
from ntuple.game.rollout import boards_of

Place = Callable[[Board, int], Board]  # (afterstate, number of a drawn placement) -> the state that the program chooses


def run_arena(source: PlayerSource, lines: Iterable[str]) -> None:
    """Answer lines of a tournament until "@ exit" or their end."""
    player: Any = source.load().player
    game = find_game(source.game, source.rows, source.columns)
    rules = make_game_rules(source.game, source.rows, source.columns)
    place = _placing(source, rules)
    opening: list[int] = []
    board = after = Board(ZERO, ZERO)
    is_placing = False
    for line in lines:
        name, _, action = line.strip().partition(" ")
        if line.strip() == "@ exit":
            return
        if action.startswith("open "):
            opening, is_placing = [], False
            print(f"{name} open accept", flush=True)
        elif action == "?" or action.startswith("? "):
            if is_placing:
                board = place(after, _drawn(rules, action[2:]))
                is_placing = False
                print(f"{name} {spawn_text(game, int(spawn_code(rules, after, board)))}", flush=True)
            else:
                row = np.zeros((1, COLUMNS), np.uint64)
                row[0, BOARD_LO], row[0, BOARD_HI] = board
                seeds = np.zeros(1, np.uint32)
                found = player.analyse(boards_of(rules, row), seeds, draws_of(row[:, BOARD_HI]))
                move = int(found.action[0])
                after = _board(afterstate(rules, board, move)[0])
                print(f"{name} #{ACTIONS[move]}", flush=True)
        elif action.startswith("#"):
            after, is_placing = _board(afterstate(rules, board, ACTIONS.index(action[1]))[0]), True
        elif not action.startswith("close"):
            code = code_of_spawn(game, action)
            if len(opening) < game.initial_tiles:
                before = before_opening(rules, code) if not opening else board
                after = _board(open_for_tile(rules, _board(before)))
                opening.append(code)
            board = _board(place_spawn(rules, after, code))


def _board(board: Any) -> Board:
    """Return a board that a kernel returned as an argument of kernels."""
    return Board(*map(np.uint64, board))


def _drawn(rules: AnyRules, level: str) -> int:
    """Return the number of the placements of a tile that the referee drew; 0 if it drew none."""
    return int(np.flatnonzero(rules.spawn_levels == LEVELS.index(level))[0]) if level else 0  # type: ignore[union-attr]


def _placing(source: PlayerSource, rules: AnyRules) -> Place:
    """Return the function that places the tiles of a program."""
    own = (source.checkpoint.folder, source.checkpoint.experiment) if source.checkpoint else None
    try:
        against = find_against(AgainstOptions(ADVERSARY), source.path, (source.game, source.rows, source.columns), own)
    except UserError:  # it has no n-tuple values
        chooses = find_game(source.game, source.rows, source.columns).adversary == "minimax"
        return lambda after, drawn: _random_placement(rules, after, drawn, chooses)
    adversary = against.load(source.game, source.rows, source.columns)
    return lambda after, drawn: _board(adversary.place(rules, after, drawn))


def _random_placement(rules: AnyRules, after: Board, drawn: int, chooses: bool) -> Board:
    cells = places(rules, after)
    while True:
        cell = kth_cell(cells, np.uint64(random.randrange(int(count_cells(cells)))))
        number = random.randrange(int(count_placements(rules, after))) if chooses else drawn
        board = _board(placement(rules, after, np.uint64(cell), number)[0])
        if may_choose(rules, board):
            return board


def serve(source: PlayerSource) -> None:
    """Answer the standard input."""
    run_arena(source, sys.stdin)
