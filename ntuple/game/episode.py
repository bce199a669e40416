"""Games in progress: one row of 16 words for each game, used by the kernels of players and learners.

    RNG                    state of the random stream
    BOARD_LO, BOARD_HI     the board to move on
    AFTER_LO, AFTER_HI     the last afterstate
    SCORE, MOVES           points and moves so far
    NUMBER                 players: number of the game
    FIRST                  learners: number of the first move of the episode
    CAROUSEL               learners: stage of the carousel in which the episode began
    IS_WHOLE               learners: 1 if the episode began with two tiles, else 0
    BLOCK_LO, BLOCK_HI     learners: the last afterstate that entered a block (ntuple.td.blocks)

A row has 128 bytes, so that two threads never write to the same cache line.
"""

import numpy as np
from numpy.typing import NDArray

from ntuple.game.bitboard import ONE, U4, ZERO, Board, Rules, max_cell, spawn
from ntuple.game.jit import inline, kernel
from ntuple.game.rng import mix, step

RNG, BOARD_LO, BOARD_HI, AFTER_LO, AFTER_HI, SCORE, MOVES, NUMBER, FIRST, CAROUSEL, IS_WHOLE = range(11)
BLOCK_LO, BLOCK_HI = range(11, 13)
COLUMNS = 16
BROKEN = -1  # result of a game in which no legal move had the highest value (values are NaN)

Row = NDArray[np.uint64]  # [COLUMNS]
Results = NDArray[np.int64]  # [G, 3] score, largest tile and moves of finished games


@inline
def begin_game(rules: Rules, row: Row, rng: np.uint64) -> None:
    """Start a game: the empty board after two spawns."""
    first = step(rng)
    second = step(first)
    board = spawn(rules, spawn(rules, Board(ZERO, ZERO), mix(first)), mix(second))
    row[RNG] = second
    set_board(row, board)
    row[SCORE] = row[MOVES] = row[FIRST] = ZERO
    row[IS_WHOLE] = ONE


@inline
def go_on(rules: Rules, row: Row, after: Board, reward: np.uint64) -> None:
    """Make a move and spawn a tile."""
    row[AFTER_LO], row[AFTER_HI] = after.lo, after.hi
    row[SCORE] += reward
    row[MOVES] += ONE
    row[RNG] = step(row[RNG])
    set_board(row, spawn(rules, after, mix(row[RNG])))


@inline
def set_board(row: Row, board: Board) -> None:
    """Set the board to move on."""
    row[BOARD_LO], row[BOARD_HI] = board.lo, board.hi


@inline
def board_of(row: Row) -> Board:
    """Return the board to move on."""
    return Board(row[BOARD_LO], row[BOARD_HI])


@inline
def last_afterstate(row: Row) -> Board:
    """Return the board before the last spawn."""
    return Board(row[AFTER_LO], row[AFTER_HI])


@kernel
def spawn_code(rules: Rules, before: Board, after: Board) -> int:
    """Return the code of the spawn between two boards.

    Returns:
        2 * cell + (1 if the tile is a 4 else 0); cells are numbered row by row.
    """
    tile = after.lo ^ before.lo
    at = 0
    while tile > np.uint64(2):
        tile >>= U4
        at += 1
    return 2 * (rules.columns * (at // 4) + at % 4) + int(tile >> ONE)


@inline
def place_spawn(rules: Rules, board: Board, code: int) -> Board:
    """Return the board with a spawned tile added; the inverse of `spawn_code`."""
    return Board(board.lo | ONE << (spawn_place(rules, code) + np.uint64(code & 1)), board.hi)


@inline
def spawn_place(rules: Rules, code: int) -> np.uint64:
    """Return the bit at which the nibble of the cell of a spawn begins in a word."""
    cell = code >> 1
    return np.uint64(4 * (4 * (cell // rules.columns) + cell % rules.columns))


@inline
def largest_tile(row: Row) -> np.int64:
    """Return the largest tile of the board of a row."""
    return np.int64(1) << max_cell(board_of(row))


@inline
def write_result(row: Row, result: NDArray[np.int64]) -> None:
    """Write score, largest tile and moves of a finished game to its row of Results."""
    result[0], result[1], result[2] = np.int64(row[SCORE]), largest_tile(row), np.int64(row[MOVES])
