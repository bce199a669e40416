"""Boards of any game of the family, and its rules on them: one table for all lines.

The words are those of ntuple/game/bitboard.py: `lo` has the low four bits of the level of a cell, bit 0 of the same
nibble of `hi` the fifth. The other bits of `hi` hold the rest of the position, so it travels with the board:

    bit 1       afterstates: the environment may place a tile here; 0 in a game that places tiles anywhere
    bits 2, 3   two bits of the draw, twelve in all, in the first six nibbles: hint, and three bits for each count of
                the bag (ntuple.core.games.definition.State)

2048 itself has faster kernels in bitboard.py. `by_game` makes one function of both; numba chooses when it compiles.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntuple.core.games.definition import MOST_LEVELS, Bag, Game, State, decode_draw, encode_draw
from ntuple.core.rules import DOWN, LEFT, RIGHT, UP, check_sides
from ntuple.game.bitboard import (
    LOW_32,
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
    Rules,
    board_constants,
    count_cells,
    decode,
    encode,
    flip4,
    kth_cell,
    max_cell,
    mirror4,
    transpose,
)
from ntuple.game.jit import chosen_by_type, inline, kernel
from ntuple.game.rng import bounded, mix, step

ONES = np.uint64(0x1111111111111111)  # bit 0 of each nibble
FIFTH = ONES  # the fifth bits of levels
PLACE = np.uint64(0x2222222222222222)  # bit 1 of each nibble
DRAW = np.uint64(0xCCCCCCCCCCCCCCCC)  # bits 2 and 3 of each nibble
ROW_STARTS = np.uint64(0x0001000100010001)
GATHER = np.uint64(0x1248)  # x * GATHER has bits 0, 4, 8, 12 of x at 12, 13, 14, 15
SLIDES = 1 << 20  # rows of four cells
HINT = np.uint64(7)  # the low bits of the draw
DRAW_NIBBLES = 6  # nibbles that hold the draw
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


def by_game(of_2048: Callable[..., Any], of_family: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of rules and other arguments that is `of_2048` or, for FamilyRules, `of_family`."""

    def function(rules: Any, *arguments: Any) -> Any:
        return (of_family if isinstance(rules, FamilyRules) else of_2048)(rules, *arguments)

    def choose(rules: Any, *arguments: Any) -> Callable[..., Any]:
        chosen = of_family if rules.instance_class is FamilyRules else of_2048
        return lambda rules, *arguments: chosen(rules, *arguments)

    return functools.wraps(of_2048)(chosen_by_type(function, choose))


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
        hi |= (ends & ~_occupied(lo, hi)) << ONE
    return _moved(board, lo, hi), (a >> U32) + (b >> U32) + (c >> U32) + (d >> U32)


@inline
def _changed_rows(change: np.uint64) -> np.uint64:
    """Return a word with bit 0 of each row of 16 bits that is not 0."""
    change |= change >> U8
    change |= change >> U4
    change |= change >> U2
    return (change | change >> ONE) & ROW_STARTS


@inline
def _occupied(lo: np.uint64, hi: np.uint64) -> np.uint64:
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
def places(rules: FamilyRules, after: Board) -> np.uint64:
    """Return a word with bit 0 of each cell where the environment may place a tile."""
    allowed = rules.cells if rules.placement == ANYWHERE else (after.hi >> ONE) & rules.cells
    return allowed & ~_occupied(after.lo, after.hi)


@inline
def draw_of(board: Board) -> np.uint64:
    """Return the draw of a board: the hint in bits 0..2, the count of kind k = 1, 2, 3 of the bag at bit 3k."""
    pairs = (board.hi >> U2) & np.uint64(0x333333)
    pairs = (pairs | pairs >> U2) & np.uint64(0x0F0F0F)
    pairs = (pairs | pairs >> U4) & np.uint64(0xFF00FF)
    return (pairs | pairs >> U8) & np.uint64(0xFFFF)


