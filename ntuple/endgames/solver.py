"""The probability to build the target of a pattern, for each afterstate, under the play that is best for it.

    A(as) = sum over spawns of P(s) max over a of   1        if the target then stands where it counts
                                                    0        if a locked tile moved, or the target stands elsewhere,
                                                             or the sum of the free tiles is above the largest
                                                    A(as')   otherwise
    max over a = 0 if no move is legal

All boards of a pattern are computed up to its largest sum, also those that play does not reach. A board without an
empty cell is no afterstate; it has the value 0. Layers are computed in falling order of the sum of the tiles
(layout.py).
"""

import itertools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntuple.core.rules import DOWN, FOUR_SHARE, LEFT, RIGHT, UP
from ntuple.endgames.layout import (
    CHANGED_BIT,
    UNLOCKED_BIT,
    Layout,
    Words,
    content_levels,
    content_sums,
    halves_of,
    is_built,
    is_outside,
    layer_and_place,
    move_words,
    sum_of_lines,
)
from ntuple.endgames.pattern import CELLS, SIDE, Pattern
from ntuple.game.bitboard import ROW, U15, ZERO, transpose
from ntuple.game.jit import inline, kernel
from ntuple.tables.cpu_placement import available_cores

Layer = NDArray[np.float32]  # values of the boards of one sum

EMPTY_LAYER = np.zeros(0, np.float32)
CHANGED_AT, UNLOCKED_AT = np.uint64(CHANGED_BIT), np.uint64(UNLOCKED_BIT)
SHARES = (1 - FOUR_SHARE, FOUR_SHARE)  # of a spawned 2 and a spawned 4
TASK = 1 << 16  # boards of one task, about


class Boards(NamedTuple):
    """What is needed to enumerate the boards of a layer and to move them."""

    layout: Layout
    contents: Words  # [A, 2, T^n] boards with the content of one half alone, by sum and rank
    firsts: NDArray[np.int64]  # [2, S] place in `contents` of the first content of each sum
    moves: Words  # [A, 4, 4, 65536] see `move_words`
    slid: NDArray[np.uint8]  # [4, 65536] see `move_words`


def make_boards(pattern: Pattern, layout: Layout) -> Boards:
    """Return the enumeration of a pattern's boards."""
    arrangements = pattern.arrangements
    contents = np.zeros((len(arrangements), *layout.halves.shape), np.uint64)
    for number, half in itertools.product(range(len(arrangements)), range(2)):
        cells = halves_of(arrangements[number])[half]
        levels = content_levels(cells, pattern.target).astype(np.uint64)
        words = (levels << 4 * np.array(cells, np.uint64)).sum(axis=1, dtype=np.uint64)
        contents[number, half, : words.size] = words[np.argsort(content_sums(cells, pattern.target), kind="stable")]
    firsts = np.cumsum(layout.counts, axis=1) - layout.counts
    return Boards(layout, contents, firsts, *move_words(pattern))


@inline
def _value_of_move(layout: Layout, arrangement: int, word: np.uint64, layer: Layer) -> np.float32:
    """Return the value of a move by the sum of the words of its lines; 0 if it is not legal."""
    if (word >> CHANGED_AT) & U15 == ZERO or (word >> UNLOCKED_AT) & U15 != ZERO:
        return np.float32(0)
    if is_built(word):
        return np.float32(1)
    if is_outside(word):
        return np.float32(0)
    _, place = layer_and_place(layout, arrangement, word)
    return layer[place] if place < layer.size else np.float32(0)  # a layer above the largest sum has no boards


@inline
def _with_tile(words: Words, total: np.uint64, line: int, content: np.uint64, tile: np.uint64) -> np.uint64:
    """Return the sum of the words of a board's lines when a tile is placed in one of them."""
    return total - words[line, content] + words[line, content | tile]


