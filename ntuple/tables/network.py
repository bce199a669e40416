"""n-tuple networks: V(board) = sum over M tuples and S symmetries of one shared table a tuple.

S is 8 on square boards, 4 on oblong ones, and 1 if views share no tables. A network of several stages has all tables
once a stage. They lie in one flat array of records (ntuple.layout), stage behind stage. Kernels find the S M entries of
a board once, begin to load them, and come back for the values when they have arrived.
"""

import itertools
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntuple.game.bitboard import ONE, U2, U3, U8, ZERO, Board, Rules, flip, index_word, mirror, transpose
from ntuple.game.jit import inline, kernel
from ntuple.learning.config import available_cores
from ntuple.tables import placement, simd
from ntuple.tables.layout import make_digits, make_salts, read_table, scramble, smaller_index, unscramble, write_table
from ntuple.tables.patterns import (
    MOST_LEVELS,
    Pattern,
    cell_runs,
    count_actions,
    count_levels,
    parse_network,
    table_sizes,
    view_actions,
    view_cells,
)
from ntuple.tables.stages import Stages, make_stages, stage_of

U16, U16_MASK = np.uint32(16), np.uint32(0xFFFF)
VIEWS = 8  # a tuple's share of a row of entries, of which the first S are used
NO_CELL = 0x80  # in a byte shuffle: the byte becomes 0
INTER, INTRA = 1, 2  # bits of Network.promotion
PROMOTIONS = {"none": 0, "inter": INTER, "intra": INTRA, "both": INTER | INTRA}


class Network(NamedTuple):
    """The tables of a network and the way to find a board's entries; made by `make_network`."""

    weights: NDArray[np.float32]  # [stages N << record_bits] records of all tables; their first float is the weight
    record_bits: np.uint64  # log2 of the floats of a record: 0 = the weight alone, 2 = and three more for its step size
    stage_size: np.uint64  # N, records of a stage
    stages: Stages
    promotion: int  # bits INTER and INTRA
    initial: np.float32  # the weight of an entry that no update has touched
    frozen: np.uint64  # records of the first stages, which learn nothing
    first_learned: int  # number of the first tuple that learns
    tables: NDArray[np.uint64]  # [M] the first record of each table in its stage
    salts: NDArray[np.uint32]  # [M] see ntuple.layout
    levels: np.uint32  # R, see ntuple.patterns
    digits: NDArray[np.uint32]  # [65536] four nibbles as a number in base R, or nothing if R = 16
    shuffles: NDArray[np.uint8]  # [64 M] see ntuple.simd
    rights: NDArray[np.uint64]  # [M, R] run r of tuple m is ((word >> right) & mask) << left;
    masks: NDArray[np.uint64]  # [M, R] tuples of fewer runs than R end with masks of 0
    lefts: NDArray[np.uint64]  # [M, R]
    symmetries: tuple[int, ...]  # 0..S-1: a tuple, since the compiler knows its length and unrolls loops over it
    action_places: NDArray[np.uint32]  # [A, 8 M] A = 4: to be added to the place of an entry to make it an action's;
    # A = 1, all 0, if the network values no actions (ntuple.state_action)


class Lookup(NamedTuple):
    """Room for the entries of some boards, one a row; made by `make_lookup`."""

    entries: NDArray[np.uint32]  # [rows * 8 M] entry (m, view) of a row lies at 8 m + view: its place in table m
    row_size: np.uint64  # 8 M
    bases: NDArray[np.uint64]  # [rows] the first record of the board's stage


def make_lookup(network: Network, rows: int) -> Lookup:
    """Room for the entries of `rows` boards."""
    row_size = VIEWS * network.tables.size
    return Lookup(np.zeros(rows * row_size, np.uint32), np.uint64(row_size), np.zeros(rows, np.uint64))