@inline
def draw_bits(draw: np.uint64) -> np.uint64:
    """Return the bits of a draw in `hi`."""
    pairs = (draw | draw << U8) & np.uint64(0xFF00FF)
    pairs = (pairs | pairs << U4) & np.uint64(0x0F0F0F)
    pairs = (pairs | pairs << U2) & np.uint64(0x333333)
    return pairs << U2


@inline
def count_of(draw: np.uint64, kind: int) -> int:
    """Return how many tiles of a kind, 1 to 3, are in the bag."""
    return int((draw >> np.uint64(3 * kind)) & HINT)


@inline
def has_level(board: Board, level: int) -> bool:
    """Return whether a cell has a level, 1 to 15, or a higher one: bit 3 of each nibble says it after an addition."""
    low = board.lo & np.uint64(0x7777777777777777)
    if level <= 8:
        found = (low + ONES * np.uint64(8 - level)) | board.lo
    else:
        found = (low + ONES * np.uint64(16 - level)) & board.lo
    return bool((found & np.uint64(0x8888888888888888)) | (board.hi & FIFTH))


@inline
def count_hints(rules: FamilyRules, after: Board) -> int:
    """Return how many hints can follow: the kinds in the bag, and a bonus tile if the board has a large one."""
    if rules.kinds == 0:
        return 1
    draw, count = draw_of(after), 0
    for kind in range(1, rules.kinds + 1):
        count += count_of(draw, kind) > 0
    return count + (rules.bonus_share > 0 and has_level(after, rules.bonus[0]))


@inline
def count_tiles(rules: FamilyRules, after: Board) -> int:
    """Return how many tiles can be placed on one cell."""
    if rules.kinds == 0:
        return rules.spawn_levels.size
    if np.int64(draw_of(after) & HINT) <= rules.kinds:
        return 1
    return max_cell(after) - rules.bonus[2] - rules.bonus[1] + 1


@inline
def count_placements(rules: FamilyRules, after: Board) -> int:
    """Return in how many ways a tile can be placed on one cell: tiles times next hints."""
    return count_tiles(rules, after) * count_hints(rules, after)


@inline
def placement(rules: FamilyRules, after: Board, cell: np.uint64, number: int) -> tuple[Board, float, int]:
    """Return a state after an afterstate.

    Args:
        cell: bit 0 of the cell, one of `places`.
        number: 0 to `count_placements` - 1.

    Returns:
        The state, its probability among the placements on this cell, and the level of the placed tile.
    """
    hints = count_hints(rules, after)
    tile, hint = number // hints, number % hints
    draw = draw_of(after)
    if rules.kinds == 0:
        level, chance = rules.spawn_levels[tile], rules.spawn_chances[tile]
    elif np.int64(draw & HINT) <= rules.kinds:
        level, chance = np.int64(draw & HINT), 1.0
    else:
        level, chance = rules.bonus[1] + tile, 1.0 / count_tiles(rules, after)
    if rules.kinds > 0:
        next_draw, hint_chance = _next_draw(rules, draw, hint, has_level(after, rules.bonus[0]))
        draw, chance = next_draw, chance * hint_chance
    return _with_tile(after, cell, level, draw), chance, level


@inline
def next_draw(rules: FamilyRules, draw: np.uint64, hint: np.uint64) -> np.uint64:
    """Return the draw after a hint that `can_tell`: a tile of the bag, or a bonus tile."""
    if hint > np.uint64(rules.kinds):
        return draw & ~HINT | hint
    return _without(rules, draw, int(np.int64(hint)))


@inline
def can_tell(rules: FamilyRules, draw: np.uint64, hint: np.uint64, has_large: bool) -> bool:
    """Return whether a hint can follow: the bag has the tile, or a large tile allows a bonus tile."""
    if hint == ZERO or rules.kinds == 0:
        return hint == ZERO and rules.kinds == 0
    if hint > np.uint64(rules.kinds):
        return hint == np.uint64(rules.kinds + 1) and rules.bonus_share > 0 and has_large
    return count_of(draw, int(np.int64(hint))) > 0


