"""Boards of any game of the family, and its rules on them: one table for all lines.

The words are those of ntuple/game/bitboard.py: `lo` has the low four bits of the level of a cell, bit 0 of the same
nibble of `hi` the fifth. The other bits of `hi` hold the rest of the position, so it travels with the board:

    bit 1       afterstates: the environment may place a tile here; 0 in a game that places tiles anywhere
    bits 2, 3   two bits of the draw, twelve in all, in the first six nibbles: hint, and three bits for each count of
                the bag (ntuple.core.games.definition.State)

2048 itself has faster kernels in bitboard.py. `by_game` makes one function of both; numba chooses when it compiles.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntuple.core.games.definition import MOST_LEVELS, Bag, Game
from ntuple.core.rules import DOWN, LEFT, RIGHT, UP, check_sides
from ntuple.game.bitboard import (
    ONE,
    ROW,
    U2,
    U4,
    U8,
    U12,
    U15,
    U16,
    U32,
    U48,
    ZERO,
    Board,
    board_constants,
    flip4,
    mirror4,
    transpose,
)
from ntuple.game.jit import either, inline, kernel

ONES = np.uint64(0x1111111111111111)  # bit 0 of each nibble
FIFTH = ONES  # the fifth bits of levels
PLACE = np.uint64(0x2222222222222222)  # bit 1 of each nibble
DRAW = np.uint64(0xCCCCCCCCCCCCCCCC)  # bits 2 and 3 of each nibble
ROW_STARTS = np.uint64(0x0001000100010001)
GATHER = np.uint64(0x1248)  # x * GATHER has bits 0, 4, 8, 12 of x at 12, 13, 14, 15
SLIDES = 1 << 20  # rows of four cells
ANYWHERE, FAR_SIDE, CHANGED_LINES = range(3)
PLACEMENTS = {"anywhere": ANYWHERE, "far side": FAR_SIDE, "changed lines": CHANGED_LINES}


class FamilyRules(NamedTuple):
    """Constants of a game on an H x W board, for kernels; made by `make_family_rules`."""

    slide: NDArray[np.uint64]  # [2^20] left move of a row: `lo` in bits 0..15, `hi` in 16..31, points in 32..63
    tiles: NDArray[np.int64]  # [32] tile of each level
    place_points: NDArray[np.int64]  # [32] points of a placed tile
    spawn_levels: NDArray[np.int64]  # [S] levels of placed tiles; [0] in a game with a bag
    spawn_chances: NDArray[np.float64]  # [S] their probabilities
    kinds: int  # levels in the bag, 0 = no bag
    each: int  # tiles of each kind in a full bag
    bonus: NDArray[np.int64]  # [3] bonus_from, bonus_least, bonus_below of `Bag`
    bonus_share: float
    initial_tiles: int
    goals: NDArray[np.int64]  # [G] tiles of which the shares of games that reach them are reported
    placement: int  # ANYWHERE, FAR_SIDE or CHANGED_LINES
    cells: np.uint64  # bit 0 of each cell of the board
    mirror_shift: np.uint64  # see Rules in bitboard.py, as of all fields below
    flip_shift: np.uint64
    rows: int
    columns: int


def is_family(rules: Any) -> bool:
    """Return whether rules, or rules of a type of numba, are FamilyRules."""
    return getattr(rules, "instance_class", type(rules)) is FamilyRules


def by_game(of_2048: Callable[..., Any], of_family: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of rules and other arguments that is `of_2048` or, for FamilyRules, `of_family`."""
    return either(of_2048, of_family, lambda rules, *_: is_family(rules))


@inline
def _moved(board: Board, lo: np.uint64, hi: np.uint64) -> Board:
    """Return the board of turned cells with the draw of the board."""
    return Board(lo, hi | (board.hi & DRAW))


@inline
def mirror(rules: FamilyRules, board: Board) -> Board:
    """Return the H x W board with left and right exchanged."""
    cells = board.hi & ~DRAW
    hi = mirror4(cells) >> rules.mirror_shift if cells else ZERO
    return _moved(board, mirror4(board.lo) >> rules.mirror_shift, hi)