def make_network(
    network: str | Sequence[str],
    rows: int,
    columns: int,
    v_init: float,
    record_bits: int = 0,
    stages: str | Sequence[int | str] = (),
    promotion: str = "none",
    symmetry: bool = True,
    values: str = "afterstate",
    frozen_stages: int = 0,
    frozen_tuples: int = 0,
) -> Network:
    """A network whose value is `v_init` for every board: each weight is v_init / (S M).

    Source: optimistic initialisation, Guei et al. 2022, eq. 12, spread over the symmetries too.

    Args:
        network: a name or a list of patterns, see `parse_network`.
        rows: H of the board.
        columns: W of the board.
        v_init: value of every board.
        record_bits: log2 of the floats of a record.
        stages: see `make_stages`.
        promotion: what an entry met for the first time begins with, see `weight_of`: "none" v_init / (S M), "inter" the
            weight of the same entry in the stage before, "intra" that of the entry with all tiles halved, "both" the
            latter if it has been touched, or else the former.
        symmetry: whether a tuple's table serves all views of a board, or the board as it stands alone.
        values: what the network values; with "action" every tuple has a table an action.
        frozen_stages: how many of the first stages learn nothing.
        frozen_tuples: how many of the first tuples learn nothing; the others then share what an update moves V by.

    Raises:
        ValueError: see `parse_network` and `make_stages`.
    """
    parts = index_parts(network, rows, columns, symmetry, values)
    sizes = table_sizes(parse_network(network, rows, columns), rows, columns, values)
    cut = make_stages(stages)
    weights = placement.zeros(sum(sizes) * (cut.thresholds.size + 1) << record_bits)
    initial = initial_weight(v_init, len(parts["symmetries"]), len(sizes))
    if initial:
        weights[:: 1 << record_bits] = initial
    return Network(
        weights=weights,
        record_bits=np.uint64(record_bits),
        stage_size=np.uint64(sum(sizes)),
        stages=cut,
        promotion=PROMOTIONS[promotion],
        initial=initial,
        frozen=np.uint64(frozen_stages * sum(sizes)),
        first_learned=frozen_tuples,
        **parts,
    )


def initial_weight(v_init: float, symmetries: int, tuples: int) -> np.float32:
    """v_init / (S M)."""
    return np.float32(v_init / (symmetries * tuples))


def index_parts(
    network: str | Sequence[str], rows: int, columns: int, symmetry: bool = True, values: str = "afterstate"
) -> dict[str, Any]:
    """The fields of Network that say where a board's entries are."""
    patterns = parse_network(network, rows, columns)
    sizes, plain_sizes = table_sizes(patterns, rows, columns, values), table_sizes(patterns, rows, columns)
    levels = count_levels(rows, columns)
    is_small = levels < MOST_LEVELS
    runs = [cell_runs(pattern, columns) for pattern in patterns]
    padded = np.zeros((3, len(runs), max(map(len, runs))), np.uint64)
    for m, tuple_runs in enumerate(runs):
        padded[:, m, : len(tuple_runs)] = np.transpose(tuple_runs)
    rights, masks, lefts = (np.ascontiguousarray(part) for part in padded)
    return {
        "tables": np.cumsum([0, *sizes[:-1]]).astype(np.uint64),
        "salts": np.zeros(len(sizes), np.uint32) if is_small else make_salts(plain_sizes),
        "levels": np.uint32(levels),
        "digits": make_digits(levels) if is_small else np.zeros(0, np.uint32),
        "shuffles": _shuffles(patterns, rows, columns),
        "rights": rights,
        "masks": masks,
        "lefts": lefts,
        "symmetries": tuple(range((8 if rows == columns else 4) if symmetry else 1)),
        "action_places": _action_places(plain_sizes, view_actions(rows, columns, symmetry), count_actions(values)),
    }


def _action_places(sizes: list[int], images: list[tuple[int, ...]], actions: int) -> NDArray[np.uint32]:
    """For each action and entry, how far behind a tuple's first table that of the action's image on the view lies."""
    places = np.zeros((actions, len(sizes), VIEWS), np.uint32)
    for action in range(1 if actions == 1 else 0, actions):
        places[action, :, : len(images)] = [[image[action] * size for image in images] for size in sizes]
    return places.reshape(actions, -1)


