"""n-tuple networks: V(board) = sum over M tuples and S symmetries of one shared table a tuple.

S is 8 on square boards and 4 on oblong ones. All tables lie in one flat array of records (ntuple.layout). Kernels find
the S M entries of a board once, begin to load them, and come back for the values when they have arrived.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntuple import simd
from ntuple.board import ONE, U2, U3, U8, ZERO, Board, Rules, flip, index_word, mirror, transpose
from ntuple.jit import inline
from ntuple.layout import make_salts, read_table, scramble, write_table
from ntuple.patterns import Pattern, cell_runs, parse_network

VIEWS = 8  # a tuple's share of a row of entries; on oblong boards the last four are unused
NO_CELL = 0x80  # in a byte shuffle: the byte becomes 0
Entries = NDArray[np.uint32]  # rows of 8 M numbers: the place of entry (m, view) in table m, at 8 m + view


class Network(NamedTuple):
    """The tables of a network and the way to find a board's entries; made by `make_network`."""

    weights: NDArray[np.float32]  # [N << record_bits] records of all tables; a record's first float is the weight
    record_bits: np.uint64  # log2 of the floats of a record: 0 = the weight alone, 2 = and three more for its step size
    tables: NDArray[np.uint64]  # [M] the first record of each table
    salts: NDArray[np.uint32]  # [M] see ntuple.layout
    shuffles: NDArray[np.uint8]  # [64 M] see ntuple.simd
    rights: NDArray[np.uint64]  # [M, R] run r of tuple m is ((word >> right) & mask) << left;
    masks: NDArray[np.uint64]  # [M, R] tuples of fewer runs than R end with masks of 0
    lefts: NDArray[np.uint64]  # [M, R]
    symmetries: tuple[int, ...]  # 0..S-1: a tuple, since the compiler knows its length and unrolls loops over it


def make_network(network: str, rows: int, columns: int, v_init: float, record_bits: int = 0) -> Network:
    """A network whose value is `v_init` for every board: each weight is v_init / (S M).

    Source: optimistic initialisation, Guei et al. 2022, eq. 12, spread over the symmetries too.

    Raises:
        ValueError: see `parse_network`.
    """
    parts = index_parts(network, rows, columns)
    patterns = parse_network(network, rows, columns)
    # np.zeros leaves the pages to the first touch, and asks for huge ones.
    weights = np.zeros(sum(16 ** len(pattern) for pattern in patterns) << record_bits, np.float32)
    if v_init:
        weights[:: 1 << record_bits] = v_init / (len(parts["symmetries"]) * len(patterns))
    return Network(weights=weights, record_bits=np.uint64(record_bits), **parts)


def index_parts(network: str, rows: int, columns: int) -> dict[str, Any]:
    """The fields of Network that say where a board's entries are."""
    patterns = parse_network(network, rows, columns)
    sizes = [16 ** len(pattern) for pattern in patterns]
    runs = [cell_runs(pattern, columns) for pattern in patterns]
    padded = np.zeros((3, len(runs), max(map(len, runs))), np.uint64)
    for m, tuple_runs in enumerate(runs):
        padded[:, m, : len(tuple_runs)] = np.transpose(tuple_runs)
    rights, masks, lefts = (np.ascontiguousarray(part) for part in padded)
    return {
        "tables": np.cumsum([0, *sizes[:-1]]).astype(np.uint64),
        "salts": make_salts(sizes),
        "shuffles": _shuffles(patterns, rows, columns),
        "rights": rights,
        "masks": masks,
        "lefts": lefts,
        "symmetries": tuple(range(8 if rows == columns else 4)),
    }


