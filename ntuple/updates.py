"""Learning rules on afterstates: TD(0) and temporal coherence (TC).

With delta = target - V(afterstate), every one of the afterstate's S M entries i (an entry met twice counts twice):

    TD(0)   w_i += alpha / (S M) * delta
    TC      w_i += alpha / (S M) * delta * beta_i,   beta_i = |E_i| / A_i, or 1 where A_i = 0,
            then E_i += delta and A_i += |delta|

Sources: Guei et al. 2022, eq. 7-9; Jaskowski 2017, algorithm 2 with lambda = 0. Both accumulate delta itself.
"""

import numpy as np
from numpy.typing import NDArray

from ntuple.jit import inline
from ntuple.network import value_at

Weights = NDArray[np.float32]  # [N] the tables
Errors = NDArray[np.float32]  # [N, 2] E and A of each weight, side by side: an update touches one line for both
Positions = NDArray[np.uint64]  # [5, S M]; row `row` holds the entries of the afterstate to learn from


@inline
def td_update(weights: Weights, positions: Positions, row: int, target: np.float32, alpha: np.float32) -> np.float32:
    """Move V of the afterstate at positions[row] towards `target` by TD(0); returns delta."""
    delta = target - value_at(weights, positions, row)
    step = alpha / np.float32(positions.shape[1]) * delta
    for i in range(positions.shape[1]):
        weights[positions[row, i]] += step
    return delta


@inline
def tc_update(
    weights: Weights, errors: Errors, positions: Positions, row: int, target: np.float32, alpha: np.float32
) -> np.float32:
    """Move V of the afterstate at positions[row] towards `target` by TC; returns delta."""
    delta = target - value_at(weights, positions, row)
    step = alpha / np.float32(positions.shape[1]) * delta
    for i in range(positions.shape[1]):
        at = positions[row, i]
        error, absolute = errors[at, 0], errors[at, 1]
        if absolute > 0:
            weights[at] += step * (abs(error) / absolute)
        else:
            weights[at] += step
        errors[at, 0] = error + delta
        errors[at, 1] = absolute + abs(delta)
    return delta