def _shuffles(patterns: tuple[Pattern, ...], rows: int, columns: int) -> NDArray[np.uint8]:
    """For each tuple the nibble of the board's word that becomes nibble i of its index on view v, [M, i % 2, v, i / 2].

    The views are those of `_find_plainly`, in its order.
    """
    shuffles = np.full((len(patterns), 2, VIEWS, 4), NO_CELL, np.uint8)
    for m, pattern in enumerate(patterns):
        for v, view in enumerate(view_cells(rows, columns)):
            for i, cell in enumerate(pattern):
                shuffles[m, i % 2, v, i // 2] = 4 * (view[cell] // columns) + view[cell] % columns
    return shuffles.ravel()


def num_weights(network: Network) -> int:
    """The weights of all tables and stages together."""
    return network.weights.size >> int(network.record_bits)


def read_field(network: Network, field: int = 0) -> NDArray[np.float32]:
    """One field of all records in the order of files: stage by stage, table by table, first cell = lowest nibble."""
    values = np.empty(num_weights(network), np.float32)

    if network.digits.size:
        values[:] = network.weights[field :: 1 << int(network.record_bits)]
        return values

    def read(first: int, end: int, salt: np.uint32) -> None:
        read_table(network.weights, np.uint64(first), salt, network.record_bits, field, values[first:end])

    with ThreadPoolExecutor(available_cores()) as pool:
        list(pool.map(read, *zip(*_tables(network), strict=True)))
    return values


def write_field(network: Network, values: NDArray[np.float32], field: int = 0, stage: int = 0) -> None:
    """The inverse of `read_field`; the values may be those of some stages from `stage` on."""
    start = stage * int(network.stage_size)
    if network.digits.size:
        network.weights.reshape(-1, 1 << int(network.record_bits))[start : start + values.size, field] = values
        return

    def write(first: int, end: int, salt: np.uint32) -> None:
        part = values[first - start : end - start]
        write_table(network.weights, np.uint64(first), salt, network.record_bits, field, part)

    tables = [table for table in _tables(network) if start <= table[0] < start + values.size]
    with ThreadPoolExecutor(available_cores()) as pool:
        list(pool.map(write, *zip(*tables, strict=True)))


def _tables(network: Network) -> list[tuple[int, int, np.uint32]]:
    """First record, end and salt of every table of every stage, of every action by itself."""
    size, actions = int(network.stage_size), len(network.action_places)
    tables = []
    for stage in range(0, num_weights(network), size):
        starts = [stage + start for start in (*network.tables.tolist(), size)]
        for (start, end), salt in zip(itertools.pairwise(starts), network.salts, strict=True):
            step = (end - start) // actions
            tables += [(first, first + step, salt) for first in range(start, end, step)]
    return tables


def widen(network: Network, record_bits: int) -> Network:
    """The same weights in larger records, whose new floats are 0."""
    weights = placement.zeros(num_weights(network) << record_bits)
    weights[:: 1 << record_bits] = network.weights[:: 1 << int(network.record_bits)]
    return network._replace(weights=weights, record_bits=np.uint64(record_bits))


@inline
def _find_by_vectors(rules: Rules, network: Network, board: Board, entries: NDArray[np.uint32], at: np.uint64) -> None:
    word = index_word(board)
    for m in range(network.tables.size):
        tuple_number = np.uint64(m)
        place = at + tuple_number * U8
        if network.digits.size == 0:
            simd.index_views(word, network.shuffles, network.salts, tuple_number, entries, place)
        else:
            simd.index_views_in_base(word, network.shuffles, network.levels, tuple_number, entries, place)


@inline
def place_of(network: Network, nibbles: np.uint32, salt: np.uint32) -> np.uint32:
    """The place in its table of an index of a nibble a cell: scrambled, or in base R on a small board."""
    if network.digits.size == 0:
        return scramble(nibbles, salt)
    high = network.digits[nibbles >> U16] * network.levels**4
    return np.uint32(network.digits[nibbles & U16_MASK] + high)


@inline
def _find_plainly(rules: Rules, network: Network, board: Board, entries: NDArray[np.uint32], at: np.uint64) -> None:
    """Four views at a time: LLVM keeps them in one vector register."""
    v0 = index_word(board)
    v1 = index_word(mirror(rules, board))
    v2 = index_word(flip(rules, board))
    v3 = index_word(mirror(rules, flip(rules, board)))
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
            salt = network.salts[m]
            entries[place] = place_of(network, np.uint32(i0), salt)
            entries[place + ONE] = place_of(network, np.uint32(i1), salt)
            entries[place + U2] = place_of(network, np.uint32(i2), salt)
            entries[place + U3] = place_of(network, np.uint32(i3), salt)
            place += U8
        v0, v1, v2, v3 = transpose(v0), transpose(v1), transpose(v2), transpose(v3)


# The one choice between the vector instructions and their plain form; tests compare the two.
_find = _find_by_vectors if simd.AVAILABLE else _find_plainly


@inline
def find_entries(rules: Rules, network: Network, board: Board, lookup: Lookup, row: int) -> None:
    """Write the places of a board's S M entries to a row."""
    _find(rules, network, board, lookup.entries, np.uint64(row) * lookup.row_size)
    stage = stage_of(network.stages, board) if network.stages.thresholds.size else ZERO
    lookup.bases[row] = stage * network.stage_size


@inline
def prefetch_entries(network: Network, lookup: Lookup, row: int) -> None:
    """Begin to load the S M records of a row."""
    first = np.uint64(row) * lookup.row_size
    for m in range(network.tables.size):
        table = lookup.bases[row] + network.tables[m]
        for view in range(len(network.symmetries)):
            place = table + np.uint64(lookup.entries[first + np.uint64(VIEWS * m + view)])
            simd.prefetch(network.weights, place << network.record_bits)


@inline
def value_at(network: Network, lookup: Lookup, row: int) -> np.float32:
    """V of the board of a row, in four sums that do not wait for each other."""
    if network.promotion:
        return _promoted_value(network, lookup, row)
    first = np.uint64(row) * lookup.row_size
    a = b = c = d = np.float32(0)
    for m in range(network.tables.size):
        table = lookup.bases[row] + network.tables[m]
        if len(network.symmetries) == 1:
            place = table + np.uint64(lookup.entries[first + np.uint64(VIEWS * m)])
            a += network.weights[place << network.record_bits]
            continue
        for view in range(0, len(network.symmetries), 4):
            at = first + np.uint64(VIEWS * m + view)
            a += network.weights[(table + np.uint64(lookup.entries[at])) << network.record_bits]
            b += network.weights[(table + np.uint64(lookup.entries[at + ONE])) << network.record_bits]
            c += network.weights[(table + np.uint64(lookup.entries[at + U2])) << network.record_bits]
            d += network.weights[(table + np.uint64(lookup.entries[at + U3])) << network.record_bits]
    return (a + b) + (c + d)


@kernel
def _promoted_value(network: Network, lookup: Lookup, row: int) -> np.float32:
    """V where untouched entries count what they would begin with; nothing is written."""
    first = np.uint64(row) * lookup.row_size
    total = np.float32(0)
    for m in range(network.tables.size):
        for view in range(len(network.symmetries)):
            total += weight_of(network, lookup.bases[row], m, lookup.entries[first + np.uint64(VIEWS * m + view)])
    return total


@kernel
def smaller_place(network: Network, place: np.uint32, salt: np.uint32) -> np.uint32:
    """The place of an entry with all tiles halved."""
    if network.digits.size == 0:
        return scramble(smaller_index(unscramble(place, salt)), salt)
    smaller, unit = np.uint32(0), np.uint32(1)
    while place > 0:
        digit = place % network.levels
        smaller += unit * (digit - np.uint32(digit > 0))
        place //= network.levels
        unit *= network.levels
    return np.uint32(smaller)


@kernel
def weight_of(network: Network, base: np.uint64, m: int, place: np.uint32) -> np.float32:
    """The weight of an entry, or, if no update has touched it, the one it is promoted to.

        P_k[i] = w_k[i] if touched,  else w_k[half(i)] if touched (intra),
                 else P_{k-1}[i] if k > 0 (inter),  else the initial value

    with k the stage and half(i) the entry with all tiles halved. An entry counts as untouched while it has its initial
    value. Source: Jaskowski 2017, sec. V-D2 (inter); Matsuzaki 2017, sec. 4.2 (intra; "both" tries intra first).

    The papers copy a weight when it is first evaluated, so a copy may be of a copy; here it is written when it is first
    learned from, and the search goes back stage by stage instead. Halving goes one step: further ones would end at the
    entry of empty cells, which is always touched, and "both" would never come to the stage before.

    Args:
        network: of which `promotion` says what applies.
        base: the first record of the entry's stage.
        m: its tuple.
        place: its place in the table.

    Returns:
        P_k[i].
    """
    weight = _raw_weight(network, base, m, place)
    if weight != network.initial:
        return weight
    smaller = smaller_place(network, place, network.salts[m]) if network.promotion & INTRA else place
    while True:
        if network.promotion & INTRA:
            weight = _raw_weight(network, base, m, smaller)
        if weight != network.initial or not network.promotion & INTER or base == ZERO:
            return weight
        base -= network.stage_size
        weight = _raw_weight(network, base, m, place)
        if weight != network.initial:
            return weight


@inline
def _raw_weight(network: Network, base: np.uint64, m: int, place: np.uint32) -> np.float32:
    return network.weights[(base + network.tables[m] + np.uint64(place)) << network.record_bits]
