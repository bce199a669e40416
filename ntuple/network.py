"""n-tuple networks: V(afterstate) = sum over M tuples and S symmetries of one shared table a tuple.

S is 8 on square boards and 4 on oblong ones. All tables lie in one flat array, table m from offsets[m]; a
position is an offset plus an index. Kernels work on the positions of an afterstate, computed once for choosing
a move and for learning from it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntuple.board import Board, Rules, flip, index_word, mirror, transpose
from ntuple.jit import inline
from ntuple.patterns import cell_runs, parse_network
from ntuple.prefetch import prefetch


class Network(NamedTuple):
    """The tables of a network and the way to find a board's entries; made by `make_network`."""

    weights: NDArray[np.float32]  # [sum of 16^n] all tables
    offsets: NDArray[np.uint64]  # [M] where each table starts
    rights: NDArray[np.uint64]  # [M, R] run r of tuple m is ((word >> right) & mask) << left;
    masks: NDArray[np.uint64]  # [M, R] tuples of fewer runs than R end with masks of 0
    lefts: NDArray[np.uint64]  # [M, R]
    symmetries: int  # S


def make_network(network: str, rows: int, columns: int, v_init: float) -> Network:
    """A network whose value is `v_init` for every board: each weight is v_init / (S M).

    Source: optimistic initialisation, Guei et al. 2022, eq. 12, spread over the symmetries too.

    Raises:
        ValueError: see `parse_network`.
    """
    patterns = parse_network(network, rows, columns)
    runs = [cell_runs(pattern, columns) for pattern in patterns]
    padded = np.zeros((3, len(runs), max(map(len, runs))), np.uint64)
    for m, tuple_runs in enumerate(runs):
        padded[:, m, : len(tuple_runs)] = np.transpose(tuple_runs)
    sizes = [16 ** len(pattern) for pattern in patterns]
    offsets = np.cumsum([0, *sizes[:-1]]).astype(np.uint64)
    symmetries = 8 if rows == columns else 4
    # np.zeros leaves the pages to the first touch, and asks for huge ones.
    weights = np.zeros(sum(sizes), np.float32)
    if v_init:
        weights[:] = v_init / (symmetries * len(patterns))
    rights, masks, lefts = (np.ascontiguousarray(part) for part in padded)
    return Network(weights, offsets, rights, masks, lefts, symmetries)


@inline
def find_positions(rules: Rules, network: Network, board: Board, positions: NDArray[np.uint64], row: int) -> None:
    """Write the positions of an afterstate's S M entries to positions[row].

    Four views at a time: LLVM keeps them in one vector register.
    """
    v0 = index_word(board)
    v1 = index_word(mirror(rules, board))
    v2 = index_word(flip(rules, board))
    v3 = index_word(mirror(rules, flip(rules, board)))
    at = 0
    for _ in range(network.symmetries >> 2):
        for m in range(network.offsets.size):
            p0 = p1 = p2 = p3 = network.offsets[m]
            for r in range(network.masks.shape[1]):
                right, mask, left = network.rights[m, r], network.masks[m, r], network.lefts[m, r]
                p0 += ((v0 >> right) & mask) << left
                p1 += ((v1 >> right) & mask) << left
                p2 += ((v2 >> right) & mask) << left
                p3 += ((v3 >> right) & mask) << left
            positions[row, at] = p0
            positions[row, at + 1] = p1
            positions[row, at + 2] = p2
            positions[row, at + 3] = p3
            prefetch(network.weights, p0)
            prefetch(network.weights, p1)
            prefetch(network.weights, p2)
            prefetch(network.weights, p3)
            at += 4
        v0, v1, v2, v3 = transpose(v0), transpose(v1), transpose(v2), transpose(v3)


@inline
def value_at(weights: NDArray[np.float32], positions: NDArray[np.uint64], row: int) -> np.float32:
    """V of the afterstate whose S M entries lie at positions[row], in four sums that do not wait for each other."""
    a = b = c = d = np.float32(0)
    for i in range(0, positions.shape[1], 4):
        a += weights[positions[row, i]]
        b += weights[positions[row, i + 1]]
        c += weights[positions[row, i + 2]]
        d += weights[positions[row, i + 3]]
    return (a + b) + (c + d)
