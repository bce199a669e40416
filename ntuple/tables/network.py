"""n-tuple networks: the arrays of a network, and how they are made.

    V(board) = sum over tuples m = 1..M and views v = 1..S of table_m[index of tuple m on view v of the board]

All views share one table for each tuple. S is 8 on square boards, 4 on other rectangles, and 1 without symmetry. A
network of several parts has a copy of all tables for each part: a part for each stage, and in a game with a hint a part
for each pair of stage and hint. The weights of all tables are in one flat array, ordered by stage, then by hint, then
by tuple, then as in ntuple.tables.layout.

    entries        find the S M entries of a board
    values         sum their weights
    promotion      the weight of an entry that no update has changed
    file_order  read and write the tables in the order of files
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntuple.core.games.known import find_game
from ntuple.tables import cpu_placement
from ntuple.tables.layout import PAIRED, line_order, make_digits, make_order, make_salts
from ntuple.tables.patterns import (
    NIBBLE_LEVELS,
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

VIEWS = 8  # entries of a tuple in a row of a look-up; the first S are used
NO_CELL = 0x80  # in a byte shuffle: the byte becomes 0
INTER, INTRA = 1, 2  # bits of Network.promotion
PROMOTIONS = {"none": None, "inter": INTER, "intra": INTRA, "both": INTER | INTRA}


class Network(NamedTuple):
    """The tables of a network and all that finds the entries of a board; made by `make_network`."""

    weights: NDArray[np.float32]  # [parts N] the entries of all tables
    memory: NDArray[np.float32]  # [parts N << memory_bits] what the step size rule keeps for each weight, or [0]
    memory_bits: np.uint64  # log2 of the floats that it keeps for a weight
    part_size: np.uint64  # N, entries of a part
    hints: np.uint64  # parts of a stage; 1: the hint is no input
    places: bool  # whether a cell where the next tile may land has value 15 in an index, instead of 0
    stages: Stages
    promotion: int | None  # bits INTER and INTRA; None: none, which the compiler knows (`by_promotion`)
    initial: np.float32  # the weight of an entry that no update has changed
    frozen: np.uint64  # number of entries of the first parts that do not learn
    first_learned: int  # number of the first tuple that learns
    tables: NDArray[np.uint64]  # [M] the first entry of each table in its part
    paired: NDArray[np.uint32]  # [M] see ntuple.tables.layout, as for salts and orders
    salts: NDArray[np.uint32]  # [M]
    orders: NDArray[np.uint32]  # [M, 2, 65536]; [0, 2, 65536] if R is not 16
    levels: np.uint32  # R, see ntuple.tables.patterns
    digits: NDArray[np.uint32]  # [65536] four nibbles as a number in base R; [0] if R is 16
    shuffles: NDArray[np.uint8]  # [64 M] see ntuple.tables.simd
    rights: NDArray[np.uint64]  # [M, runs] run r of tuple m is ((word >> right) & mask) << left
    masks: NDArray[np.uint64]  # [M, runs] a tuple with fewer runs than another has masks of 0 at the end
    lefts: NDArray[np.uint64]  # [M, runs]
    symmetries: tuple[int, ...]  # 0..S-1; a tuple, because the compiler knows its length and unrolls loops over it
    action_places: NDArray[np.uint32]  # [A, 8 M] place of an action's entry minus place of the board's entry;
    # A = 4 if the network values actions (ntuple.td.state_and_q), else A = 1 and all are 0


def make_network(
    network: str | Sequence[str],
    rows: int,
    columns: int,
    v_init: float,
    memory_bits: int | None = None,
    stages: str | Sequence[int | str] = (),
    promotion: str = "none",
    symmetry: bool = True,
    values: str = "afterstate",
    frozen_stages: int = 0,
    frozen_tuples: int = 0,
    game: str = "2048",
    levels: int = 0,
    hints: int = 1,
    places: bool = False,
) -> Network:
    """Make a network whose value is `v_init` for every board: each weight is v_init / (S M).

    Source: optimistic initialisation, Guei et al. 2022, eq. 12, here divided by the number of symmetries too.

    Args:
        memory_bits: log2 of the floats that the step size rule keeps for a weight; None: it keeps nothing.
        promotion: weight of an entry before its first update (`ntuple.tables.promotion.weight_of`): "none" v_init /
            (S M); "inter" the weight of the same entry in the previous stage; "intra" the weight of the entry with all
            tiles halved; "both" like "intra" if that entry has been updated, else like "inter".
        symmetry: whether all views of a board share the table of a tuple; if not, S = 1.
        values: what the network values; with "action" every tuple has one table for each action.
        frozen_stages: number of the first stages that do not learn.
        frozen_tuples: number of the first tuples that do not learn; the other tuples share each update of V.
        levels: R; 0: that of the game.
        hints: number of hints, if the hint is an input, else 1.
        places: whether the cells where the next tile may land are an input; R must be 16, and no tile have level 15.
    """
    levels = levels or count_levels(rows, columns, game)
    fields = index_fields(network, rows, columns, symmetry, values, levels)
    sizes = table_sizes(parse_network(network, rows, columns), levels, values)
    cut = make_stages(stages, find_game(game, rows, columns))
    weights = cpu_placement.zeros(sum(sizes) * hints * (cut.thresholds.size + 1))
    initial = initial_weight(v_init, len(fields["symmetries"]), len(sizes))
    if initial:
        weights[:] = initial
    return Network(
        weights=weights,
        memory=cpu_placement.zeros(0 if memory_bits is None else weights.size << memory_bits),
        memory_bits=np.uint64(memory_bits or 0),
        part_size=np.uint64(sum(sizes)),
        hints=np.uint64(hints),
        places=places,
        stages=cut,
        promotion=PROMOTIONS[promotion],
        initial=initial,
        frozen=np.uint64(frozen_stages * hints * sum(sizes)),
        first_learned=frozen_tuples,
        **fields,
    )


def initial_weight(v_init: float, symmetries: int, tuples: int) -> np.float32:
    """Return the weight of an entry before its first update, v_init / (S M)."""
    return np.float32(v_init / (symmetries * tuples))


def index_fields(
    network: str | Sequence[str],
    rows: int,
    columns: int,
    symmetry: bool = True,
    values: str = "afterstate",
    levels: int | None = None,
) -> dict[str, Any]:
    """Return the fields of Network that determine the entries of a board.

    Returns:
        Arrays and numbers by the name of the field, from `tables` on.
    """
    patterns = parse_network(network, rows, columns)
    levels = count_levels(rows, columns) if levels is None else levels
    sizes, plain_sizes = table_sizes(patterns, levels, values), table_sizes(patterns, levels)
    in_base = levels != NIBBLE_LEVELS
    in_line = patterns if in_base else [tuple(pattern[i] for i in line_order(pattern)) for pattern in patterns]
    runs = [cell_runs(pattern, columns) for pattern in in_line]
    padded = np.zeros((3, len(runs), max(map(len, runs))), np.uint64)
    for m, tuple_runs in enumerate(runs):
        padded[:, m, : len(tuple_runs)] = np.transpose(tuple_runs)
    rights, masks, lefts = (np.ascontiguousarray(part) for part in padded)
    return {
        "tables": np.cumsum([0, *sizes[:-1]]).astype(np.uint64),
        "paired": np.array([PAIRED if len(pattern) > 1 else 0 for pattern in patterns], np.uint32),
        "salts": np.zeros(len(sizes), np.uint32) if in_base else make_salts(plain_sizes),
        "orders": np.zeros((0, 2, 1 << 16), np.uint32) if in_base else np.stack([make_order(p) for p in patterns]),
        "levels": np.uint32(levels),
        "digits": make_digits(levels) if in_base else np.zeros(0, np.uint32),
        "shuffles": _shuffles(in_line, rows, columns),
        "rights": rights,
        "masks": masks,
        "lefts": lefts,
        "symmetries": tuple(range((8 if rows == columns else 4) if symmetry else 1)),
        "action_places": _action_places(plain_sizes, view_actions(rows, columns, symmetry), count_actions(values)),
    }


def _action_places(sizes: list[int], images: list[tuple[int, ...]], actions: int) -> NDArray[np.uint32]:
    """Return Network.action_places: for each entry the offset of the table of the action's image on the entry's view.

    Args:
        images: [S] image of each action on each view, see `view_actions`.
    """
    places = np.zeros((actions, len(sizes), VIEWS), np.uint32)
    for action in range(1 if actions == 1 else 0, actions):
        places[action, :, : len(images)] = [[image[action] * size for image in images] for size in sizes]
    return places.reshape(actions, -1)


def _shuffles(patterns: Sequence[Pattern], rows: int, columns: int) -> NDArray[np.uint8]:
    """Return Network.shuffles, an array [M, i % 2, v, i / 2] that is then flattened.

    Each element is the nibble of the board's word that becomes nibble i of the tuple's index on view v. The views have
    the same order as in ntuple.tables.entries.
    """
    shuffles = np.full((len(patterns), 2, VIEWS, 4), NO_CELL, np.uint8)
    for m, pattern in enumerate(patterns):
        for v, view in enumerate(view_cells(rows, columns)):
            for i, cell in enumerate(pattern):
                shuffles[m, i % 2, v, i // 2] = 4 * (view[cell] // columns) + view[cell] % columns
    return shuffles.ravel()


def with_memory(network: Network, memory_bits: int) -> Network:
    """Return the network, which shares its weights, with new memory of the step size rule, all 0."""
    memory = cpu_placement.zeros(network.weights.size << memory_bits)
    return network._replace(memory=memory, memory_bits=np.uint64(memory_bits))
