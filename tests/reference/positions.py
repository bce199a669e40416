"""Boards and games to test on, made by the plain rules."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from reference import rules


class Step(NamedTuple):
    """One move of a game."""

    board: rules.Board
    action: int
    reward: int
    afterstate: rules.Board
    spawn_code: int
    next_board: rules.Board
    done: bool


def as_board(cells: np.ndarray) -> rules.Board:
    """A board of the reference from cells [H, W]."""
    return tuple(tuple(int(cell) for cell in row) for row in np.asarray(cells))


def random_board(rng: np.random.Generator, rows: int, columns: int, largest: int = 11) -> rules.Board:
    """Any board, not only what play can reach; its share of empty cells is random too."""
    cells = rng.integers(1, largest + 1, (rows, columns)) * (rng.random((rows, columns)) < rng.random())
    return as_board(cells)


def opening(rng: np.random.Generator, rows: int, columns: int) -> rules.Board:
    """Two spawns on an empty board."""
    board: rules.Board = ((0,) * columns,) * rows
    for _ in range(2):
        board = rules.spawn(board, draw_code(rng, board))
    return board


def draw_code(rng: np.random.Generator, afterstate: rules.Board) -> int:
    """A spawn code by its probability."""
    codes, probabilities = zip(*rules.chance_probabilities(afterstate).items(), strict=True)
    return int(rng.choice(codes, p=[float(p) for p in probabilities]))


def random_game(rng: np.random.Generator, rows: int, columns: int) -> Iterator[Step]:
    """A game of random legal moves, from its opening to its end."""
    board, done = opening(rng, rows, columns), False
    while not done:
        action = int(rng.choice(np.flatnonzero(rules.legal_actions(board))))
        afterstate, reward = rules.afterstate(board, action)
        code = draw_code(rng, afterstate)
        next_board = rules.spawn(afterstate, code)
        done = rules.is_over(next_board)
        yield Step(board, action, reward, afterstate, code, next_board, done)
        board = next_board
