"""Tests of the optimizer: learning rates, and AdaDelta against a plain recursion."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest

from muzero2048.muzero.config import MuZeroConfig
from muzero2048.training.config import OptimizerConfig
from muzero2048.training.optimizer import learning_rate, make_optimizer
from tests.muzero2048.toy_model import small_config

CONFIG = small_config(rows=2, columns=2)
# Ten updates are planned: two in each chunk but the first.
TEN = dataclasses.replace(CONFIG, env_steps=CONFIG.chunk_moves * 6)


def config_of(**optimizer: object) -> MuZeroConfig:
    return dataclasses.replace(TEN, optimizer=OptimizerConfig(**optimizer))


def test_the_rate_falls_linearly_over_the_planned_updates() -> None:
    assert TEN.total_updates == 10
    # With a constant gradient, the size of Adam's step is the learning rate.
    np.testing.assert_allclose(step_sizes(TEN, [1.0] * 11), np.linspace(1e-3, 1e-4, 11), rtol=1e-3)


def test_the_rate_falls_in_steps() -> None:
    """The first rate holds for updates 0 to 2, the second for 3 to 6, the third from 7 on, also after the last one."""
    config = config_of(learning_rate=1e-3, learning_rate_steps=((0.3, 5e-4), (0.7, 1e-4)))
    expected = [1e-3] * 3 + [5e-4] * 4 + [1e-4] * 5
    np.testing.assert_allclose([learning_rate(config)(t) for t in range(12)], expected, rtol=1e-6)
    np.testing.assert_allclose(step_sizes(config, [1.0] * 12), expected, rtol=1e-3)


def test_adadelta_is_that_of_zeiler() -> None:
    """Algorithm 1 of the paper, number by number; the rate of 0.5 halves each step."""
    gradients = [0.3, -1.2, 0.0, 0.7, 2.5]
    squares = steps = 0.0
    expected = []
    for gradient in gradients:
        squares = 0.95 * squares + 0.05 * gradient**2
        step = ((steps + 1e-6) / (squares + 1e-6)) ** 0.5 * gradient
        steps = 0.95 * steps + 0.05 * step**2
        expected.append(0.5 * step)
    config = config_of(kind="adadelta", learning_rate=0.5, final_learning_rate=0.5)
    np.testing.assert_allclose(step_sizes(config, gradients), expected, rtol=1e-5)


@pytest.mark.parametrize("kind", ["adam", "adadelta"])
def test_gradients_are_clipped_and_weights_decay(kind: str) -> None:
    """At a gradient of 0 a step is rate * decay * weight; a gradient above the bound counts as the bound."""
    settings = {"kind": kind, "learning_rate": 0.5, "final_learning_rate": 0.5}
    np.testing.assert_allclose(step_sizes(config_of(**settings, weight_decay=0.1), [0.0], weight=4.0), 0.2, rtol=1e-5)
    clipped = config_of(**settings, max_gradient_norm=0.001)
    np.testing.assert_allclose(step_sizes(clipped, [0.001, 7.0]), step_sizes(clipped, [0.001, 0.001]), rtol=1e-5)


def step_sizes(config: MuZeroConfig, gradients: list[float], weight: float = 0.0) -> list[float]:
    """Return by how much each gradient lowers a weight."""
    optimizer = make_optimizer(config)
    params = jnp.full(1, weight)
    state = optimizer.init(params)
    sizes = []
    for gradient in gradients:
        update, state = optimizer.update(jnp.full(1, gradient), state, params)
        sizes.append(float(-update[0]))
    return sizes