@inline
def can_place(rules: FamilyRules, after: Board, level: int) -> bool:
    """Return whether the environment may place a tile of a level: by the hint, or by the game's law."""
    if rules.kinds == 0:
        for one in rules.spawn_levels:  # noqa: SIM110 (numba has no any() of a generator)
            if one == level:
                return True
        return False
    hint = np.int64(draw_of(after) & HINT)
    if hint <= rules.kinds:
        return level == hint
    return rules.bonus[1] <= level <= max_cell(after) - rules.bonus[2]


@inline
def with_tile(rules: FamilyRules, after: Board, cell: np.uint64, level: int, hint: np.uint64) -> Board:
    """Return the state after a tile was placed at bit 0 of a cell, with the next hint, 0 in a game without."""
    draw = next_draw(rules, draw_of(after), hint) if rules.kinds > 0 else ZERO
    return _with_tile(after, cell, level, draw)


@inline
def _with_tile(after: Board, cell: np.uint64, level: int, draw: np.uint64) -> Board:
    """Return the state with a tile at bit 0 of a cell, and a draw."""
    placed = np.uint64(level)
    return Board(after.lo | cell * (placed & U15), (after.hi & FIFTH) | cell * (placed >> U4) | draw_bits(draw))


@inline
def before_first_tile(rules: FamilyRules, level: int) -> Board:
    """Return the board before the first tile of a game, whose level is the first hint in a game with hints.

    With a level that is not in the bag the hint is another one.
    """
    if rules.kinds == 0:
        return Board(ZERO, ZERO)
    hint = level if 1 <= level <= rules.kinds else 1
    return free_afterstate(rules, Board(ZERO, ZERO), _without(rules, _full_bag(rules), hint))


@inline
def free_afterstate(rules: FamilyRules, cells: Board, draw: np.uint64) -> Board:
    """Return an afterstate with the cells of a board and a draw, in which every empty cell may get the next tile."""
    hi = (cells.hi & FIFTH) | draw_bits(draw)
    if rules.placement != ANYWHERE:
        hi |= (rules.cells & ~_occupied(cells.lo, cells.hi)) << ONE
    return Board(cells.lo, hi)


@inline
def spawn(rules: FamilyRules, after: Board, bits: np.uint64) -> tuple[Board, np.uint64]:
    """Draw a chance event; return the state after it, and the points of the placed tile."""
    allowed = places(rules, after)
    cell = kth_cell(allowed, bounded(bits, count_cells(allowed)))
    rest = np.float64(bits & LOW_32) / 2.0**32
    level, draw = np.int64(0), ZERO
    if rules.kinds == 0:
        number = 0
        while number < rules.spawn_levels.size - 1 and rest >= rules.spawn_chances[number]:
            rest -= rules.spawn_chances[number]
            number += 1
        level = rules.spawn_levels[number]
    else:
        draw = draw_of(after)
        level = np.int64(draw & HINT)
        if level > rules.kinds:
            level = rules.bonus[1] + np.int64(bounded(mix(bits), np.uint64(count_tiles(rules, after))))
        draw = _drawn_hint(rules, draw, has_level(after, rules.bonus[0]), rest)
    return _with_tile(after, cell, int(level), draw), np.uint64(rules.place_points[level])


@inline
def _drawn_hint(rules: FamilyRules, draw: np.uint64, has_large: bool, rest: float) -> np.uint64:
    """Return the draw after a hint that is drawn by a number in [0, 1)."""
    if has_large:
        if rest < rules.bonus_share:
            return draw & ~HINT | np.uint64(rules.kinds + 1)
        rest = (rest - rules.bonus_share) / (1.0 - rules.bonus_share)
    total = 0
    for kind in range(1, rules.kinds + 1):
        total += count_of(draw, kind)
    left, kind = np.int64(rest * total), 1
    while left >= count_of(draw, kind):
        left -= count_of(draw, kind)
        kind += 1
    return _without(rules, draw, kind)


@inline
def drawn_placement(rules: FamilyRules, after: Board, bits: np.uint64) -> int:
    """Draw one of the ways to place a tile on a cell, from the low 32 bits."""
    rest, last, number = np.float64(bits & LOW_32) / 2.0**32, count_placements(rules, after) - 1, 0
    while number < last:
        _, chance, _ = placement(rules, after, ONE, number)
        if rest < chance:
            break
        rest -= chance
        number += 1
    return number


