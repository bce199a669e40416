"""Test of the optimizer's learning rate."""

import dataclasses

import jax.numpy as jnp
import numpy as np

from muzero2048.training.optimizer import make_optimizer
from tests.muzero2048.toy_model import small_config

CONFIG = small_config(rows=2, columns=2)


def test_the_rate_falls_linearly_over_the_planned_updates() -> None:
    config = dataclasses.replace(CONFIG, env_steps=CONFIG.chunk_moves * 5)
    optimizer = make_optimizer(config)
    steps = config.total_updates
    assert steps == 10
    params = jnp.zeros(1)
    state = optimizer.init(params)
    sizes = []
    for _ in range(steps + 1):  # with a constant gradient, the size of Adam's step is the learning rate
        update, state = optimizer.update(jnp.ones(1), state, params)
        sizes.append(float(-update[0]))
    np.testing.assert_allclose(sizes, np.linspace(1e-3, 1e-4, steps + 1), rtol=1e-3)
