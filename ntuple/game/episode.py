"""Games in progress, a row of words each, as the kernels of players and learners keep them."""

import numpy as np
from numpy.typing import NDArray

from ntuple.game.bitboard import ONE, U4, ZERO, Board, Rules, max_cell, spawn
from ntuple.game.jit import inline, kernel
from ntuple.game.rng import mix, step

# Columns of a row: the random stream, the board, the last afterstate, score and moves so far; of players, the game's
# number; of learners, the move with which the episode began, its stage of the carousel, and whether it began with two
# tiles. A row has 128 bytes, so that no two threads write to one cache line.
RNG, BOARD_LO, BOARD_HI, AFTER_LO, AFTER_HI, SCORE, MOVES, NUMBER, FIRST, CAROUSEL, IS_WHOLE = range(11)
COLUMNS = 16
BROKEN = -1  # in place of the result of a game whose player found no best move among legal ones

Row = NDArray[np.uint64]  # [COLUMNS]
Results = NDArray[np.int64]  # [G, 3] score, largest tile and moves of finished games


@inline
def begin_game(rules: Rules, row: Row, rng: np.uint64) -> None:
    """Put the empty board after two spawns into a row; `rng` is the state of its stream."""
    first = step(rng)
    second = step(first)
    board = spawn(rules, spawn(rules, Board(ZERO, ZERO), mix(first)), mix(second))
    row[RNG] = second
    set_board(row, board)
    row[SCORE] = row[MOVES] = row[FIRST] = ZERO
    row[IS_WHOLE] = ONE


@inline
def go_on(rules: Rules, row: Row, after: Board, reward: np.uint64) -> None:
    """Make a move that led to `after` and place the next spawn."""
    row[AFTER_LO], row[AFTER_HI] = after.lo, after.hi
    row[SCORE] += reward
    row[MOVES] += ONE
    row[RNG] = step(row[RNG])
    set_board(row, spawn(rules, after, mix(row[RNG])))


@inline
def set_board(row: Row, board: Board) -> None:
    """Put a board that waits for a move into a row."""
    row[BOARD_LO], row[BOARD_HI] = board.lo, board.hi


@inline
def board_of(row: Row) -> Board:
    """The board that waits for a move."""
    return Board(row[BOARD_LO], row[BOARD_HI])


@inline
def last_afterstate(row: Row) -> Board:
    """The board before the last spawn."""
    return Board(row[AFTER_LO], row[AFTER_HI])


@kernel
def spawn_code(rules: Rules, before: Board, after: Board) -> int:
    """2 * cell + (1 if the tile is a 4 else 0) of the spawn between two boards; cells are numbered row by row."""
    tile = after.lo ^ before.lo
    at = 0
    while tile > np.uint64(2):
        tile >>= U4
        at += 1
    return 2 * (rules.columns * (at // 4) + at % 4) + int(tile >> ONE)


@inline
def place_spawn(rules: Rules, board: Board, code: int) -> Board:
    """The inverse of `spawn_code`: the board with the tile of a code in its cell, which is empty."""
    return Board(board.lo | ONE << (spawn_place(rules, code) + np.uint64(code & 1)), board.hi)


@inline
def spawn_place(rules: Rules, code: int) -> np.uint64:
    """Where the nibble of a code's cell lies in the word."""
    cell = code >> 1
    return np.uint64(4 * (4 * (cell // rules.columns) + cell % rules.columns))


@inline
def largest_tile(row: Row) -> np.int64:
    """The largest tile of a row's board."""
    return np.int64(1) << max_cell(board_of(row))


@inline
def write_result(row: Row, result: NDArray[np.int64]) -> None:
    """Write a finished game to its row of Results."""
    result[0], result[1], result[2] = np.int64(row[SCORE]), largest_tile(row), np.int64(row[MOVES])
