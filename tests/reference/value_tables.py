"""The update of value tables by TC in plain Python, entry by entry (formulas: muzero2048/networks/value_tables.py)."""

import math

import numpy as np


def learn(
    w: np.ndarray, error: np.ndarray, absolute: np.ndarray, entries: np.ndarray, delta: np.ndarray, rate: float
) -> None:
    """Update weights, E and A in place by the errors of the samples that read the entries."""
    met: dict[int, list[float]] = {}
    for row, d in zip(entries.tolist(), delta.tolist(), strict=True):
        for entry in row:
            met.setdefault(entry, []).append(d)
    for entry, deltas in met.items():
        mean = float(np.mean(deltas))
        error[entry] += mean
        absolute[entry] += float(np.mean(np.abs(deltas)))
        if absolute[entry] > 0:  # else no sample with an error has read the entry
            w[entry] += rate / entries.shape[1] * abs(error[entry]) / absolute[entry] * mean


def compress(x: float) -> float:
    """Compute h(x) of MuZero, appendix F."""
    return math.copysign(math.sqrt(abs(x) + 1.0) - 1.0, x) + 0.001 * x
