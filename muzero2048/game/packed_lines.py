"""Arithmetic on lines of cells that are packed into 32-bit words, and on random bits.

A line is a word uint32[*B]: one byte per cell, the first cell in the lowest byte. Lines of fewer than four cells leave
the high bytes zero. A cell holds log2 of its tile, 0 = empty, and is always below 128.
"""

import functools
import itertools
import operator
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, UInt32

# A random draw is multiplied by the number of choices in 24 bits. Each of n choices then has its exact probability up
# to a relative error of n / 2^24: 2^-20 for a cell (n = 16), 2^-16 for the pair of cells of an opening (n = 240).
UNIT_BITS = 24

_CELL = np.uint32(0xFF)
_TOP_BITS = np.uint32(0x80808080)
_LOW_BITS = np.uint32(0x7F7F7F7F)


def mirror(word: UInt32[Array, "*B"], length: int) -> UInt32[Array, "*B"]:
    """Reverse the order of the first `length` cells: swap all bytes, then shift out the 4 - length unused ones."""
    odd = np.uint32(0x00FF00FF)
    word = ((word & odd) << np.uint32(8)) | ((word >> np.uint32(8)) & odd)
    return ((word << np.uint32(16)) | (word >> np.uint32(16))) >> np.uint32(8 * (4 - length))


def transpose(lines: Sequence[UInt32[Array, "*B"]], length: int) -> list[UInt32[Array, "*B"]]:
    """Return the words of the transposed board; `length` is the number of cells in each given line."""
    return [
        functools.reduce(
            operator.or_, [((line >> np.uint32(8 * i)) & _CELL) << np.uint32(8 * j) for j, line in enumerate(lines)]
        )
        for i in range(length)
    ]


def occupied(word: UInt32[Array, "*B"]) -> UInt32[Array, "*B"]:
    """Set the top bit of each byte that is not zero (bytes must be below 128)."""
    return (word + _LOW_BITS) & _TOP_BITS


def close_gaps(line: UInt32[Array, "*B"], length: int, first: int = 0) -> UInt32[Array, "*B"]:
    """Move the cells of a line towards its lowest byte, over empty cells; those before cell `first` are not empty."""
    for i in reversed(range(first, length - 1)):  # beginning with the gap farthest from the wall
        below = np.uint32((1 << (8 * i)) - 1)
        hole = ((line >> np.uint32(8 * i)) & _CELL) == 0
        line = jnp.where(hole, (line & below) | ((line >> np.uint32(8)) & ~below), line)
    return line


def slide(line: UInt32[Array, "*B"], length: int) -> tuple[UInt32[Array, "*B"], UInt32[Array, "*B"]]:
    """Slide the cells of a line towards its lowest byte; return the line and the sum of the merged tiles."""
    line = close_gaps(line, length)
    reward = jnp.zeros_like(line)
    for i in range(length - 1):  # merge pairs, beginning at the wall; after a merge the following cells move up by one
        cell = (line >> np.uint32(8 * i)) & _CELL
        merges = (cell == (line >> np.uint32(8 * i + 8)) & _CELL) & (cell != 0)
        lower = np.uint32((1 << (8 * i + 8)) - 1)
        merged = ((line & lower) + np.uint32(1 << (8 * i))) | ((line >> np.uint32(8)) & ~lower)
        line = jnp.where(merges, merged, line)
        reward = reward + jnp.where(merges, np.uint32(2) << cell, np.uint32(0))
    return line, reward


def scale_draw(
    bits: UInt32[Array, "*B"], count: UInt32[Array, "*B"] | np.uint32
) -> tuple[UInt32[Array, "*B"], UInt32[Array, "*B"]]:
    """Return the integer part and the 24-bit fraction of count * u, with u uniform in [0, 1) and count <= 256."""
    product = (bits >> np.uint32(32 - UNIT_BITS)) * count
    return product >> np.uint32(UNIT_BITS), product & np.uint32(2**UNIT_BITS - 1)


def scale_word(
    bits: UInt32[Array, "*B"], count: UInt32[Array, "*B"] | np.uint32
) -> tuple[UInt32[Array, "*B"], UInt32[Array, "*B"]]:
    """Return the integer part and the 32-bit fraction of count * u, with u uniform in [0, 1) and count < 2^16.

    The fraction is the next draw. So several choices of n ways in all have their probabilities up to a relative error
    of n / 2^32.
    """
    low = (bits & np.uint32(0xFFFF)) * count
    high = (bits >> np.uint32(16)) * count + (low >> np.uint32(16))
    return high >> np.uint32(16), (high << np.uint32(16)) | (low & np.uint32(0xFFFF))


def look_up(table: Sequence[int], index: UInt32[Array, "*B"]) -> UInt32[Array, "*B"]:
    """Return the entries of a small table by a tree of selections; the index is within the table.

    XLA on a CPU does not vectorise a loop with a gather, nor anything that it fuses into this loop.
    """
    entries: list[int | UInt32[Array, "*B"]] = list(table)
    for bit in range((len(table) - 1).bit_length()):
        is_odd = ((index >> np.uint32(bit)) & np.uint32(1)) != 0
        pairs = itertools.zip_longest(entries[::2], entries[1::2])
        entries = [_choose(is_odd, odd, even) for even, odd in pairs]
    return jnp.broadcast_to(jnp.asarray(entries[0], jnp.uint32), index.shape)


def _choose(
    is_odd: Bool[Array, "*B"], odd: int | UInt32[Array, "*B"] | None, even: int | UInt32[Array, "*B"]
) -> int | UInt32[Array, "*B"]:
    if odd is None or odd is even or (isinstance(odd, int) and isinstance(even, int) and odd == even):
        return even
    return jnp.where(is_odd, jnp.asarray(odd, jnp.uint32), jnp.asarray(even, jnp.uint32))


def mix(x: UInt32[Array, "*B"]) -> UInt32[Array, "*B"]:
    """Apply the finalizer of MurmurHash3: a bijection in which each output bit depends on all input bits."""
    x = (x ^ (x >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    x = (x ^ (x >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return x ^ (x >> np.uint32(16))


def nth_set_bit(mask: UInt32[Array, "*B"], n: UInt32[Array, "*B"]) -> UInt32[Array, "*B"]:
    """Return the position of the n-th (from 0) set bit among the low 16 bits, by bisection."""
    position = jnp.zeros_like(mask)
    for width in (8, 4, 2, 1):
        count = jax.lax.population_count((mask >> position) & np.uint32((1 << width) - 1))
        above = n >= count
        n = jnp.where(above, n - count, n)
        position = jnp.where(above, position + np.uint32(width), position)
    return position