@kernel
def value_of(boards: Boards, arrangement: int, board: np.uint64, after_two: Layer, after_four: Layer) -> np.float32:
    """Return A of a board from the layers of the boards after a 2 and after a 4.

    A spawn changes one row and one column, so the words of the other lines are summed once for all spawns.
    """
    layout, moves, turned = boards.layout, boards.moves[arrangement], transpose(board)
    sliding = layout.sliding_row
    in_sliding = (board >> np.uint64(16 * sliding)) & ROW
    up, down = sum_of_lines(moves[UP], turned), sum_of_lines(moves[DOWN], turned)
    left, right = sum_of_lines(moves[LEFT], board), sum_of_lines(moves[RIGHT], board)
    total, count = np.float64(0), 0
    for cell in range(CELLS):
        if (board >> np.uint64(4 * cell)) & U15:
            continue
        count += 1
        row, column = cell // SIDE, cell % SIDE
        in_row, in_column = (board >> np.uint64(16 * row)) & ROW, (turned >> np.uint64(16 * column)) & ROW
        for spawn in range(2):
            layer = after_four if spawn else after_two
            tile = np.uint64(1 + spawn)
            row_tile, column_tile = tile << np.uint64(4 * column), tile << np.uint64(4 * row)
            word = _with_tile(moves[UP], up, column, in_column, column_tile)
            best = _value_of_move(layout, arrangement, word, layer)
            word = _with_tile(moves[DOWN], down, column, in_column, column_tile)
            best = max(best, _value_of_move(layout, arrangement, word, layer))
            slides = in_sliding | row_tile if row == sliding else in_sliding
            word = _with_tile(moves[LEFT], left, row, in_row, row_tile)
            best = max(best, _value_of_move(layout, int(boards.slid[LEFT, slides]), word, layer))
            word = _with_tile(moves[RIGHT], right, row, in_row, row_tile)
            best = max(best, _value_of_move(layout, int(boards.slid[RIGHT, slides]), word, layer))
            total += SHARES[spawn] * best
    return np.float32(total / count) if count else np.float32(0)


@kernel
def solve_part(
    boards: Boards,
    total: int,
    arrangement: int,
    sum_a: int,
    first: int,
    until: int,
    after_two: Layer,
    after_four: Layer,
    out: Layer,
) -> None:
    """Compute a part of the layer `total`: the boards whose A has this sum and a rank from `first` to `until` - 1.

    Args:
        out: the whole layer.
    """
    layout, sum_b = boards.layout, total - sum_a
    count, first_b = layout.counts[1, sum_b], boards.firsts[1, sum_b]
    begin = arrangement * layout.sizes[total] + np.int64(layout.begins[sum_a, sum_b])
    for rank in range(first, until):
        half = boards.contents[arrangement, 0, boards.firsts[0, sum_a] + rank] | layout.locked[arrangement]
        place = begin + rank * count
        for i in range(count):
            board = half | boards.contents[arrangement, 1, first_b + i]
            out[place + i] = value_of(boards, arrangement, board, after_two, after_four)


def solve_layers(
    pattern: Pattern, layout: Layout, done: int | None = None, above: tuple[Layer, Layer] = (EMPTY_LAYER, EMPTY_LAYER)
) -> Iterator[tuple[int, Layer]]:
    """Yield (number, values) of the layers in falling order.

    Args:
        done: the last layer that is known; None: none.
        above: the values of the layers `done` and `done` + 1, which follow a spawned 2 and a spawned 4.
    """
    boards = make_boards(pattern, layout)
    number = layout.layers.size - 1 if done is None else done
    with ThreadPoolExecutor(available_cores()) as pool:
        for total in range(number - 1, -1, -1):
            layer = np.zeros(int(layout.layers[total + 1] - layout.layers[total]), np.float32)

            tasks = [pool.submit(solve_part, boards, total, *task, *above, layer) for task in _tasks(layout, total)]
            for task in tasks:
                task.result()
            yield total, layer
            above = layer, above[0]


def _tasks(layout: Layout, total: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield (arrangement, sum of A, first rank, rank after the last one) of tasks of about TASK boards."""
    sums_a, sums_b = layout.begins.shape
    sums = range(max(0, total - sums_b + 1), min(total, sums_a - 1) + 1)
    for arrangement, sum_a in itertools.product(range(layout.locked.size), sums):
        ranks, count = int(layout.counts[0, sum_a]), int(layout.counts[1, total - sum_a])
        step = max(1, TASK // max(1, count))
        for first in range(0, ranks if count else 0, step):
            yield arrangement, sum_a, first, min(first + step, ranks)