@inline
def flip(rules: FamilyRules, board: Board) -> Board:
    """Return the H x W board with top and bottom exchanged."""
    cells = board.hi & ~DRAW
    hi = flip4(cells) >> rules.flip_shift if cells else ZERO
    return _moved(board, flip4(board.lo) >> rules.flip_shift, hi)


@inline
def transposed(board: Board) -> Board:
    """Return the W x H board with rows and columns exchanged."""
    cells = board.hi & ~DRAW
    return _moved(board, transpose(board.lo), transpose(cells) if cells else ZERO)


@inline
def slide_index(lo: np.uint64, hi: np.uint64) -> np.uint64:
    """Return the index of a row, from its 16 bits of both words: the fifth bits follow the others."""
    return lo | ((((hi & FIFTH & ROW) * GATHER) >> U12) & U15) << U16


@inline
def move_left(rules: FamilyRules, board: Board, lines: int, length: int) -> tuple[Board, np.uint64]:
    """Return the board after a left move, with the places of the next tile, and the points.

    The same board if the move is not legal. The board, which may be turned, has `lines` rows of `length` cells.
    """
    x, fifth = board.lo, board.hi & FIFTH
    rows = x & ROW, (x >> U16) & ROW, (x >> U32) & ROW, x >> U48
    if fifth:
        fifths = fifth & ROW, (fifth >> U16) & ROW, (fifth >> U32) & ROW, fifth >> U48
        a, b = rules.slide[slide_index(rows[0], fifths[0])], rules.slide[slide_index(rows[1], fifths[1])]
        c, d = rules.slide[slide_index(rows[2], fifths[2])], rules.slide[slide_index(rows[3], fifths[3])]
    else:
        a, b, c, d = rules.slide[rows[0]], rules.slide[rows[1]], rules.slide[rows[2]], rules.slide[rows[3]]
    lo = (a & ROW) | ((b & ROW) << U16) | ((c & ROW) << U32) | ((d & ROW) << U48)
    hi = ((a >> U16) & ROW) | (b & (ROW << U16)) | ((c & (ROW << U16)) << U16) | ((d & (ROW << U16)) << U32)
    if lo == x and hi == fifth:
        return board, ZERO
    if rules.placement != ANYWHERE:
        ends = ROW_STARTS >> np.uint64(16 * (4 - lines))
        if rules.placement == CHANGED_LINES:
            ends &= _changed_rows((lo ^ x) | (hi ^ fifth))
        ends <<= np.uint64(4 * (length - 1))
        hi |= (ends & ~occupied(lo, hi)) << ONE
    return _moved(board, lo, hi), (a >> U32) + (b >> U32) + (c >> U32) + (d >> U32)


@inline
def _changed_rows(change: np.uint64) -> np.uint64:
    """Return a word with bit 0 of each row of 16 bits that is not 0."""
    change |= change >> U8
    change |= change >> U4
    change |= change >> U2
    return (change | change >> ONE) & ROW_STARTS


@inline
def occupied(lo: np.uint64, hi: np.uint64) -> np.uint64:
    """Return a word with bit 0 of each cell with a tile, and other bits."""
    occupied = lo | (lo >> U2)
    return occupied | (occupied >> ONE) | (hi & FIFTH)


@kernel
def afterstate(rules: FamilyRules, board: Board, action: int) -> tuple[Board, np.uint64]:
    """Compute the afterstate of an action, with the places of the next tile; the same board if it is not legal."""
    if action == LEFT:
        after, points = move_left(rules, board, rules.rows, rules.columns)
    elif action == RIGHT:
        after, points = move_left(rules, mirror(rules, board), rules.rows, rules.columns)
        after = mirror(rules, after)
    elif action == UP:
        after, points = move_left(rules, transposed(board), rules.columns, rules.rows)
        after = transposed(after)
    else:
        after, points = move_left(rules, transposed(flip(rules, board)), rules.columns, rules.rows)
        after = flip(rules, transposed(after))
    return after, points


