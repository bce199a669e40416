"""The order of the boards of a pattern, and the arrays from which kernels compute a board's place in it.

The free cells are divided into two halves A and B. A half of n cells has T^n contents: T is the target's level, and the
levels 0 (empty) to T - 1 are below it. All boards with the same sum of their free tiles are a layer. In a layer, boards
are in the order of the sum of A, the rank of A among the contents of this sum, and the rank of B:

    place(board) = first place of the layer + begin(sum A, sum B) + rank(A) * count_B(sum B) + rank(B)

If tiles slide, a layer has this order once for each arrangement of them, one after the other.
So a table has no keys. A spawn adds 2 or 4 to the sum and a move keeps it, so the values of a layer follow from those
of the next two. Sums are halved here: these are the layers k + 1 and k + 2.

What a line of four cells adds to a board is one word; the words of the four lines are summed:

    bits  0..23   number of the content of A: the sum of level * T^i over its cells
    bits 24..47   the same of B
    bits 48..51   1 if a move changes the line
    bits 52..55   1 if a locked cell of the line does not hold LOCKED
    bits 56..59   cells in which the target counts, with the target or a larger tile
    bits 60..63   other free cells with such a tile
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntuple.core.rules import DOWN, LEFT, RIGHT, UP
from ntuple.endgames.pattern import CELLS, SIDE, SUM_BITS, Pattern
from ntuple.game.bitboard import ROW, U15, U16, U32, U48, ZERO
from ntuple.game.jit import inline

LOCKED = 15  # level of a locked cell in the boards of a pattern
LINE_CONTENTS = 1 << 16
B_BIT, CHANGED_BIT, UNLOCKED_BIT, GOAL_BIT, OFF_GOAL_BIT = 24, 48, 52, 56, 60
RANK_BITS = 32 - SUM_BITS

HALF = np.uint64((1 << B_BIT) - 1)
B_AT, GOAL_AT, OFF_GOAL_AT = np.uint64(B_BIT), np.uint64(GOAL_BIT), np.uint64(OFF_GOAL_BIT)
SUM_AT, RANK = np.uint32(RANK_BITS), np.uint32((1 << RANK_BITS) - 1)

Words = NDArray[np.uint64]


class Layout(NamedTuple):
    """The order of the boards of a pattern. S_A and S_B are the largest sums of the halves plus 1, S is the larger."""

    locked: Words  # [A] by arrangement: 15 in each locked cell
    sliding_row: int  # see Pattern
    lines: Words  # [A, 4, 65536] words of the rows
    halves: NDArray[np.uint32]  # [2, T^n] each content by its number: rank, and from bit RANK_BITS on the sum
    counts: NDArray[np.int64]  # [2, S] contents of each sum
    begins: NDArray[np.uint32]  # [S_A, S_B] place within its layer of the first board with these sums
    layers: NDArray[np.int64]  # [K + 1] place of the first board of each layer; the last entry is the number of boards
    sizes: NDArray[np.int64]  # [S_A + S_B - 1] boards of each sum with one arrangement, also of those above the largest


def make_layout(pattern: Pattern) -> Layout:
    """Return the order of a pattern's boards."""
    sums = [content_sums(cells, pattern.target) for cells in halves_of(pattern)]
    most = max(int(part.max()) for part in sums) + 1
    halves, counts = np.zeros((2, max(part.size for part in sums)), np.uint32), np.zeros((2, most), np.int64)
    for half, part in enumerate(sums):
        counts[half] = np.bincount(part, minlength=most)
        ranks = np.empty(part.size, np.int64)
        ranks[np.argsort(part, kind="stable")] = np.arange(part.size)
        halves[half, : part.size] = ranks - (np.cumsum(counts[half]) - counts[half])[part] | part << RANK_BITS
    begins, sizes = _begins(*(counts[half, : int(part.max()) + 1] for half, part in enumerate(sums)))
    arrangements, rows, levels = pattern.arrangements, np.arange(CELLS).reshape(SIDE, SIDE), line_levels()
    locked = [sum(LOCKED << 4 * cell for cell in arrangement.locked) for arrangement in arrangements]
    lines = np.stack([[line_words(arrangement, row, levels, levels) for row in rows] for arrangement in arrangements])
    layers = np.concatenate([[0], np.cumsum(sizes[: pattern.largest_sum // 2 + 1] * len(arrangements))])
    return Layout(np.array(locked, np.uint64), pattern.sliding_row, lines, halves, counts, begins, layers, sizes)


def arrangement_of(pattern: Pattern, levels: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return the arrangement uint8[N] of contents [N, 4] of the sliding row; 0 if they are of none."""
    found, row = np.zeros(len(levels), np.uint8), range(SIDE * pattern.sliding_row, SIDE * (pattern.sliding_row + 1))
    for number, arrangement in enumerate(pattern.arrangements):
        is_locked = [cell in arrangement.locked for cell in row]
        found[((levels == LOCKED) == is_locked).all(axis=1)] = number
    return found


def halves_of(pattern: Pattern) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the cells of A and B."""
    middle = (len(pattern.free) + 1) // 2
    return pattern.free[:middle], pattern.free[middle:]


def content_sums(cells: tuple[int, ...], target: int) -> NDArray[np.int64]:
    """Return the halved sums int64[T^n] of the contents of a half, by their numbers."""
    levels = content_levels(cells, target)
    return np.where(levels > 0, 1 << np.maximum(levels - 1, 0), 0).sum(axis=1)


def content_levels(cells: tuple[int, ...], target: int) -> NDArray[np.int64]:
    """Return the levels int64[T^n, n] of the contents of a half, by their numbers."""
    numbers = np.arange(target ** len(cells))[:, np.newaxis]
    return numbers // target ** np.arange(len(cells)) % target


def _begins(of_a: NDArray[np.int64], of_b: NDArray[np.int64]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Return `begins` and `sizes` from the counts of the two halves."""
    sizes = np.zeros(of_a.size + of_b.size - 1, np.int64)
    begins = np.zeros((of_a.size, of_b.size), np.uint32)
    for total, count in enumerate(of_a):
        layers = slice(total, total + of_b.size)
        begins[total] = sizes[layers]
        sizes[layers] += count * of_b
    return begins, sizes


def line_levels() -> NDArray[np.int64]:
    """Return the levels int64[65536, 4] of all contents of a line."""
    return np.arange(LINE_CONTENTS)[:, np.newaxis] >> 4 * np.arange(SIDE) & LOCKED


def move_words(pattern: Pattern) -> tuple[Words, NDArray[np.uint8]]:
    """Return the words of lines after a move along them, and the arrangement after a move along the sliding row.

    The lines are rows for left and right and columns for up and down. Locked tiles do not merge.

    Returns:
        words uint64[A, 4, 4, 65536] by arrangement before the move, action and line; arrangements uint8[4, 65536] by
        action and content of the row, for left and right.
    """
    levels, cells = line_levels(), np.arange(CELLS).reshape(SIDE, SIDE)
    forwards = np.array([_slide(line) for line in levels.tolist()])
    mirrored = (levels[:, ::-1] << 4 * np.arange(SIDE)).sum(axis=1)
    backwards = forwards[mirrored][:, ::-1]
    arrangements = pattern.arrangements
    words = np.zeros((len(arrangements), 4, SIDE, LINE_CONTENTS), np.uint64)
    slid = np.zeros((4, LINE_CONTENTS), np.uint8)
    for action, after in ((UP, forwards), (LEFT, forwards), (DOWN, backwards), (RIGHT, backwards)):
        is_in_row = action in (LEFT, RIGHT)
        if is_in_row:
            slid[action] = arrangement_of(pattern, after)
        for i, line in enumerate(cells if is_in_row else cells.T):
            by_arrangement = np.stack([line_words(one, line, levels, after) for one in arrangements])
            if is_in_row and i == pattern.sliding_row:  # the content says to which arrangement the move leads
                by_arrangement = by_arrangement[slid[action], np.arange(LINE_CONTENTS)]
            words[:, action, i] = by_arrangement
    return words, slid


def _slide(line: list[int]) -> list[int]:
    """Return a line of four levels after a move towards its first cell."""
    tiles, slid = [level for level in line if level], []
    while tiles:
        level = tiles.pop(0)
        if tiles and tiles[0] == level != LOCKED:
            level = tiles.pop(0) + 1
        slid.append(level)
    return slid + [0] * (SIDE - len(slid))


def line_words(
    pattern: Pattern, cells: NDArray[np.int64], before: NDArray[np.int64], after: NDArray[np.int64]
) -> Words:
    """Return the words uint64[N] of a line of four cells, from its levels [N, 4] before and after a move.

    The cells in which `pattern` has locked tiles are those after the move.
    """
    words = (before != after).any(axis=1).astype(np.int64) << CHANGED_BIT
    halves, target = halves_of(pattern), pattern.target
    is_unlocked = np.zeros(len(after), bool)
    for cell, level in zip(cells.tolist(), after.T, strict=True):
        if cell in pattern.locked:
            is_unlocked |= level != LOCKED
            continue
        half = int(cell in halves[1])
        words += np.minimum(level, target - 1) * target ** halves[half].index(cell) << B_BIT * half
        words += (level >= target).astype(np.int64) << (GOAL_BIT if cell in pattern.goals else OFF_GOAL_BIT)
    return (words + (is_unlocked.astype(np.int64) << UNLOCKED_BIT)).astype(np.uint64)


@inline
def sum_of_lines(words: Words, board: np.uint64) -> np.uint64:
    """Return the sum of the words [4, 65536] of a board's rows; of its columns if the board is transposed."""
    total = words[0, board & ROW] + words[1, (board >> U16) & ROW]
    return total + words[2, (board >> U32) & ROW] + words[3, board >> U48]


@inline
def layer_and_place(layout: Layout, arrangement: int, word: np.uint64) -> tuple[np.int64, np.int64]:
    """Return the layer of a board and its place within the layer, from the sum of the words of its lines."""
    a, b = layout.halves[0, word & HALF], layout.halves[1, (word >> B_AT) & HALF]
    sum_a, sum_b = np.int64(a >> SUM_AT), np.int64(b >> SUM_AT)
    rank = np.int64(a & RANK) * layout.counts[1, sum_b] + np.int64(b & RANK)
    layer = sum_a + sum_b
    return layer, arrangement * layout.sizes[layer] + np.int64(layout.begins[sum_a, sum_b]) + rank


@inline
def is_built(word: np.uint64) -> bool:
    """Return whether the target stands where it counts."""
    return (word >> GOAL_AT) & U15 != ZERO


@inline
def is_outside(word: np.uint64) -> bool:
    """Return whether the target or a larger tile stands in a free cell where it does not count."""
    return word >> OFF_GOAL_AT != ZERO
