"""n-tuple networks: V(board) = sum over M tuples and S symmetries of one shared table a tuple.

S is 8 on square boards, 4 on oblong ones, and 1 if views share no tables. A network of several stages has all tables
once a stage. They lie in one flat array of records (ntuple.layout), stage behind stage. Kernels find the S M entries of
a board once, begin to load them, and come back for the values when they have arrived.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntuple.tables import placement
from ntuple.tables.layout import make_digits, make_salts
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
from ntuple.tables.stages import Stages, make_stages

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
