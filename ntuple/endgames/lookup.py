"""The moves of a board of a game in tables of endgames.

A board may fit in any of its eight views, and in any arrangement of its sliding tiles. Its locked tiles are the large
ones of the game, so a move is looked up by the afterstate of the game: the pattern is lost if the tile of a locked cell
has changed, or if the large tiles of the sliding row are not the same in the same order.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntuple.endgames.layout import Layout, is_built, is_outside, layer_and_place, sum_of_lines
from ntuple.endgames.pattern import CELLS, SIDE
from ntuple.game.any_game import AnyRules, afterstate
from ntuple.game.bitboard import (
    ONE,
    ROW,
    U4,
    U15,
    ZERO,
    Board,
    flip4,
    is_same,
    level_at,
    mirror4,
    transpose,
)
from ntuple.game.jit import inline, kernel

VIEWS = 8
NONE = -1  # no view, no table
ILLEGAL = -1.0  # in place of a probability
SCALE = 2**16 - 1  # a stored value is round(SCALE * probability)


class Endgame(NamedTuple):
    """A table in the form that kernels read."""

    target: int  # level
    layout: Layout
    values: NDArray[np.uint16]  # [N] of the afterstates, in the order of the layout


@inline
def view_of(word: np.uint64, view: int) -> np.uint64:
    """Return one of the eight views of a word; the numbers are bits: mirror, flip, transpose."""
    if view & 1:
        word = mirror4(word)
    if view & 2:
        word = flip4(word)
    return transpose(word) if view & 4 else word


@kernel
def fitting_view(table: Endgame, board: Board) -> tuple[int, int]:
    """Return the first view in which a board fits, and the arrangement; (NONE, NONE) if it fits in none.

    A board with a tile above 32768 in the sliding row does not fit, since only the first four bits of tiles slide.
    """
    slides, row = table.layout.locked.size > 1, np.uint64(16 * table.layout.sliding_row)
    large, tiles = ZERO, ZERO
    for cell in range(CELLS):
        level = level_at(board, cell)
        if np.int64(level) >= table.target:
            if (tiles >> level) & ONE:
                return NONE, NONE
            tiles |= ONE << level
            large |= U15 << np.uint64(4 * cell)
    for view in range(VIEWS):
        seen = view_of(large, view)
        if slides and (view_of(board.hi, view) >> row) & ROW:
            continue
        for arrangement in range(table.layout.locked.size):
            if seen == table.layout.locked[arrangement]:
                return view, arrangement
    return NONE, NONE


@inline
def tiles_of(row: np.uint64, cells: np.uint64) -> np.uint64:
    """Return the tiles of some cells of a row, in their order; `cells` has 15 in each of them."""
    tiles = ZERO
    for column in range(SIDE):
        at = np.uint64(4 * column)
        if (cells >> at) & U15:
            tiles = (tiles << U4) | ((row >> at) & U15)
    return tiles


@inline
def arrangement_after(layout: Layout, arrangement: int, before: np.uint64, after: np.uint64) -> int:
    """Return the arrangement of the same large tiles after a move; NONE if one of them is lost.

    `before` and `after` are the boards in the view in which they fit.
    """
    row = np.uint64(16 * layout.sliding_row)
    if (before ^ after) & layout.locked[arrangement] & ~(ROW << row):
        return NONE
    tiles = tiles_of((before >> row) & ROW, (layout.locked[arrangement] >> row) & ROW)
    for other in range(layout.locked.size):
        if tiles_of((after >> row) & ROW, (layout.locked[other] >> row) & ROW) == tiles:
            return other
    return NONE


@kernel
def probability_after(table: Endgame, view: int, arrangement: int, board: Board, after: Board) -> float:
    """Return the probability of the target after a move, for a board that fits in this view and arrangement."""
    lo = view_of(after.lo, view)
    arrangement = arrangement_after(table.layout, arrangement, view_of(board.lo, view), lo)
    if arrangement == NONE or after.hi != board.hi:
        return 0.0
    word = sum_of_lines(table.layout.lines[arrangement], lo | table.layout.locked[arrangement])
    if is_built(word):
        return 1.0
    if is_outside(word):
        return 0.0
    layer, place = layer_and_place(table.layout, arrangement, word)
    if layer >= table.layout.layers.size - 1:  # above the largest sum
        return 0.0
    return table.values[table.layout.layers[layer] + place] / SCALE


@kernel
def look_up(rules: AnyRules, tables: tuple[Endgame, ...], board: Board, out: NDArray[np.float64]) -> int:
    """Return the number of the first table in which a board fits; NONE: none.

    Args:
        out: [4] receives the probabilities of its moves, ILLEGAL for a move that is not legal.
    """
    number = 0
    for table in tables:
        view, arrangement = fitting_view(table, board)
        if view >= 0:
            for action in range(4):
                after, _ = afterstate(rules, board, action)
                out[action] = (
                    ILLEGAL if is_same(after, board) else probability_after(table, view, arrangement, board, after)
                )
            return number
        number += 1  # noqa: SIM113 (numba has no enumerate over a tuple)
    return NONE


@kernel
def look_up_boards(
    rules: AnyRules,
    tables: tuple[Endgame, ...],
    words: NDArray[np.uint64],
    numbers: NDArray[np.int64],
    out: NDArray[np.float64],
) -> None:
    """Look up boards [B, 2]; `numbers` [B] and `out` [B, 4] receive what `look_up` returns and writes."""
    for i in range(words.shape[0]):
        numbers[i] = look_up(rules, tables, Board(words[i, 0], words[i, 1]), out[i])
