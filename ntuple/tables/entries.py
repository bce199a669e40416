"""The entries of a board: for each of M tuples and S views, the place in the tuple's table.

Memory latency limits training and play. So a kernel finds the entries of a board, begins to load their weights
(`prefetch_entries`), works on something else, and reads the values later (ntuple.tables.values).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntuple.game.any_game import AnyRules, hint_of, level_words, nibbles_of, place_marks
from ntuple.game.bitboard import ONE, U2, U3, U8, U15, ZERO, Board, flip, level_at, mirror, transpose
from ntuple.game.jit import inline, inline_once, kernel
from ntuple.tables import simd
from ntuple.tables.layout import place_of_index
from ntuple.tables.network import VIEWS, Network
from ntuple.tables.patterns import NIBBLE_LEVELS
from ntuple.tables.stages import Stages

U16, U16_MASK = np.uint32(16), np.uint32(0xFFFF)
U17 = np.uint64(17)


class Lookup(NamedTuple):
    """Memory for the entries of some boards, one row for each board; made by `make_lookup`."""

    entries: NDArray[np.uint32]  # [rows * 8 M] entry (m, view) of a row lies at 8 m + view: its place in table m
    row_size: np.uint64  # 8 M
    bases: NDArray[np.uint64]  # [rows] the first entry of the board's part


def make_lookup(network: Network, rows: int) -> Lookup:
    """Make the memory for the entries of `rows` boards."""
    row_size = VIEWS * network.tables.size
    return Lookup(np.zeros(rows * row_size, np.uint32), np.uint64(row_size), np.zeros(rows, np.uint64))


@inline
def _nibbles(rules: AnyRules, network: Network, board: Board) -> np.uint64:
    word: np.uint64 = nibbles_of(rules, board)
    return word | place_marks(rules, board) if network.places else word


@inline_once
def _find_by_vectors(
    rules: AnyRules, network: Network, board: Board, entries: NDArray[np.uint32], at: np.uint64
) -> None:
    word = _nibbles(rules, network, board)
    low, fifth = level_words(rules, board)
    for m in range(network.tables.size):
        tuple_number = np.uint64(m)
        place = at + tuple_number * U8
        if network.digits.size == 0:
            simd.index_views(word, network.shuffles, network.paired, network.salts, tuple_number, entries, place)
        else:
            simd.index_views_in_base(low, fifth, network.shuffles, network.levels, tuple_number, entries, place)


@inline
def place_of(network: Network, nibbles: np.uint32, m: int) -> np.uint32:
    """Return the place of an index in its table (ntuple.tables.layout); in base R if R is not 16.

    Args:
        nibbles: the index, one nibble for each cell in line order.
    """
    if network.digits.size == 0:
        return place_of_index(nibbles, network.paired[m], network.salts[m])
    high = network.digits[nibbles >> U16] * network.levels**4
    return np.uint32(network.digits[nibbles & U16_MASK] + high)


@inline
def _find_plainly(rules: AnyRules, network: Network, board: Board, entries: NDArray[np.uint32], at: np.uint64) -> None:
    """Find the entries with plain arithmetic."""
    if network.levels <= NIBBLE_LEVELS:
        _find_in_nibbles(rules, network, _nibbles(rules, network, board), entries, at, np.uint32(0))
        return
    low, fifth = level_words(rules, board)
    largest, rest = np.uint64(network.levels) - U17, fifth  # the low bits of level R - 1
    while rest:  # levels above R - 1 count as R - 1
        cell = rest & (~rest + ONE)
        rest ^= cell
        low -= cell * (max(low // cell & U15, largest) - largest)
    _find_in_nibbles(rules, network, low, entries, at, np.uint32(0))
    _find_in_nibbles(rules, network, fifth, entries, at, np.uint32(16))


@inline
def _find_in_nibbles(
    rules: AnyRules,
    network: Network,
    word: np.uint64,
    entries: NDArray[np.uint32],
    at: np.uint64,
    factor: np.uint32,
) -> None:
    """Find the entries of a board of nibbles, four views at once, which LLVM keeps in one vector register.

    Args:
        factor: 0: the entries are written; else this factor times their places, in base R, is added to them.
    """
    upright = Board(word, ZERO)
    v0 = word
    v1 = mirror(rules, upright).lo
    v2 = flip(rules, upright).lo
    v3 = mirror(rules, Board(v2, ZERO)).lo
    for half in range((len(network.symmetries) + 3) >> 2):
        place = at + np.uint64(4 * half)
        for m in range(network.tables.size):
            i0 = i1 = i2 = i3 = ZERO
            for r in range(network.masks.shape[1]):
                right, mask, left = network.rights[m, r], network.masks[m, r], network.lefts[m, r]
                i0 |= ((v0 >> right) & mask) << left
                i1 |= ((v1 >> right) & mask) << left
                i2 |= ((v2 >> right) & mask) << left
                i3 |= ((v3 >> right) & mask) << left
            _write(network, entries, place, i0, m, factor)
            _write(network, entries, place + ONE, i1, m, factor)
            _write(network, entries, place + U2, i2, m, factor)
            _write(network, entries, place + U3, i3, m, factor)
            place += U8
        v0, v1, v2, v3 = transpose(v0), transpose(v1), transpose(v2), transpose(v3)


@inline
def _write(
    network: Network, entries: NDArray[np.uint32], at: np.uint64, nibbles: np.uint64, m: int, factor: np.uint32
) -> None:
    place = place_of(network, np.uint32(nibbles), m)
    entries[at] = entries[at] + factor * place if factor else place


# The only place that chooses between vector instructions and plain arithmetic; tests compare the two.
_find = _find_by_vectors if simd.AVAILABLE else _find_plainly


@inline_once
def find_entries(rules: AnyRules, network: Network, board: Board, lookup: Lookup, row: int) -> None:
    """Find the S M entries of a board."""
    _find(rules, network, board, lookup.entries, np.uint64(row) * lookup.row_size)
    part = stage_of(network.stages, board) if network.stages.thresholds.size else ZERO
    if network.hints > ONE:
        part = part * network.hints + hint_of(rules, board) - ONE
    lookup.bases[row] = part * network.part_size


@inline_once
def prefetch_entries(network: Network, lookup: Lookup, row: int) -> None:
    """Begin to load the weights of a board."""
    first = np.uint64(row) * lookup.row_size
    for m in range(network.tables.size):
        table = lookup.bases[row] + network.tables[m]
        for view in range(len(network.symmetries)):
            simd.prefetch(network.weights, table, lookup.entries[first + np.uint64(VIEWS * m + view)])


@inline_once
def prefetch_memory(network: Network, lookup: Lookup, row: int) -> None:
    """Begin to load what the step size rule keeps for the entries of a board; see `prefetch_entries`."""
    first = np.uint64(row) * lookup.row_size
    for m in range(network.first_learned, network.tables.size):
        table = (lookup.bases[row] + network.tables[m]) << network.memory_bits
        for view in range(len(network.symmetries)):
            place = np.uint64(lookup.entries[first + np.uint64(VIEWS * m + view)]) << network.memory_bits
            simd.prefetch(network.memory, table, place)


@kernel
def stage_of(stages: Stages, board: Board) -> np.uint64:
    """Return the stage of a board, counted from 0."""
    number = ZERO
    for cell in range(16):
        size = (ONE << level_at(board, cell)) & ~ONE  # 0 for an empty cell
        if stages.counts_all:
            number += size
        else:
            number |= size
    stage = ZERO
    for k in range(stages.thresholds.size):
        stage += np.uint64(number >= stages.thresholds[k])
    return stage
