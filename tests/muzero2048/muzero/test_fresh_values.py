"""Tests of fresh value targets: n-step returns that bootstrap from the network of now."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import positions, targets

from muzero2048.models.base import Model
from muzero2048.muzero.batches import Sequence
from muzero2048.muzero.new_targets import fresh_values
from tests.muzero2048.toy_model import random_model, small_config

B, K = 6, 3


@pytest.mark.parametrize("steps", [1, 2, 4])
def test_values_equal_a_plain_loop(steps: int) -> None:
    config = small_config(discount=0.9, unroll_steps=K)
    config = dataclasses.replace(config, replay=dataclasses.replace(config.replay, fresh_steps=steps))
    rng, model, length = np.random.default_rng(0), random_model(config, seed=1), K + 1 + steps
    boards = np.array([positions.random_board(rng, 2, 3, largest=6) for _ in range(B * length)], np.uint8)
    zeros = jnp.zeros((B, length))
    sequence = Sequence(
        cells=jnp.asarray(boards.reshape(B, length, 6)),
        action=zeros.astype(jnp.int8),
        reward=jnp.asarray(rng.integers(0, 9, (B, length)), jnp.float32),
        done=jnp.asarray(rng.random((B, length)) < 0.2),
        spawn_code=zeros.astype(jnp.int8),
        policy=jnp.asarray(rng.dirichlet(np.ones(4), (B, length)), jnp.float32),
        value=jnp.asarray(rng.normal(size=(B, length)), jnp.float32),
    )

    @jax.jit
    def networks(model: Model) -> jax.Array:
        return model.codec.decode(
            model.prediction(model.representation(jnp.asarray(boards.reshape(-1, 6)))).value_logits
        )

    found = jax.jit(lambda model: fresh_values(model, sequence, config))(model)
    value = np.asarray(networks(model), float).reshape(B, length)
    reward, done = (np.asarray(x)[:, :-1] for x in (sequence.reward, sequence.done))
    for row in range(B):
        expected = [targets.lambda_return(k, reward[row], done[row], value[row], 0.9, 1.0, steps) for k in range(K + 1)]
        np.testing.assert_allclose(found.value[row], expected, rtol=1e-4)
    kept = jax.tree.map(lambda x: x[:, : K + 1], sequence)
    jax.tree.map(np.testing.assert_array_equal, found._replace(value=kept.value), kept)
    assert np.asarray(sequence.done)[:, :-1].any()
