"""Boards of H x W <= 4 x 4 cells as two 64-bit words, and the rules of 2048 on them.

Layout: cell (r, c) has bits 4(4r + c) .. 4(4r + c) + 3 for any width. A smaller board is in the top left corner, and
the cells outside of it stay empty. `lo` holds the low 4 bits of log2(tile). `hi` holds the 5th bit, at bit 0 of the
same nibble. So tiles up to 2^31 are exact, and the same mirror and transpose functions serve both words.

Moves: a board whose tiles stay below 65536 slides row by row with a table, any other board by plain arithmetic. Up,
right and down are left moves of the transposed or mirrored board.
"""

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ntuple.core import rules as shared
from ntuple.core.rules import DOWN, LEFT, RIGHT, UP, check_sides
from ntuple.game.jit import inline, inline_once, kernel
from ntuple.game.rng import bounded

ZERO, ONE, U2, U3, U4, U8 = (np.uint64(n) for n in (0, 1, 2, 3, 4, 8))
U12, U15, U16, U24, U30, U32, U48, U56 = (np.uint64(n) for n in (12, 15, 16, 24, 30, 32, 48, 56))
ROW = np.uint64(0xFFFF)
LOW_32 = np.uint64(0xFFFFFFFF)
FOUR_BELOW = np.uint64(shared.FOUR_BELOW)


class Board(NamedTuple):
    """A board: the low four bits (`lo`) and the fifth bit (`hi`) of log2(tile) of each cell; 0 = empty."""

    lo: np.uint64
    hi: np.uint64


class Rules(NamedTuple):
    """Constants of the game on an H x W board, for kernels; made by `make_rules`."""

    slide: NDArray[np.uint32]  # [65536] left move of a row: the row in bits 0..15, reward / 4 in bits 16..31
    cells: np.uint64  # bit 0 of each cell of the board
    mirror_shift: np.uint64  # right shift that returns a mirrored board to the left edge: 4(4 - W) bits
    flip_shift: np.uint64  # right shift that returns a flipped board to the top edge: 16(4 - H) bits
    rows: int  # H
    columns: int  # W


class Sides(Protocol):
    """The rules of any game, as far as their board goes; see `Rules`."""

    @property
    def cells(self) -> np.uint64:
        """Bit 0 of each cell of the board."""

    @property
    def mirror_shift(self) -> np.uint64:
        """Bits by which a mirrored board moves."""

    @property
    def flip_shift(self) -> np.uint64:
        """Bits by which a flipped board moves."""

    @property
    def rows(self) -> int:
        """H."""

    @property
    def columns(self) -> int:
        """W."""


@inline
def mirror4(x: np.uint64) -> np.uint64:
    """Return the 4 x 4 word with left and right exchanged."""
    x = ((x >> U4) & np.uint64(0x0F0F0F0F0F0F0F0F)) | ((x & np.uint64(0x0F0F0F0F0F0F0F0F)) << U4)
    return ((x >> U8) & np.uint64(0x00FF00FF00FF00FF)) | ((x & np.uint64(0x00FF00FF00FF00FF)) << U8)


@inline
def flip4(x: np.uint64) -> np.uint64:
    """Return the 4 x 4 word with top and bottom exchanged."""
    x = ((x >> U16) & np.uint64(0x0000FFFF0000FFFF)) | ((x & np.uint64(0x0000FFFF0000FFFF)) << U16)
    return (x >> U32) | (x << U32)


@inline
def transpose(x: np.uint64) -> np.uint64:
    """Return the word with rows and columns exchanged: first inside each 2 x 2 block, then the blocks."""
    x = (
        (x & np.uint64(0xF0F00F0FF0F00F0F))
        | ((x & np.uint64(0x0000F0F00000F0F0)) << U12)
        | ((x & np.uint64(0x0F0F00000F0F0000)) >> U12)
    )
    return (
        (x & np.uint64(0xFF00FF0000FF00FF))
        | ((x & np.uint64(0x00000000FF00FF00)) << U24)
        | ((x & np.uint64(0x00FF00FF00000000)) >> U24)
    )


