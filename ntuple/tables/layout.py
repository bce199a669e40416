"""Memory layout of the tables: indices are scrambled, because plain indices use only a few sets of the cache.

An index has one nibble for each cell, and small tiles are far more common than large ones. So with plain indices most
loads have the same few values in the bits that select a cache set. `scramble` spreads them: the simulated cache misses
of one move of a 4x6 network decrease from 46 to 15. The low four bits select an entry within a cache line, so they do
not change. Files hold tables in the order of plain indices, called the plain order.

On boards below 4x4 a cell has R < 16 values (ntuple.tables.patterns.count_levels). There an index is a number in base R
and is not scrambled. For 3x3 boards this makes the tables of 6-tuples a tenth as large, those of 7-tuples a fourteenth.

A record has 1 or 4 floats: the weight alone, or the weight and the values that the step size rule keeps for it
(ntuple.td.step_sizes). So all that an update needs is in one cache line.
"""

import numpy as np
from numpy.typing import NDArray

from ntuple.game.jit import inline, kernel

SCRAMBLE_SHIFTS = (6, 11)
ABOVE_A_LINE = 0xFFFFFFF0
LINE = 16  # entries that differ only in the low four bits; every table has 16^n entries
SHIFT_A, SHIFT_B = (np.uint32(shift) for shift in SCRAMBLE_SHIFTS)
SPREAD = np.uint32(ABOVE_A_LINE)
FIRST_BITS, ONE_BIT, TWO = np.uint32(0x11111111), np.uint32(1), np.uint32(2)
GOLDEN = 0x9E3779B1  # 2^32 / the golden ratio


@inline
def scramble(index: np.uint32, salt: np.uint32) -> np.uint32:
    """Return the place of a plain index in its table.

    This is a bijection: place = index ^ ((index >> 6 ^ index >> 11) & ~15) ^ salt.
    """
    return index ^ ((index >> SHIFT_A ^ index >> SHIFT_B) & SPREAD) ^ salt


@inline
def unscramble(place: np.uint32, salt: np.uint32) -> np.uint32:
    """Return the plain index of a place, the inverse of `scramble`.

    Each round of the loop makes six more bits correct, from the highest bit down.
    """
    rest = place ^ salt
    index = rest
    for _ in range(6):
        index = rest ^ ((index >> SHIFT_A ^ index >> SHIFT_B) & SPREAD)
    return np.uint32(index)


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


@kernel
def read_table(
    records: NDArray[np.float32],
    first: np.uint64,
    salt: np.uint32,
    bits: np.uint64,
    field: int,
    out: NDArray[np.float32],
) -> None:
    """Copy one field of a table into `out` in the plain order.

    The 16 entries of a line are adjacent in both orders, so each line is copied as a whole.

    Args:
        records: float32, the records of all tables.
        first: number of the first record of the table.
        salt: salt of the table.
        bits: log2 of the floats of a record.
        field: position of the field in a record.
        out: float32[16^n], filled.
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
    """Write one field of a table, the inverse of `read_table`.

    Args:
        records: float32, the records of all tables, changed in place.
        first: number of the first record of the table.
        salt: salt of the table.
        bits: log2 of the floats of a record.
        field: position of the field in a record.
        values: float32[16^n], in the plain order.
    """
    for index in range(0, values.size, LINE):
        at = ((first + np.uint64(scramble(np.uint32(index), salt))) << bits) + np.uint64(field)
        for i in range(LINE):
            records[at + (np.uint64(i) << bits)] = values[index + i]
