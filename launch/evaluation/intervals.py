"""95% intervals of means and rates. Shapes: `N` values, `P` points of a curve."""

from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64
from numpy.typing import ArrayLike

Points = Float64[np.ndarray, " P"]

Z = NormalDist().inv_cdf(0.975)  # of a 95% interval of a normal mean


class Interval(NamedTuple):
    """An estimate with its 95% interval."""

    value: int | float
    low: int | float
    high: int | float


def student(values: ArrayLike) -> Interval:
    """Return the mean of two or more independent values [N].

    mean +- t(0.975, N - 1) s / sqrt(N), with the sample's standard deviation s (Student 1908).

    Values are either the scores of one evaluation's games, or the mean scores of k training seeds:

    - Scores of games: the interval is that of the mean score of one network.
    - Mean scores of seeds: the interval is that of the mean over training seeds. It contains both variances. A seed's
      mean score of n games has variance S_b^2 + S_w^2 / n, with S_b^2 between seeds and S_w^2 within a seed. The sample
      variance s_b^2 of the k means estimates this sum. So the variance of the mean of the means is s_b^2 / k (two-stage
      sampling with few of many units: Cochran 1977, Sampling Techniques, sec. 10.4). The games of the seeds must be
      independent: if seeds share the spawns of their games, the interval leaves out the variance of these spawns.
    """
    x = np.asarray(values, np.float64)
    mean, low, high = (float(part[0]) for part in student_band(x[:, None]))
    return Interval(mean, low, high)


def student_band(values: Float64[np.ndarray, "N P"]) -> tuple[Points, Points, Points]:
    """Return the means of P columns and the ends of their intervals, as `student` for each column."""
    from scipy.special import stdtrit  # takes a quarter of the start of a command that draws no interval

    mean = values.mean(axis=0)
    margin = float(stdtrit(len(values) - 1, 0.975)) * values.std(axis=0, ddof=1) / len(values) ** 0.5
    return mean, mean - margin, mean + margin


def wilson(rate: int | float, games: int | float) -> Interval:
    """Return the rate p of n games.

    (p + z^2 / 2n +- z sqrt(p (1 - p) / n + z^2 / 4n^2)) / (1 + z^2 / n), with z = 1.96 (Wilson 1927).
    """
    _, low, high = (float(part[0]) for part in wilson_band(np.array([rate], np.float64), np.array([games], np.float64)))
    return Interval(rate, low, high)


def wilson_band(rates: Points, games: Points) -> tuple[Points, Points, Points]:
    """Return rates and the ends of their intervals, as `wilson` for each of them."""
    centre = rates + Z * Z / (2 * games)
    margin = Z * (rates * (1 - rates) / games + Z * Z / (4 * games * games)) ** 0.5
    scale = 1 + Z * Z / games
    # By rounding, the lower end for a rate of 0 would be -1e-18.
    return rates, np.maximum(0.0, (centre - margin) / scale), np.minimum(1.0, (centre + margin) / scale)


def student_of_rates(rates: ArrayLike, games: int | float) -> Interval:
    """Return the mean of the rates [N] of two or more seeds, with an interval within 0..1.

    The interval is the smallest that contains both `student`'s interval of the rates and Wilson's interval of all games
    together. `student` alone would fail where the rates of all seeds are 0, or all are 1: their variance is then 0.
    `games` counts the games of all seeds together.
    """
    x = np.asarray(rates, np.float64)[:, None]
    mean, low, high = (float(part[0]) for part in student_band_of_rates(x, np.array([games], np.float64)))
    return Interval(mean, low, high)


def student_band_of_rates(rates: Float64[np.ndarray, "N P"], games: Points) -> tuple[Points, Points, Points]:
    """Return the means of P columns and the ends of their intervals, as `student_of_rates` for each column."""
    mean, low, high = student_band(rates)
    _, least, most = wilson_band(mean, games)
    return mean, np.clip(np.minimum(low, least), 0, 1), np.clip(np.maximum(high, most), 0, 1)