def _shuffles(patterns: tuple[Pattern, ...], rows: int, columns: int) -> NDArray[np.uint8]:
    """For each tuple the nibble of the board's word that becomes nibble i of its index on view v, [M, i % 2, v, i / 2].

    The views are those of `_find_plainly`, in its order.
    """
    cells = np.arange(16).reshape(4, 4)[:rows, :columns]
    upright = [cells, cells[:, ::-1], cells[::-1], cells[::-1, ::-1]]
    views = [view.ravel() for view in (*upright, *(view.T for view in upright))]
    if rows != columns:
        del views[4:]
    shuffles = np.full((len(patterns), 2, VIEWS, 4), NO_CELL, np.uint8)
    for m, pattern in enumerate(patterns):
        for v, view in enumerate(views):
            for i, cell in enumerate(pattern):
                shuffles[m, i % 2, v, i // 2] = view[cell]
    return shuffles.ravel()


def num_weights(network: Network) -> int:
    """N, the weights of all tables together."""
    return network.weights.size >> int(network.record_bits)


def read_field(network: Network, field: int = 0) -> NDArray[np.float32]:
    """float32[N], one field of all records in the order of files: table behind table, first cell = lowest nibble."""
    values = np.empty(num_weights(network), np.float32)
    ends = [*network.tables[1:].tolist(), values.size]
    for first, end, salt in zip(network.tables, ends, network.salts, strict=True):
        read_table(network.weights, first, salt, network.record_bits, field, values[int(first) : end])
    return values


def write_field(network: Network, values: NDArray[np.float32], field: int = 0) -> None:
    """The inverse of `read_field`."""
    ends = [*network.tables[1:].tolist(), values.size]
    for first, end, salt in zip(network.tables, ends, network.salts, strict=True):
        write_table(network.weights, first, salt, network.record_bits, field, values[int(first) : end])


def widen(network: Network, record_bits: int) -> Network:
    """The same weights in larger records, whose new floats are 0."""
    weights = np.zeros(num_weights(network) << record_bits, np.float32)
    weights[:: 1 << record_bits] = network.weights[:: 1 << int(network.record_bits)]
    return network._replace(weights=weights, record_bits=np.uint64(record_bits))


@inline
def _find_by_vectors(rules: Rules, network: Network, board: Board, entries: Entries, row: np.uint64) -> None:
    word = index_word(board)
    for m in range(network.tables.size):
        tuple_number = np.uint64(m)
        simd.index_views(word, network.shuffles, network.salts, tuple_number, entries, row + tuple_number * U8)


@inline
def _find_plainly(rules: Rules, network: Network, board: Board, entries: Entries, row: np.uint64) -> None:
    """Four views at a time: LLVM keeps them in one vector register."""
    v0 = index_word(board)
    v1 = index_word(mirror(rules, board))
    v2 = index_word(flip(rules, board))
    v3 = index_word(mirror(rules, flip(rules, board)))
    for half in range(len(network.symmetries) >> 2):
        at = row + np.uint64(4 * half)
        for m in range(network.tables.size):
            i0 = i1 = i2 = i3 = ZERO
            for r in range(network.masks.shape[1]):
                right, mask, left = network.rights[m, r], network.masks[m, r], network.lefts[m, r]
                i0 |= ((v0 >> right) & mask) << left
                i1 |= ((v1 >> right) & mask) << left
                i2 |= ((v2 >> right) & mask) << left
                i3 |= ((v3 >> right) & mask) << left
            salt = network.salts[m]
            entries[at] = scramble(np.uint32(i0), salt)
            entries[at + ONE] = scramble(np.uint32(i1), salt)
            entries[at + U2] = scramble(np.uint32(i2), salt)
            entries[at + U3] = scramble(np.uint32(i3), salt)
            at += U8
        v0, v1, v2, v3 = transpose(v0), transpose(v1), transpose(v2), transpose(v3)


# The one choice between the vector instructions and their plain form; tests compare the two.
find_entries = _find_by_vectors if simd.AVAILABLE else _find_plainly


@inline
def prefetch_entries(network: Network, entries: Entries, row: np.uint64) -> None:
    """Begin to load the S M records whose places lie from entries[row] on."""
    for m in range(network.tables.size):
        table = network.tables[m]
        for view in range(len(network.symmetries)):
            place = table + np.uint64(entries[row + np.uint64(VIEWS * m + view)])
            simd.prefetch(network.weights, place << network.record_bits)


@inline
def value_at(network: Network, entries: Entries, row: np.uint64) -> np.float32:
    """V of the board whose places lie from entries[row] on, in four sums that do not wait for each other."""
    a = b = c = d = np.float32(0)
    for m in range(network.tables.size):
        table = network.tables[m]
        for view in range(0, len(network.symmetries), 4):
            at = row + np.uint64(VIEWS * m + view)
            a += network.weights[(table + np.uint64(entries[at])) << network.record_bits]
            b += network.weights[(table + np.uint64(entries[at + ONE])) << network.record_bits]
            c += network.weights[(table + np.uint64(entries[at + U2])) << network.record_bits]
            d += network.weights[(table + np.uint64(entries[at + U3])) << network.record_bits]
    return (a + b) + (c + d)
