"""Learning rules on afterstates: TD(0) and temporal coherence (TC).

With delta = target - V(afterstate), every one of the afterstate's S M entries i (an entry met twice counts twice):

    TD(0)   w_i += alpha / (S M) * delta
    TC      w_i += alpha / (S M) * delta * beta_i,   beta_i = |E_i| / A_i, or 1 where A_i = 0,
            then E_i += delta and A_i += |delta|

Sources: Guei et al. 2022, eq. 7-9; Jaskowski 2017, algorithm 2 with lambda = 0. Both accumulate delta itself.
"""

import numpy as np

from ntuple.board import ONE, U2
from ntuple.jit import inline
from ntuple.network import VIEWS, Entries, Network

# The floats of a record of TC (Network.record_bits = 2): the weight, E, A, and one to fill the line.
WEIGHT, ERROR, ABSOLUTE = range(3)
TD_RECORD_BITS, TC_RECORD_BITS = 0, 2


@inline
def step_size(network: Network, alpha: np.float32) -> np.float32:
    """Alpha / (S M): the share of each entry."""
    return alpha / np.float32(len(network.symmetries) * network.tables.size)


@inline
def td_update(network: Network, entries: Entries, row: np.uint64, delta: np.float32, alpha: np.float32) -> None:
    """Move V of the board whose entries begin at entries[row] by TD."""
    step = step_size(network, alpha) * delta
    for m in range(network.tables.size):
        table = network.tables[m]
        for view in range(len(network.symmetries)):
            place = table + np.uint64(entries[row + np.uint64(VIEWS * m + view)])
            network.weights[place << network.record_bits] += step


@inline
def tc_update(network: Network, entries: Entries, row: np.uint64, delta: np.float32, alpha: np.float32) -> None:
    """Move V of the board whose entries begin at entries[row] by TC; needs records of four floats."""
    weights = network.weights
    step = step_size(network, alpha) * delta
    for m in range(network.tables.size):
        table = network.tables[m]
        for view in range(len(network.symmetries)):
            place = table + np.uint64(entries[row + np.uint64(VIEWS * m + view)])
            at = place << network.record_bits
            error, absolute = weights[at + ONE], weights[at + U2]
            if absolute > 0:
                weights[at] += step * (abs(error) / absolute)
            else:
                weights[at] += step
            weights[at + ONE] = error + delta
            weights[at + U2] = absolute + abs(delta)
