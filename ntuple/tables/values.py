"""The value of a board: the sum of the weights of its S M entries, which `find_entries` has found before."""

from typing import Any

import numpy as np

from ntuple.game.bitboard import ONE, U2, U3, U4
from ntuple.game.jit import inline, kernel
from ntuple.tables import simd
from ntuple.tables.entries import Lookup
from ntuple.tables.network import VIEWS, Network
from ntuple.tables.promotion import by_promotion, weight_of


@inline
def _stored_value(network: Network, lookup: Lookup, row: int) -> np.float32:
    """Compute V of a board in four independent sums, so that no addition waits for the previous one.

    With promotion, entries without an update count as in `weight_of`.
    """
    first = np.uint64(row) * lookup.row_size
    a = b = c = d = np.float32(0)
    for m in range(network.tables.size):
        table = lookup.bases[row] + network.tables[m]
        at = first + np.uint64(VIEWS * m)
        if len(network.symmetries) == 1:
            a += simd.load(network.weights, table, lookup.entries[at])
            continue
        for _ in range(0, len(network.symmetries), 4):
            a += simd.load(network.weights, table, lookup.entries[at])
            b += simd.load(network.weights, table, lookup.entries[at + ONE])
            c += simd.load(network.weights, table, lookup.entries[at + U2])
            d += simd.load(network.weights, table, lookup.entries[at + U3])
            at += U4
    return (a + b) + (c + d)


@kernel
def _promoted_value(network: Network, lookup: Lookup, row: int) -> np.float32:
    """Compute V of a network with promotion; nothing is written."""
    first = np.uint64(row) * lookup.row_size
    total = np.float32(0)
    for m in range(network.tables.size):
        for view in range(len(network.symmetries)):
            total += weight_of(network, lookup.bases[row], m, lookup.entries[first + np.uint64(VIEWS * m + view)])
    return total


value_at: Any = by_promotion(_stored_value, _promoted_value)
