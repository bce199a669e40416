"""Where the entries of a table lie in memory: scrambled, since plain indices pile into a few sets of the cache.

An index has a nibble a cell, and small tiles are far more common than large ones, so a few values of the bits that
choose a cache set take most of the traffic. `scramble` spreads them: simulated cache misses of a move of a 4x6 network
fall from 46 to 15. The low four bits, which lie in one cache line, stay. Files hold tables in the plain order.

On boards below 4x4 a cell has fewer than 16 values (ntuple.patterns.count_levels). Indices are numbers in that base
there and not scrambled: the 6-tuples of 3x3 have tables a tenth as large, 7-tuples a fourteenth.

A record is 1 or 4 floats, so that all that an update needs lies in one line: the weight alone, or the weight and what
its step size rule keeps beside it (ntuple.updates).
"""

import numpy as np
from numpy.typing import NDArray

from ntuple.game.jit import inline, kernel

SCRAMBLE_SHIFTS = (6, 11)
ABOVE_A_LINE = 0xFFFFFFF0
LINE = 16  # entries whose low four bits alone differ; every table has 16^n
SHIFT_A, SHIFT_B = (np.uint32(shift) for shift in SCRAMBLE_SHIFTS)
SPREAD = np.uint32(ABOVE_A_LINE)
FIRST_BITS, ONE_BIT, TWO = np.uint32(0x11111111), np.uint32(1), np.uint32(2)
GOLDEN = 0x9E3779B1  # 2^32 / the golden ratio


@inline
def scramble(index: np.uint32, salt: np.uint32) -> np.uint32:
    """The place of a plain index in its table: index ^ ((index >> 6 ^ index >> 11) & ~15) ^ salt, a bijection."""
    return index ^ ((index >> SHIFT_A ^ index >> SHIFT_B) & SPREAD) ^ salt


@inline
def unscramble(place: np.uint32, salt: np.uint32) -> np.uint32:
    """The inverse of `scramble`: each round sets six more bits right, from the highest down."""
    rest = place ^ salt
    index = rest
    for _ in range(6):
        index = rest ^ ((index >> SHIFT_A ^ index >> SHIFT_B) & SPREAD)
    return np.uint32(index)


@inline
def smaller_index(index: np.uint32) -> np.uint32:
    """The index with every tile halved, a 2 becoming an empty cell."""
    occupied = index | index >> TWO
    occupied = (occupied | occupied >> ONE_BIT) & FIRST_BITS
    return np.uint32(index - occupied)


def make_digits(levels: int) -> NDArray[np.uint32]:
    """Four nibbles as a number in base R = `levels`, for all uint32[65536]: sum of min(nibble_i, R - 1) R^i."""
    words = np.arange(1 << 16, dtype=np.uint32)
    return sum(np.minimum(words >> 4 * i & 15, levels - 1) * levels**i for i in range(4)).astype(np.uint32)


def make_salts(sizes: list[int]) -> NDArray[np.uint32]:
    """A constant uint32[M] for each table, so that equal indices of different tables fall into different sets."""
    return np.array([m * GOLDEN & ABOVE_A_LINE & (size - 1) for m, size in enumerate(sizes)], np.uint32)


@kernel
def read_table(
    records: NDArray[np.float32],
    first: np.uint64,
    salt: np.uint32,
    bits: np.uint64,
    field: int,
    out: NDArray[np.float32],
) -> None:
    """Copy a field of a table into `out` in the plain order; `first` is its first record, of 2^bits floats each.

    The entries of a line lie side by side in either order, so lines are copied whole.
    """
    for index in range(0, out.size, LINE):
        at = ((first + np.uint64(scramble(np.uint32(index), salt))) << bits) + np.uint64(field)
        for i in range(LINE):
            out[index + i] = records[at + (np.uint64(i) << bits)]


@kernel
def write_table(
    records: NDArray[np.float32],
    first: np.uint64,
    salt: np.uint32,
    bits: np.uint64,
    field: int,
    values: NDArray[np.float32],
) -> None:
    """The inverse of `read_table`."""
    for index in range(0, values.size, LINE):
        at = ((first + np.uint64(scramble(np.uint32(index), salt))) << bits) + np.uint64(field)
        for i in range(LINE):
            records[at + (np.uint64(i) << bits)] = values[index + i]
