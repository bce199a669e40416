"""What the environment does in any game of the family: it places tiles, and tells the next one (family.py).

A draw is hint and bag of a position as one number: the hint in bits 0..2, the count of kind k = 1, 2, 3 of the bag at
bit 3k (ntuple.core.games.definition.encode_draw). `draw_bits` has its bits in `hi`.
"""

import numpy as np
from numpy.typing import NDArray

from ntuple.core.games.definition import State, decode_draw, encode_draw
from ntuple.game.bitboard import (
    LOW_32,
    ONE,
    U2,
    U4,
    U8,
    U15,
    ZERO,
    Board,
    Rules,
    count_cells,
    decode,
    encode,
    kth_cell,
    max_cell,
)
from ntuple.game.family import ANYWHERE, FIFTH, ONES, FamilyRules, occupied
from ntuple.game.jit import inline, kernel
from ntuple.game.rng import bounded, mix, step

HINT = np.uint64(7)  # the low bits of the draw
DRAW_NIBBLES = 6  # nibbles that hold the draw


@inline
def places(rules: FamilyRules, after: Board) -> np.uint64:
    """Return a word with bit 0 of each cell where the environment may place a tile."""
    allowed = rules.cells if rules.placement == ANYWHERE else (after.hi >> ONE) & rules.cells
    return allowed & ~occupied(after.lo, after.hi)


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
        hi |= (rules.cells & ~occupied(cells.lo, cells.hi)) << ONE
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
