"""Tile-downgrading (Guei 2023, sec. 3.4.3): a search sees smaller tiles, which training has met more often."""

import numpy as np

from ntuple.game.bitboard import ONE, U4, U15, ZERO, Board, level_at, max_cell
from ntuple.game.jit import kernel


@kernel
def downgraded(board: Board, threshold: np.uint64, exception: np.uint64, repeats: bool) -> Board:
    """Return the board with all tiles above its largest missing tile halved (Guei 2023, eq. 33).

    A tile is missing if it is smaller than the largest one and not on the board. The board is returned unchanged if no
    tile is missing; if its tiles, as bits of one number, are below `threshold`; or if it holds all tiles of `exception`
    and none above the largest of these. With `repeats` the halved board is halved again in the same way, until then.
    """
    while True:
        tiles = ZERO
        for cell in range(16):
            tiles |= (ONE << level_at(board, cell)) & ~ONE
        largest = max_cell(board)
        missing = largest - 1
        while missing > 0 and (tiles >> np.uint64(missing)) & ONE:
            missing -= 1
        is_excepted = tiles & exception == exception and tiles ^ exception < exception
        if tiles < threshold or is_excepted or missing <= 0:
            return board
        lo, hi = ZERO, ZERO
        for cell in range(16):
            level = level_at(board, cell)
            level -= np.uint64(np.int64(level) > missing)
            lo |= (level & U15) << np.uint64(4 * cell)
            hi |= (level >> U4) << np.uint64(4 * cell)
        board = Board(lo, hi)
        if not repeats:
            return board
