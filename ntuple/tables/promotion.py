"""Promoted weights written out: the same values by weights alone, for what reads weights and not kernels.

A file of other programs, a folded network and a mean of networks have no promotion. Their weights are P_k[i] of
`ntuple.network.weight_of`.
"""

import itertools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from ntuple.game.bitboard import ZERO
from ntuple.game.jit import inline, kernel
from ntuple.tables import placement
from ntuple.tables.layout import scramble, smaller_index, unscramble
from ntuple.tables.network import INTER, INTRA, PROMOTIONS, Network, num_weights
from ntuple.tables.placement import available_cores


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


@inline
def _raw_weight(network: Network, base: np.uint64, m: int, place: np.uint32) -> np.float32:
    return network.weights[(base + network.tables[m] + np.uint64(place)) << network.record_bits]


@kernel
def _write_out(network: Network, base: np.uint64, m: int, out: NDArray[np.float32]) -> None:
    """Fill `out` with the promoted weights of table m of a stage, in the order of its records."""
    for place in range(out.size):
        out[place] = weight_of(network, base, m, np.uint32(place))


def promoted(network: Network) -> Network:
    """The network of the same values without promotion, of records of one float; itself if it has none.

    It takes 4 bytes a weight more.
    """
    if not network.promotion:
        return network
    weights, size = placement.zeros(num_weights(network)), int(network.stage_size)

    def write_out(stage: int, m: int, start: int, end: int) -> None:
        _write_out(network, np.uint64(stage), m, weights[stage + start : stage + end])

    tables = enumerate(itertools.pairwise((*network.tables.tolist(), size)))
    tasks = [(stage, m, *ends) for m, ends in tables for stage in range(0, weights.size, size)]
    with ThreadPoolExecutor(available_cores()) as pool:
        list(pool.map(write_out, *zip(*tasks, strict=True)))
    return network._replace(weights=weights, record_bits=np.uint64(0), promotion=PROMOTIONS["none"])
