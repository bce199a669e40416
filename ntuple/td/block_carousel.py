"""Blocks of the carousel of TDL2048+ (its option `-b 2048 65536`), probably the variant in Guei 2023, sec. 4.2.4.

The block of a board is the set of its tiles from a block tile on, read as bits: with 2048, a board with 16384 and 4096
is in block (16384 + 4096) / 2048 = 10. The next block has the smallest missing one of these tiles instead of all
smaller ones of them: block 10 adds a 2048; block 11, with 16384, 4096 and 2048, is followed by 16384 and 8192.
"""

import numpy as np

from ntuple.game.bitboard import ONE, U4, U15, ZERO, Board, Sides, count_cells, empty_cells, kth_cell, level_at
from ntuple.game.jit import kernel

MOST_LEVELS = 32  # a cell has five bits


@kernel
def next_block(rules: Sides, first: int, limit: int, board: Board) -> tuple[Board, bool]:
    """Return a board of the next block, made from a board, and whether its tiles of the block sum to less than `limit`.

    `first` is log2 of the block tile.

    The new tile takes a cell of the largest smaller tile, of an empty cell if there is none. If that tile was the only
    one of its kind and below the block tile, the next smaller tile makes it anew in the same way. The merged tiles of
    the block become the largest tile below the block tile. One cell stays empty: the smallest tile leaves a full board
    (TDL2048+: the smallest one that is there twice).
    """
    added = first
    while _cells_of(rules, board, added):
        added += 1
    tile = added
    while tile > 0:
        below = _largest_below(rules, board, tile)
        cells = _cells_of(rules, board, below)
        board = _put(board, kth_cell(cells, ZERO), tile)
        tile = below if below < first and count_cells(cells) == ONE else 0
    small = _largest_below(rules, board, first)
    for level in range(first, added):
        board = _put(board, _cells_of(rules, board, level), small)
    if not empty_cells(rules, board):
        smallest = 1
        while not _cells_of(rules, board, smallest):
            smallest += 1
        board = _put(board, kth_cell(_cells_of(rules, board, smallest), ZERO), 0)
    block = 0
    for level in range(first, MOST_LEVELS):
        if _cells_of(rules, board, level):
            block += 1 << level
    return board, block < limit


@kernel
def _cells_of(rules: Sides, board: Board, level: int) -> np.uint64:
    """Return bit 0 of each cell that holds a level, 0 = empty."""
    cells = ZERO
    for cell in range(16):
        if level_at(board, cell) == np.uint64(level):
            cells |= ONE << np.uint64(4 * cell)
    return cells & rules.cells


@kernel
def _put(board: Board, cells: np.uint64, level: int) -> Board:
    """Return the board with a level in the cells whose bit 0 is set."""
    tile = np.uint64(level)
    return Board((board.lo & ~(cells * U15)) | cells * (tile & U15), (board.hi & ~cells) | cells * (tile >> U4))


@kernel
def _largest_below(rules: Sides, board: Board, level: int) -> int:
    """Return the largest level on the board below a level; 0, an empty cell, if there is none."""
    level -= 1
    while level > 0 and not _cells_of(rules, board, level):
        level -= 1
    return level
