"""Games in progress: one row of 16 words for each game, used by the kernels of players and learners.

    RNG                    state of the random stream
    BOARD_LO, BOARD_HI     the board to move on
    AFTER_LO, AFTER_HI     the last afterstate
    SCORE, MOVES           points and moves so far
    NUMBER                 players: number of the game
    FIRST                  learners: number of the first move of the episode
    CAROUSEL               learners: stage of the carousel in which the episode began
    IS_WHOLE               learners: 1 if the episode began with two tiles, else 0
    BLOCK_LO, BLOCK_HI     learners: the last afterstate that entered a block (ntuple.td.block_carousel)
    PLACED                 points of the tiles that were placed since the last move; not written in 2048

A row has 128 bytes, so that two threads never write to the same cache line.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntuple.core.games.definition import MOST_LEVELS
from ntuple.core.games.event_codes import HINTS
from ntuple.game.any_game import AnyRules, hint_of, opening, spawn, tile_of
from ntuple.game.bitboard import ONE, U4, U15, ZERO, Board, Rules, level_at, max_cell
from ntuple.game.family import FIFTH, FamilyRules, by_game
from ntuple.game.family_events import HINT, before_first_tile, draw_of, free_afterstate, with_tile
from ntuple.game.jit import inline, inline_once, kernel
from ntuple.game.rng import mix, step

RNG, BOARD_LO, BOARD_HI, AFTER_LO, AFTER_HI, SCORE, MOVES, NUMBER, FIRST, CAROUSEL, IS_WHOLE = range(11)
BLOCK_LO, BLOCK_HI, PLACED = range(11, 14)
COLUMNS = 16
BROKEN = -1  # result of a game in which no legal move had the highest value (values are NaN)

Row = NDArray[np.uint64]  # [COLUMNS]
Results = NDArray[np.int64]  # [G, 3] score, largest tile and moves of finished games


@inline
def begin_game(rules: AnyRules, row: Row, rng: np.uint64) -> None:
    """Start a game: the board with the first tiles."""
    board, row[RNG], points = opening(rules, rng)
    set_board(row, board)
    row[SCORE] = points
    row[MOVES] = row[FIRST] = ZERO
    row[IS_WHOLE] = ONE
    _keep_placed(rules, row, points)


@inline_once
def go_on(rules: AnyRules, row: Row, after: Board, reward: np.uint64) -> None:
    """Make a move and place a tile."""
    row[SCORE] += reward + place_tile(rules, row, after)
    row[MOVES] += ONE


@inline
def place_tile(rules: AnyRules, row: Row, after: Board) -> np.uint64:
    """Place a tile on an afterstate; return its points."""
    row[RNG] = step(row[RNG])
    board, points = spawn(rules, after, mix(row[RNG]))
    put_tile(rules, row, after, board, points)
    return points


@inline
def put_tile(rules: AnyRules, row: Row, after: Board, board: Board, points: np.uint64) -> None:
    """Go from an afterstate to the board with a placed tile of so many points, without the score."""
    row[AFTER_LO], row[AFTER_HI] = after.lo, after.hi
    set_board(row, board)
    _keep_placed(rules, row, points)


@inline
def _keep_nothing(rules: Rules, row: Row, points: np.uint64) -> None:
    pass


@inline
def _keep_points(rules: FamilyRules, row: Row, points: np.uint64) -> None:
    row[PLACED] = points


@inline
def _as_it_is(rules: Rules, row: Row, reward: np.float32) -> np.float32:
    return reward


@inline
def _with_points(rules: FamilyRules, row: Row, reward: np.float32) -> np.float32:
    return reward + np.float32(row[PLACED])


_keep_placed = by_game(_keep_nothing, _keep_points)
with_placed = by_game(_as_it_is, _with_points)  # (rules, row, reward): the points since the last afterstate


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
def _spawn_code(rules: Rules, before: Board, after: Board) -> int:
    tile = after.lo ^ before.lo
    at = 0
    while tile > np.uint64(2):
        tile >>= U4
        at += 1
    return 2 * (rules.columns * (at // 4) + at % 4) + int(tile >> ONE)


@kernel
def _event_code(rules: FamilyRules, before: Board, after: Board) -> int:
    tile, at = (after.lo ^ before.lo) | ((after.hi ^ before.hi) & FIFTH), 0
    while tile > U15:
        tile >>= U4
        at += 1
    cell = rules.columns * (at // 4) + at % 4
    return (cell * MOST_LEVELS + int(level_at(after, at))) * HINTS + int(hint_of(rules, after))


# (rules, before, after): the code of the chance event between two boards; cells are numbered row by row. In 2048 it is
# 2 * cell + (1 if the tile is a 4 else 0), in other games (32 * cell + level) * 8 + next hint.
spawn_code = by_game(_spawn_code, _event_code)


def num_spawn_codes(rules: AnyRules) -> int:
    """Return the number of codes of spawns."""
    return rules.rows * rules.columns * (MOST_LEVELS * HINTS if isinstance(rules, FamilyRules) else 2)


@inline
def nibble_of(rules: AnyRules, cell: int) -> np.uint64:
    """Return the bit at which the nibble of a cell begins in a word; cells are numbered row by row."""
    return np.uint64(4 * (4 * (cell // rules.columns) + cell % rules.columns))


@inline
def _place_spawn(rules: Rules, board: Board, code: int) -> Board:
    return Board(board.lo | ONE << (nibble_of(rules, code >> 1) + np.uint64(code & 1)), board.hi)


@inline
def _place_event(rules: FamilyRules, board: Board, code: int) -> Board:
    cell = ONE << nibble_of(rules, _cell_of_event(rules, code))
    return with_tile(rules, board, cell, _level_of_event(rules, code), hint_of_event(code))


@inline
def _cell_of_spawn(rules: Rules, code: int) -> int:
    return int(np.int64(code) >> 1)


@inline
def _cell_of_event(rules: FamilyRules, code: int) -> int:
    return int(np.int64(code) // (MOST_LEVELS * HINTS))


@inline
def _level_of_spawn(rules: Rules, code: int) -> int:
    return 1 + int(np.int64(code) & 1)


@inline
def _level_of_event(rules: FamilyRules, code: int) -> int:
    return int(np.int64(code) // HINTS % MOST_LEVELS)


@inline
def hint_of_event(code: int) -> np.uint64:
    """Return the hint after an event of a game that is not 2048."""
    return np.uint64(code) & HINT


@inline
def _empty_board(rules: Rules, code: int) -> Board:
    return Board(ZERO, ZERO)


@inline
def _before_first_tile(rules: FamilyRules, code: int) -> Board:
    return before_first_tile(rules, _level_of_event(rules, code))


@inline
def _and_nothing(rules: Rules, board: Board) -> Board:
    return board


@inline
def _with_all_places(rules: FamilyRules, board: Board) -> Board:
    return free_afterstate(rules, board, draw_of(board))


# (rules, code): the cell of a chance event, and the level of its tile
cell_of: Any = by_game(_cell_of_spawn, _cell_of_event)
level_of: Any = by_game(_level_of_spawn, _level_of_event)
# (rules, board, code): the state after the chance event of a code, the inverse of `spawn_code`
place_spawn: Any = by_game(_place_spawn, _place_event)
# (rules, code): the board before the first tile of a game, by the code of its placement
before_opening: Any = by_game(_empty_board, _before_first_tile)
# (rules, board): a board of an opening on which the next first tile is placed
open_for_tile: Any = by_game(_and_nothing, _with_all_places)


@inline
def largest_tile(rules: AnyRules, row: Row) -> np.int64:
    """Return the largest tile of the board of a row."""
    return tile_of(rules, max_cell(board_of(row)))


@inline
def write_result(rules: AnyRules, row: Row, result: NDArray[np.int64]) -> None:
    """Write score, largest tile and moves of a finished game to its row of Results."""
    result[0], result[1], result[2] = np.int64(row[SCORE]), largest_tile(rules, row), np.int64(row[MOVES])