@inline
def begin_opening(rules: FamilyRules, rng: np.uint64) -> tuple[Board, np.uint64]:
    """Return the board before the first tile, with the first hint, and the state of the random stream after it."""
    if rules.kinds == 0:
        return Board(ZERO, ZERO), rng
    rng = step(rng)
    kind = bounded(mix(rng), np.uint64(rules.kinds))  # a full bag has as many tiles of each
    draw, _ = _next_draw(rules, _full_bag(rules), int(kind), False)
    return Board(ZERO, draw_bits(draw)), rng


@kernel
def opening(rules: FamilyRules, rng: np.uint64) -> tuple[Board, np.uint64, np.uint64]:
    """Begin a game; return its board, the state of the random stream after it, and the points of the first tiles."""
    board, rng = begin_opening(rules, rng)
    points = ZERO
    for _ in range(rules.initial_tiles):
        rng = step(rng)
        board, earned = spawn(rules, free_afterstate(rules, board, draw_of(board)), mix(rng))
        points += earned
    return board, rng, points


@inline
def _full_bag(rules: FamilyRules) -> np.uint64:
    """Return the draw of a full bag without a hint."""
    counts = ZERO
    for kind in range(1, rules.kinds + 1):
        counts |= np.uint64(rules.each) << np.uint64(3 * kind)
    return counts


@inline
def _next_draw(rules: FamilyRules, draw: np.uint64, number: int, has_large: bool) -> tuple[np.uint64, float]:
    """Return the draw after the hint of this number: the kinds in the bag in rising order, then the bonus tile."""
    share = rules.bonus_share if has_large else 0.0
    total, chosen = 0, 0
    for kind in range(1, rules.kinds + 1):
        count = count_of(draw, kind)
        total += count
        if count > 0 and chosen == 0:
            if number == 0:
                chosen = kind
            number -= 1
    if chosen == 0:
        return draw & ~HINT | np.uint64(rules.kinds + 1), share
    return _without(rules, draw, chosen), (1.0 - share) * count_of(draw, chosen) / total


@inline
def _without(rules: FamilyRules, draw: np.uint64, kind: int) -> np.uint64:
    """Return the draw after one tile of a kind was taken from the bag: it is the hint, and an empty bag is filled."""
    counts = (draw & ~HINT) - (ONE << np.uint64(3 * kind))
    return (_full_bag(rules) if counts == ZERO else counts) | np.uint64(kind)


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


def encode_state(state: State) -> Board:
    """Return the board of a state."""
    board = encode(np.array(state.board))
    return Board(board.lo, board.hi | np.uint64(draw_bits(np.uint64(encode_draw(state.hint, state.bag)))))


def draws_of(hi: NDArray[np.uint64]) -> NDArray[np.uint16]:
    """Return the draws of boards by their words `hi`: 0 in a game without a bag."""
    draws = sum(
        (hi >> np.uint64(4 * place + 2) & np.uint64(3)) << np.uint64(2 * place) for place in range(DRAW_NIBBLES)
    )
    return np.asarray(draws, np.uint64).astype(np.uint16)


def words_of_draws(draws: NDArray[np.uint16]) -> NDArray[np.uint64]:
    """Return the bits of draws in the words `hi`: the inverse of `draws_of`."""
    wide = draws.astype(np.uint64)
    words = sum(
        (wide >> np.uint64(2 * place) & np.uint64(3)) << np.uint64(4 * place + 2) for place in range(DRAW_NIBBLES)
    )
    return np.asarray(words, np.uint64)


def decode_state(rules: Rules | FamilyRules, board: Board) -> State:
    """Return the state of a board; in 2048 the tiles alone."""
    lo, hi = map(np.uint64, board)
    levels = tuple(map(tuple, decode(rules, Board(lo, hi & FIFTH)).tolist()))
    if not isinstance(rules, FamilyRules):
        return State(levels)
    hint, bag = decode_draw(int(draw_of(Board(lo, hi))), rules.kinds)
    return State(levels, hint, bag)
