"""Promoted weights written out: the same values by weights alone, for what reads weights and not kernels.

A file of other programs, a folded network and a mean of networks have no promotion. Their weights are P_k[i] of
`ntuple.network.weight_of`.
"""

import itertools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from ntuple.game.jit import kernel
from ntuple.learning.config import available_cores
from ntuple.tables import placement
from ntuple.tables.network import PROMOTIONS, Network, num_weights, weight_of


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
