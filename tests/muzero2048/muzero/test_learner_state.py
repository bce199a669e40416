"""Tests of the averaged parameters, and of the beginning with those of another training."""

import jax.numpy as jnp
import numpy as np

from muzero2048.muzero.learner_state import Average, MuZeroState, acting_params, beginning_with, extend_average


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


def test_beginning_with() -> None:
    """The parameters that the optimizer moves begin where their average does, in arrays of their own."""
    others = {"weights": jnp.array([1.0, 2.0])}
    new = MuZeroState._make([{"weights": jnp.zeros(2)}, *[None] * 6])
    assert beginning_with(new, others).params is others
    average = Average({"weights": jnp.ones(2)}, jnp.int32(0))
    state = beginning_with(new._replace(average=average), others)
    assert acting_params(state) is others
    np.testing.assert_array_equal(state.params["weights"], others["weights"])
    assert state.params["weights"] is not others["weights"]
    assert int(state.average.updates) == 0
