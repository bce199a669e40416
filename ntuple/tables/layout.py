"""Memory layout of the tables: which entries share a cache line, and how lines are spread over the cache.

Boards that are close in a game differ in few cells, and mostly between empty, 2, 4 and 8. So the 16 entries of a line
are those that differ in the two low bits of two cells. The index of an entry has one nibble for each cell; `pair`
exchanges bits 2 and 3 with bits 4 and 5, so that the low four bits are the low bits of its first two cells, which
`line_order` chooses. The simulated misses of the second-level cache decrease from 25 to 16 a move of a 4x6 network
(docs/performance.md).

Plain indices use only a few sets of the cache, because small tiles are far more common than large ones. `scramble`
spreads the lines over the sets. It does not change the low four bits, which select an entry within a line.

Files hold tables in the plain order: index = sum of cell[pattern[i]] 16^i (ntuple.tables.patterns).

On boards below 4x4 a cell has R < 16 values, and in 2584 more (ntuple.tables.patterns.count_levels). There an index is
a number in base R and its place is the plain index. For 3x3 boards this makes the tables of 6-tuples a tenth as large,
those of 7-tuples a fourteenth.

What the step size rule keeps for each weight is in an array of its own, `Network.memory`. So a line of weights has 16
of them in training too.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntuple.game.jit import inline, inline_once, kernel
from ntuple.tables.patterns import Pattern

SCRAMBLE_SHIFTS = (6, 11)
ABOVE_A_LINE = 0xFFFFFFF0
PAIR_SHIFT, PAIRED = 2, 0b1100  # bits 2 and 3 change places with those two higher
SHIFT_A, SHIFT_B = (np.uint32(shift) for shift in SCRAMBLE_SHIFTS)
SPREAD, PAIR = np.uint32(ABOVE_A_LINE), np.uint32(PAIR_SHIFT)
FIRST_BITS, ONE_BIT, TWO = np.uint32(0x11111111), np.uint32(1), np.uint32(2)
HALF, HALF_MASK = np.uint32(16), np.uint32(0xFFFF)
GOLDEN = 0x9E3779B1  # 2^32 / the golden ratio
INNER_CELLS = (5, 6, 9, 10)  # of the 4x4 board


def line_order(pattern: Pattern) -> list[int]:
    """Return the positions of a pattern in the order of the nibbles of an index, best cells for a line first.

    Cells in the middle of the board change most often, so they come first, and among equals the later cell of the
    pattern: in the networks of the literature it is farther from the corner where play collects large tiles. Of all
    pairs of cells, the first two of this order have the fewest simulated cache misses in 10 of the 12 tuples of 4x6 and
    8x6, and 3% more than the best pair in the other two.
    """
    return sorted(range(len(pattern)), key=lambda i: (pattern[i] not in INNER_CELLS, -i))


@inline_once
def pair(index: np.uint32, paired: np.uint32) -> np.uint32:
    """Exchange the high bits of the first cell with the low bits of the second one; its own inverse.

    Args:
        paired: PAIRED, or 0 for a tuple of one cell.
    """
    moved = (index ^ index >> PAIR) & paired
    return index ^ moved ^ moved << PAIR


@inline_once
def scramble(index: np.uint32, salt: np.uint32) -> np.uint32:
    """Return the place of a paired index in its table.

    This is a bijection: place = index ^ ((index >> 6 ^ index >> 11) & ~15) ^ salt.
    """
    return index ^ ((index >> SHIFT_A ^ index >> SHIFT_B) & SPREAD) ^ salt


@inline_once
def unscramble(place: np.uint32, salt: np.uint32) -> np.uint32:
    """Return the paired index of a place, the inverse of `scramble`.

    Each round of the loop makes six more bits correct, from the highest bit down.
    """
    rest = place ^ salt
    index = rest
    for _ in range(6):
        index = rest ^ ((index >> SHIFT_A ^ index >> SHIFT_B) & SPREAD)
    return np.uint32(index)


@inline_once
def place_of_index(index: np.uint32, paired: np.uint32, salt: np.uint32) -> np.uint32:
    """Return the place of an index in line order: paired, then scrambled."""
    return scramble(pair(index, paired), salt)


@inline_once
def index_at_place(place: np.uint32, paired: np.uint32, salt: np.uint32) -> np.uint32:
    """Return the index in line order of a place, the inverse of `place_of_index`."""
    return pair(unscramble(place, salt), paired)


@inline
def smaller_index(index: np.uint32) -> np.uint32:
    """Return the index with every tile halved; a 2 becomes an empty cell."""
    occupied = index | index >> TWO
    occupied = (occupied | occupied >> ONE_BIT) & FIRST_BITS
    return np.uint32(index - occupied)


def make_digits(levels: int) -> NDArray[np.uint32]:
    """Return, for all uint32[65536] words of four nibbles, sum of min(nibble_i, R - 1) R^i with R = `levels`."""
    words = np.arange(1 << 16, dtype=np.uint32)
    return sum(np.minimum(words >> 4 * i & 15, levels - 1) * levels**i for i in range(4)).astype(np.uint32)


def make_salts(sizes: list[int]) -> NDArray[np.uint32]:
    """Return a constant uint32[M] for each table, so that equal indices of several tables use different cache sets."""
    return np.array([m * GOLDEN & ABOVE_A_LINE & (size - 1) for m, size in enumerate(sizes)], np.uint32)


def make_order(pattern: Pattern) -> NDArray[np.uint32]:
    """Return uint32[2, 65536], with which `reorder` turns a plain index of a pattern into one in line order."""
    words = np.arange(1 << 16, dtype=np.uint32)
    order = np.zeros((2, 1 << 16), np.uint32)
    for nibble, position in enumerate(line_order(pattern)):
        half, at = divmod(position, 4)
        order[half] |= (words >> 4 * at & 15) << 4 * nibble
    return order


@inline_once
def reorder(order: NDArray[np.uint32], index: np.uint32) -> np.uint32:
    """Return a plain index with its nibbles in line order."""
    return order[0, index & HALF_MASK] | order[1, index >> HALF]


class TablePlace(NamedTuple):
    """Where the entries of a table are."""

    first: np.uint64  # number of its first entry in an array of all tables
    order: NDArray[np.uint32]  # see `make_order`
    paired: np.uint32  # see `pair`
    salt: np.uint32  # see `scramble`


@inline_once
def _number_of(table: TablePlace, index: int) -> np.uint64:
    """Return the number of the entry of a plain index in an array of all tables."""
    in_line = reorder(table.order, np.uint32(index))
    return table.first + np.uint64(place_of_index(in_line, table.paired, table.salt))


@kernel
def read_table(array: NDArray[np.float32], table: TablePlace, out: NDArray[np.float32]) -> None:
    """Copy a table into `out` in the plain order.

    Args:
        array: float32[N], one number for each entry of all tables; it may be a view with steps.
        out: float32[16^n], filled.
    """
    for index in range(out.size):
        out[index] = array[_number_of(table, index)]


@kernel
def write_table(array: NDArray[np.float32], table: TablePlace, values: NDArray[np.float32]) -> None:
    """Write a table, the inverse of `read_table`."""
    for index in range(values.size):
        array[_number_of(table, index)] = values[index]
