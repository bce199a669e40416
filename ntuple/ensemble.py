"""Averages of networks: one that plays as fast as each of them, and better (Guei 2023, sec. 4.2, eq. 34)."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray


def average(networks: Iterable[NDArray[np.float32]]) -> NDArray[np.float32]:
    """LUT[i] = 1/k sum over j of LUT_j[i], of weights float32[N] of one shape; one network is in memory at a time.

    Raises:
        ValueError: there are none.
    """
    mean: NDArray[np.float32] | None = None
    for count, weights in enumerate(networks, 1):
        if mean is None:
            mean = weights.copy()
        else:
            mean += (weights - mean) / np.float32(count)
    if mean is None:
        raise ValueError("an average needs at least one network")
    return mean
