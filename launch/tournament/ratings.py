"""Bradley-Terry ratings of the programs of a tournament, in Elo points.

    P(i wins against j) = 1 / (1 + 10^((R_j - R_i) / 400))

R is the maximum of the posterior: each program has one more draw, against a program of rating 0, so that a program that
won or lost everything has a rating too. Half widths of 95% intervals come from the Fisher information.
"""

import math

import numpy as np
from numpy.typing import NDArray

ELO = 400 / math.log(10)  # Elo points of one unit of log strength
STEPS = 100  # of Newton's method, which needs about ten


def ratings(points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return ratings and half widths, both [N], in Elo points.

    Args:
        points: [N, N] of each program (row) in its pairings with each other one; a draw is half a point for both.
    """
    games, strength = points + points.T, np.zeros(len(points))
    information = np.eye(len(points))
    for _ in range(STEPS):
        win = 1 / (1 + np.exp(strength[np.newaxis] - strength[:, np.newaxis]))  # [i, j]: i against j
        of_draw = 1 / (1 + np.exp(-strength))
        gradient = points.sum(1) - (games * win).sum(1) + 0.5 - of_draw
        weight = games * win * win.T
        information = np.diag(weight.sum(1) + of_draw * (1 - of_draw)) - weight
        step = np.linalg.solve(information, gradient)
        strength = strength + np.clip(step, -1, 1)
        if np.abs(step).max() < 1e-9:
            break
    return ELO * strength, 1.96 * ELO * np.sqrt(np.diag(np.linalg.inv(information)))
