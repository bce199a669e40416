"""Averages of networks (Guei 2023, sec. 4.2, eq. 34). The average plays better than each network, at the same speed."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Weights = NDArray[np.float32]
BLOCK = 1 << 18  # weights at a time: 1 MB, so that no second network is in memory


class WeightMean:
    """Running mean of networks: LUT[i] = 1/k sum over j = 1..k of LUT_j[i]."""

    def __init__(self, weights: Weights | None = None, count: int = 0) -> None:
        """Begin an empty mean, or continue the mean `weights` of `count` networks, whose array is changed in place."""
        self.weights, self.count = weights, count

    def add(self, weights: Weights) -> None:
        """Add one network to the mean."""
        self.count += 1
        if self.weights is None:
            self.weights = weights.copy()
        else:
            for start in range(0, weights.size, BLOCK):
                mean = self.weights[start : start + BLOCK]
                mean += (weights[start : start + BLOCK] - mean) / np.float32(self.count)


def average(networks: Iterable[Weights]) -> Weights:
    """Return the mean of weights float32[N]; if `networks` is an iterator, two networks are in memory at a time.

    Raises:
        ValueError: there are no networks.
    """
    mean = WeightMean()
    for weights in networks:
        mean.add(weights)
    if mean.weights is None:
        raise ValueError("an average needs at least one network")
    return mean.weights