@inline
def slide_row(lo: np.uint64, hi: np.uint64) -> tuple[np.uint64, np.uint64, np.uint64]:
    """Slide a row of four cells to the left by plain arithmetic; return its two words and the reward."""
    out_lo, out_hi, reward = ZERO, ZERO, ZERO
    place = ZERO  # bit position of the next free cell
    waiting = ZERO  # the last tile, if the next one may merge with it; else 0
    for column in range(4):
        at = np.uint64(4 * column)
        tile = ((lo >> at) & U15) | (((hi >> at) & ONE) << U4)
        if tile == ZERO:
            continue
        if tile == waiting:
            place -= U4
            out_lo &= ~(U15 << place)
            out_hi &= ~(ONE << place)
            tile += ONE
            reward += ONE << tile
            waiting = ZERO
        else:
            waiting = tile
        out_lo |= (tile & U15) << place
        out_hi |= (tile >> U4) << place
        place += U4
    return out_lo, out_hi, reward


@inline
def _move_left_exact(board: Board) -> tuple[Board, np.uint64]:
    lo, hi, reward = ZERO, ZERO, ZERO
    for row in range(4):
        at = np.uint64(16 * row)
        row_lo, row_hi, row_reward = slide_row((board.lo >> at) & ROW, (board.hi >> at) & ROW)
        lo |= row_lo << at
        hi |= row_hi << at
        reward += row_reward
    return Board(lo, hi), reward


@inline
def move_left(rules: Rules, board: Board) -> tuple[Board, np.uint64]:
    """Return the board after a left move and the reward; the same board if the move is not legal."""
    x = board.lo
    a = np.uint64(rules.slide[x & ROW])
    b = np.uint64(rules.slide[(x >> U16) & ROW])
    c = np.uint64(rules.slide[(x >> U32) & ROW])
    d = np.uint64(rules.slide[x >> U48])
    # A merge to 65536 needs `hi`. The reward / 4 of its row is at least 2^14, so bit 30 or 31 is set.
    if board.hi | ((a | b | c | d) >> U30):
        return _move_left_exact(board)
    lo = (a & ROW) | ((b & ROW) << U16) | ((c & ROW) << U32) | ((d & ROW) << U48)
    return Board(lo, ZERO), ((a >> U16) + (b >> U16) + (c >> U16) + (d >> U16)) << U2


@inline
def mirror(rules: Sides, board: Board) -> Board:
    """Return the H x W board with left and right exchanged."""
    hi = mirror4(board.hi) >> rules.mirror_shift if board.hi else ZERO
    return Board(mirror4(board.lo) >> rules.mirror_shift, hi)


@inline
def flip(rules: Sides, board: Board) -> Board:
    """Return the H x W board with top and bottom exchanged."""
    hi = flip4(board.hi) >> rules.flip_shift if board.hi else ZERO
    return Board(flip4(board.lo) >> rules.flip_shift, hi)


@inline
def transposed(board: Board) -> Board:
    """Return the W x H board with rows and columns exchanged."""
    hi = transpose(board.hi) if board.hi else ZERO
    return Board(transpose(board.lo), hi)


@kernel
def afterstate(rules: Rules, board: Board, action: int) -> tuple[Board, np.uint64]:
    """Compute the afterstate of an action: the board after the move and before the spawn."""
    if action == LEFT:
        return move_left(rules, board)
    if action == RIGHT:
        after, reward = move_left(rules, mirror(rules, board))
        return mirror(rules, after), reward
    if action == UP:
        after, reward = move_left(rules, transposed(board))
        return transposed(after), reward
    after, reward = move_left(rules, transposed(flip(rules, board)))
    return flip(rules, transposed(after)), reward


@inline
def turned_afterstate(rules: Rules, board: Board, action: int) -> tuple[Board, Board, np.uint64]:
    """Compute the afterstate of an action up to a symmetry of the board.

    To turn the afterstate back would cost as much as the first turn. Spawns do not need it, nor does a value function
    V that has all symmetries.

    Returns:
        The board and its afterstate, both turned in the same way, and the reward. The move is legal if the two boards
        differ.
    """
    source = board
    if action == RIGHT:
        source = mirror(rules, board)
    elif action == UP:
        source = transposed(board)
    elif action == DOWN:
        source = transposed(flip(rules, board))
    after, reward = move_left(rules, source)
    if rules.rows != rules.columns and action in (UP, DOWN):
        return transposed(source), transposed(after), reward  # the game has no W x H boards
    return source, after, reward


@inline
def is_same(one: Board, other: Board) -> bool:
    """Return whether two boards are equal. If an afterstate equals its board, the move is not legal."""
    return one.lo == other.lo and one.hi == other.hi


@inline
def empty_cells(rules: Sides, board: Board) -> np.uint64:
    """Return a word with bit 0 of each empty cell of the board set."""
    occupied = board.lo | (board.lo >> U2)
    occupied |= (occupied >> ONE) | board.hi
    return rules.cells & ~occupied


