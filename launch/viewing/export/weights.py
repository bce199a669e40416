"""The weights of an n-tuple network in a page: half precision, compressed, as text.

A table is divided by the smallest power of 2, 1 or more, that brings its weights into the range of half precision:
w = scale * half. So a weight has 11 significant bits, relative error 2^-11 at most, down to 6e-5 scale points.

The numbers of all tables follow one another, tuple by tuple, each table in the order of files (index = sum of
min(level, R - 1) R^i), two bytes each, the low one first. The bytes are a zlib stream (RFC 1950, in browsers
`DecompressionStream("deflate")`) in base64.
"""

import base64
import zlib
from collections.abc import Iterator, Sequence
from math import ceil, log2
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

LARGEST_HALF = float(np.finfo(np.float16).max)  # 65,504
LEVEL = 6  # of zlib; 9 takes nine times as long, for 1% less (docs/decisions.md)
BLOCK = 1 << 20  # weights that are rounded and compressed at a time


class PackedWeights(NamedTuple):
    """The weights of M tables as a page holds them."""

    text: str  # base64
    size: int  # weights of all tables
    scales: list[float]  # [M]


class TooLargeError(ValueError):
    """The text would be longer than the limit."""


def pack(tables: Sequence[NDArray[np.float32]], most: int) -> PackedWeights:
    """Pack the weights of M tables, float32[R^n] each; TooLargeError if the text is longer than `most`."""
    scales, packed = [scale_of(table) for table in tables], bytearray()
    for part in _compressed(tables, scales):
        packed += part
        if 4 * ceil(len(packed) / 3) > most:  # characters of base64
            raise TooLargeError
    return PackedWeights(base64.b64encode(packed).decode(), sum(table.size for table in tables), scales)


def _compressed(tables: Sequence[NDArray[np.float32]], scales: Sequence[float]) -> Iterator[bytes]:
    compressor = zlib.compressobj(LEVEL)
    for table, scale in zip(tables, scales, strict=True):
        for start in range(0, table.size, BLOCK):
            yield compressor.compress((table[start : start + BLOCK] / np.float32(scale)).astype("<f2").tobytes())
    yield compressor.flush()


def scale_of(table: NDArray[np.float32]) -> float:
    """Return the smallest power of 2, 1 or more, by which weights are divided to fit into half precision."""
    largest = max(float(table.max()), -float(table.min()), 1.0)
    return 2.0 ** max(0, ceil(log2(largest / LARGEST_HALF)))
