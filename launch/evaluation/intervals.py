"""95% intervals of means and rates. Shapes: `N` values."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri, stdtrit


class Interval(NamedTuple):
    """An estimate with its 95% interval."""

    value: int | float
    low: int | float
    high: int | float


def student(values: ArrayLike) -> Interval:
    """The mean of two or more independent values [N].

    mean +- t(0.975, N - 1) s / sqrt(N), with the sample's standard deviation s (Student 1908).

    Of the games of one evaluation it tells how well the strength of one network is known. Of the mean scores of k
    training seeds it tells how well the mean over training seeds is known, and holds both variances: a seed's mean
    score of n games has the variance S_b^2 + S_w^2 / n, between seeds and within, and the sample variance of the k
    means, s_b^2, estimates this sum without knowing its parts. So the variance of the mean of the means is
    s_b^2 / k (two-stage sampling with few of many units: Cochran 1977, Sampling Techniques, sec. 10.4). It holds if
    the games of the seeds are independent: if they share their spawns, the part that they have in common is left out.
    """
    x = np.asarray(values, np.float64)
    mean = float(x.mean())
    margin = float(stdtrit(x.size - 1, 0.975)) * float(x.std(ddof=1)) / x.size**0.5
    return Interval(mean, mean - margin, mean + margin)


def wilson(rate: int | float, games: int | float) -> Interval:
    """The rate p of n games.

    (p + z^2 / 2n +- z sqrt(p (1 - p) / n + z^2 / 4n^2)) / (1 + z^2 / n), with z = 1.96 (Wilson 1927).
    """
    z = float(ndtri(0.975))
    centre = rate + z * z / (2 * games)
    margin = z * (rate * (1 - rate) / games + z * z / (4 * games * games)) ** 0.5
    scale = 1 + z * z / games
    # max: rounding leaves the lower end of a rate of 0 at -1e-18
    return Interval(rate, max(0.0, (centre - margin) / scale), min(1.0, (centre + margin) / scale))


def student_of_rates(rates: ArrayLike, games: int | float) -> Interval:
    """The mean of the rates [N] of two or more seeds, within 0..1.

    `student`, widened to Wilson's interval of all their games together: where the rates of all seeds are 0, or 1, their
    variance is 0, and says nothing.

    Args:
        rates: of the seeds.
        games: of all seeds together.
    """
    mean, low, high = student(rates)
    pooled = wilson(mean, games)
    return Interval(mean, max(0.0, min(low, pooled.low)), min(1.0, max(high, pooled.high)))