@inline
def turned_afterstate(rules: FamilyRules, board: Board, action: int) -> tuple[Board, Board, np.uint64]:
    """Compute the afterstate of an action up to a symmetry of the board; see bitboard.py."""
    source, lines, length = board, rules.rows, rules.columns
    if action == RIGHT:
        source = mirror(rules, board)
    elif action == UP:
        source = transposed(board)
    elif action == DOWN:
        source = transposed(flip(rules, board))
    if action in (UP, DOWN):
        lines, length = length, lines
    after, points = move_left(rules, source, lines, length)
    if rules.rows != rules.columns and action in (UP, DOWN):
        return transposed(source), transposed(after), points
    return source, after, points


@inline
def _slide_far(merges: NDArray[np.int64], points_of: NDArray[np.int64], line: int) -> tuple[int, int]:
    """Slide a line of five bits a cell to its first cell, as far as it goes; return it and the points."""
    out, points, place, may_merge = 0, 0, 0, False
    for cell in range(4):
        level = (line >> 5 * cell) & 31
        if level == 0:
            continue
        last = (out >> 5 * (place - 1)) & 31 if may_merge else 0
        merged = merges[last, level]
        if merged:
            points += points_of[last, level]
            out ^= (last ^ merged) << 5 * (place - 1)
        else:
            out |= level << 5 * place
            place += 1
        may_merge = not merged
    return out, points


@inline
def _slide_one_cell(merges: NDArray[np.int64], points_of: NDArray[np.int64], line: int) -> tuple[int, int]:
    """Slide a line by one cell at most: the first gap or the first pair that merges, from the wall."""
    for cell in range(3):
        level, behind = (line >> 5 * cell) & 31, (line >> 5 * cell + 5) & 31
        before = line & ((1 << 5 * cell) - 1)
        if level == 0:
            return before | line >> 5 * cell + 5 << 5 * cell, 0
        if merges[level, behind]:
            rest = line >> 5 * cell + 10 << 5 * cell + 5
            return before | merges[level, behind] << 5 * cell | rest, points_of[level, behind]
    return line, 0


@kernel
def _fill_slide_table(
    merges: NDArray[np.int64], points_of: NDArray[np.int64], one_cell: bool, table: NDArray[np.uint64]
) -> None:
    """Compute the left move of every row; `merges` and `points_of` are int64[32, 32], of two levels from the wall."""
    for row in range(table.size):
        line = 0
        for cell in range(4):
            line |= ((row >> 4 * cell) & 15 | ((row >> 16 + cell) & 1) << 4) << 5 * cell
        slid, points = _slide_one_cell(merges, points_of, line) if one_cell else _slide_far(merges, points_of, line)
        entry = points << 32
        for cell in range(4):
            level = (slid >> 5 * cell) & 31
            entry |= (level & 15 | level >> 4 << 16) << 4 * cell
        table[row] = np.uint64(entry)


def make_family_rules(game: Game, rows: int, columns: int) -> FamilyRules:
    """Make the rules of a game on a board of `rows` x `columns`; see `check_sides` for the errors."""
    check_sides(rows, columns)
    tiles, place_points = np.zeros(MOST_LEVELS, np.int64), np.zeros(MOST_LEVELS, np.int64)
    merges, points_of = np.zeros((2, MOST_LEVELS, MOST_LEVELS), np.int64)
    for one, tile in enumerate(game.tiles):
        tiles[one], place_points[one] = tile, game.place_points(one)
        for other in range(1, len(game.tiles) if one else 0):
            merged = game.merge(one, other)
            if merged:
                merges[one, other], points_of[one, other] = merged, game.merge_points(one, other, merged)
    slide = np.empty(SLIDES, np.uint64)
    _fill_slide_table(merges, points_of, game.slides_one_cell, slide)
    levels, chances = zip(*game.spawns, strict=True) if game.spawns else ((), ())
    bag = game.bag or Bag(0, 0)
    return FamilyRules(
        slide=slide,
        tiles=tiles,
        place_points=place_points,
        spawn_levels=np.array(levels, np.int64),
        spawn_chances=np.array(chances, np.float64),
        kinds=bag.kinds,
        each=bag.each,
        bonus=np.array([bag.bonus_from, bag.bonus_least, bag.bonus_below], np.int64),
        bonus_share=float(bag.bonus_share),
        initial_tiles=game.initial_tiles,
        goals=np.array(game.goals, np.int64),
        placement=PLACEMENTS[game.placement],
        **board_constants(rows, columns),
    )
