"""Averages of networks: one that plays as fast as each of them, and better (Guei 2023, sec. 4.2, eq. 34)."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Weights = NDArray[np.float32]


class WeightMean:
    """LUT[i] = 1/k sum over j of LUT_j[i], of k networks that come one by one."""

    def __init__(self, weights: Weights | None = None, count: int = 0) -> None:
        """The mean of nothing yet, or one of `count` networks that was kept; its array is written to."""
        self.weights, self.count = weights, count

    def add(self, weights: Weights) -> None:
        """Take in one more network."""
        self.count += 1
        if self.weights is None:
            self.weights = weights.copy()
        else:
            self.weights += (weights - self.weights) / np.float32(self.count)


def average(networks: Iterable[Weights]) -> Weights:
    """The mean of weights float32[N] of one shape; two networks are in memory at a time.

    Raises:
        ValueError: there are none.
    """
    mean = WeightMean()
    for weights in networks:
        mean.add(weights)
    if mean.weights is None:
        raise ValueError("an average needs at least one network")
    return mean.weights
