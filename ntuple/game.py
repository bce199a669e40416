"""Games in progress, a row of words each, as the kernels of players and learners keep them."""

import numpy as np
from numpy.typing import NDArray

from ntuple.board import ZERO, Board, Rules, max_cell, spawn
from ntuple.jit import inline
from ntuple.rng import mix, step

# Columns of a row: the random stream, the board, the last afterstate, score and moves so far, the game's number.
# A row has 128 bytes, so that no two threads write to one cache line.
RNG, BOARD_LO, BOARD_HI, AFTER_LO, AFTER_HI, SCORE, MOVES, NUMBER, COLUMNS = (*range(8), 16)

Row = NDArray[np.uint64]  # [COLUMNS]


@inline
def begin_game(rules: Rules, row: Row, rng: np.uint64) -> None:
    """Put the empty board after two spawns into a row; `rng` is the state of its stream."""
    first = step(rng)
    second = step(first)
    board = spawn(rules, spawn(rules, Board(ZERO, ZERO), mix(first)), mix(second))
    row[RNG] = second
    row[BOARD_LO], row[BOARD_HI] = board.lo, board.hi
    row[SCORE] = row[MOVES] = ZERO


@inline
def go_on(rules: Rules, row: Row, after: Board, reward: np.uint64) -> None:
    """Make a move that led to `after` and place the next spawn."""
    row[AFTER_LO], row[AFTER_HI] = after.lo, after.hi
    row[SCORE] += reward
    row[MOVES] += np.uint64(1)
    row[RNG] = step(row[RNG])
    board = spawn(rules, after, mix(row[RNG]))
    row[BOARD_LO], row[BOARD_HI] = board.lo, board.hi


@inline
def board_of(row: Row) -> Board:
    """The board that waits for a move."""
    return Board(row[BOARD_LO], row[BOARD_HI])


@inline
def last_afterstate(row: Row) -> Board:
    """The board before the last spawn."""
    return Board(row[AFTER_LO], row[AFTER_HI])


@inline
def largest_tile(row: Row) -> np.int64:
    """The largest tile of a row's board."""
    return np.int64(1) << max_cell(board_of(row))
