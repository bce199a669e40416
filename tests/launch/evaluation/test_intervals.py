"""Over simulated trainings, intervals cover the true value with their nominal probability."""

import numpy as np
import pytest

from launch.evaluation.intervals import student, student_of_rates, wilson
from launch.evaluation.seeds import BASELINE_SEED, final_evaluation_seed, training_evaluation_seed

TRAININGS = 4000
TRUTH = 10_000.0


def simulate(rng: np.random.Generator, seeds: int, games: int, between: float, shared: float = 0.0) -> np.ndarray:
    """Draw mean scores [TRAININGS, seeds]: normal between seeds, skewed within a seed, plus a shared part."""
    strength = TRUTH + between * rng.normal(size=(TRAININGS, seeds))
    luck = 3000 * (rng.exponential(size=(TRAININGS, seeds, games)) - 1).mean(axis=-1)
    return strength + luck + shared * rng.normal(size=(TRAININGS, 1))


def coverage(means: np.ndarray) -> float:
    intervals = [student(row) for row in means]
    return float(np.mean([interval.low <= TRUTH <= interval.high for interval in intervals]))


@pytest.mark.parametrize(("seeds", "between"), [(2, 0.0), (10, 0.0), (3, 300.0), (5, 300.0), (2, 2000.0), (10, 2000.0)])
def test_the_interval_over_seeds_covers_both_variances(rng: np.random.Generator, seeds: int, between: float) -> None:
    """The standard deviation within a seed is 3000 / sqrt(100) = 300."""
    assert coverage(simulate(rng, seeds, 100, between)) == pytest.approx(0.95, abs=0.012)


def test_the_interval_of_one_seed_leaves_the_variance_between_seeds_out(rng: np.random.Generator) -> None:
    """If the variance between seeds equals the variance within, the coverage is far below 95% (docs/compare.md)."""
    covered = 0
    for _ in range(TRAININGS):
        low, high = student(TRUTH + 300 * rng.normal() + 3000 * (rng.exponential(size=100) - 1))[1:]
        covered += low <= TRUTH <= high
    assert 0.75 < covered / TRAININGS < 0.88


def test_shared_games_would_spoil_the_interval(rng: np.random.Generator) -> None:
    """This is the reason why each training seed has its own evaluation games."""
    assert coverage(simulate(rng, 5, 100, 300.0, shared=300.0)) < 0.9


@pytest.mark.parametrize("rate", [0.0, 0.02, 0.5, 0.98, 1.0])
def test_rates_over_seeds(rng: np.random.Generator, rate: float) -> None:
    """The coverage is at least 95%, because the wider of two intervals is taken.

    The rates of the seeds have a beta distribution; at 0 and 1 they are equal.
    """
    covered = 0
    for _ in range(1000):
        strengths = np.full(5, rate) if rate in (0, 1) else rng.beta(200 * rate, 200 * (1 - rate), 5)
        value, low, high = student_of_rates(rng.binomial(100, strengths) / 100, 500)
        assert 0 <= low <= value <= high <= 1
        assert high - low > 0.004
        covered += low <= rate <= high
    assert covered / 1000 > 0.93


def test_wilson_by_hand() -> None:
    # 3 of 4: (0.75 + 0.480182 +- 1.959964 sqrt(0.046875 + 0.060023)) / 1.960365
    assert wilson(0.75, 4) == pytest.approx((0.75, 0.300642, 0.954413), abs=1e-5)


def test_seeds_of_evaluations_differ() -> None:
    derived = [seed(training) for training in range(1000) for seed in (training_evaluation_seed, final_evaluation_seed)]
    assert len({*derived, BASELINE_SEED}) == 2001
    assert all(0 <= seed < 2**32 for seed in derived)
    # These values must not change: they are in file names, and old results are repeated with them.
    assert (training_evaluation_seed(0), final_evaluation_seed(0)) == (2508929068, 1383075123)