@inline
def count_cells(cells: np.uint64) -> np.uint64:
    """Count the cells, 0..16, whose bit 0 is set."""
    pairs = (cells + (cells >> U4)) & np.uint64(0x0303030303030303)
    return (pairs * np.uint64(0x0101010101010101)) >> U56


@inline
def kth_cell(cells: np.uint64, k: np.uint64) -> np.uint64:
    """Return bit 0 of the k-th cell, from 0, among the cells whose bit 0 is set."""
    for _ in range(k):
        cells &= cells - ONE
    return cells & (~cells + ONE)


@inline
def spawn(rules: Rules, board: Board, bits: np.uint64) -> Board:
    """Place a 2 or, with probability FOUR_SHARE, a 4 in a uniformly drawn empty cell."""
    empty = empty_cells(rules, board)
    cell = kth_cell(empty, bounded(bits, count_cells(empty)))
    is_four = np.uint64((bits & LOW_32) < FOUR_BELOW)
    return Board(board.lo | (cell << is_four), board.hi)


@inline_once
def level_at(board: Board, cell: int) -> np.uint64:
    """Return log2 of the tile in one of the sixteen cells of the word, 0 = empty."""
    at = np.uint64(4 * cell)
    return ((board.lo >> at) & U15) | (((board.hi >> at) & ONE) << U4)


@inline
def max_cell(board: Board) -> np.int64:
    """Return log2 of the largest tile."""
    largest = ZERO
    for cell in range(16):
        largest = max(largest, level_at(board, cell))
    return np.int64(largest)


@inline_once
def index_word(board: Board) -> np.uint64:
    """Return the board as the index of an n-tuple uses it: one nibble for each cell, with larger tiles as 32768."""
    return board.lo | (board.hi * U15)


@kernel
def _fill_slide_table(table: NDArray[np.uint32]) -> None:
    for row in range(65536):
        lo, _, reward = slide_row(np.uint64(row), ZERO)
        table[row] = np.uint32(lo | ((reward >> U2) << U16))


def make_rules(rows: int, columns: int) -> Rules:
    """Make the rules of 2048 on a board of `rows` x `columns`; see `check_sides` for the errors."""
    check_sides(rows, columns)
    slide = np.empty(65536, np.uint32)
    _fill_slide_table(slide)
    return Rules(slide, **board_constants(rows, columns))


def board_constants(rows: int, columns: int) -> dict[str, Any]:
    """Return the fields of `Rules` that follow from the sides of the board."""
    cells = sum(1 << 4 * (4 * r + c) for r in range(rows) for c in range(columns))
    return {
        "cells": np.uint64(cells),
        "mirror_shift": np.uint64(4 * (4 - columns)),
        "flip_shift": np.uint64(16 * (4 - rows)),
        "rows": rows,
        "columns": columns,
    }


def word_shifts(rules: Sides) -> NDArray[np.uint64]:
    """Return the bits uint64[H, W] at which the nibbles of the cells begin in a word."""
    return np.add.outer(16 * np.arange(rules.rows), 4 * np.arange(rules.columns)).astype(np.uint64)


def words_of_cells(rules: Sides, cells: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Return `lo` and `hi` of the boards of levels [N, H, W], as uint64[N, 2]."""
    shifts, levels = word_shifts(rules), cells.astype(np.uint64)
    words = [(part << shifts).sum(axis=(1, 2), dtype=np.uint64) for part in (levels & U15, levels >> U4)]
    return np.stack(words, axis=1)


def encode(cells: NDArray[np.integer]) -> Board:
    """Return the board of log2 tiles `cells` int[H, W]."""
    tiles = {4 * (4 * r + c): int(tile) for (r, c), tile in np.ndenumerate(cells)}
    lo = sum((tile & 15) << at for at, tile in tiles.items())
    hi = sum((tile >> 4) << at for at, tile in tiles.items())
    return Board(np.uint64(lo), np.uint64(hi))


def decode(rules: Sides, board: Board) -> NDArray[np.int64]:
    """Return the log2 tiles int64[H, W] of a board."""
    lo, hi = int(board.lo), int(board.hi)
    tile = [(lo >> 4 * i & 15) | (hi >> 4 * i & 1) << 4 for i in range(16)]
    return np.array(tile, np.int64).reshape(4, 4)[: rules.rows, : rules.columns]
