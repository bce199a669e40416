"""Tests of the averaged parameters."""

import jax.numpy as jnp
import numpy as np

from muzero2048.muzero.learner_state import Average, extend_average


def test_extend_average() -> None:
    """Compare with the average by hand, with d = min(decay, (1 + t) / (10 + t))."""
    average = Average(jnp.array([4.0]), jnp.int32(0))
    expected = 4.0
    for t, params in enumerate([1.0, 2.0, -3.0]):
        average = extend_average(average, jnp.array([params]), 0.15)
        share = min(0.15, (1 + t) / (10 + t))
        expected = share * expected + (1 - share) * params
        np.testing.assert_allclose(average.params, [expected], rtol=1e-6)
    assert int(average.updates) == 3
