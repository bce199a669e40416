"""Rounds of training as pure functions: they learn, count and repeat to the bit."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from muzero2048.learner import Learner, LearnerState, make_optimizer

from .toy_model import shared_learner, small_config

CONFIG = small_config(rows=2, columns=2)


@pytest.fixture(scope="module")
def learner() -> Learner:
    return shared_learner(CONFIG)


def after_a_round(learner: Learner, seed: int) -> tuple[LearnerState, list[np.ndarray]]:
    state, _ = learner.fill(learner.init(seed))
    before = [np.array(x) for x in jax.tree.leaves(state.params)]
    state, report = learner.rounds(state, 1)
    assert all(np.isfinite(x).all() for x in jax.tree.leaves(report))
    return state, before


def equal(one: object, other: object) -> bool:
    return all(
        np.array_equal(a, b) for a, b in zip(jax.tree.leaves(words(one)), jax.tree.leaves(words(other)), strict=True)
    )


def words(tree: object) -> object:
    return jax.tree.map(
        lambda x: jax.random.key_data(x) if jnp.issubdtype(x.dtype, jax.dtypes.prng_key) else np.array(x), tree
    )


def test_a_round_plays_and_learns(learner: Learner) -> None:
    state, before = after_a_round(learner, seed=0)
    after = jax.tree.leaves(state.params)
    changed = [not np.array_equal(a, b) for a, b in zip(before, after, strict=True)]
    assert all(changed)
    assert all(np.isfinite(x).all() for x in after)
    assert int(state.replay.size) == 2 * CONFIG.chunk
    assert int(state.replay.position) == 2 * CONFIG.chunk


def test_same_seed_same_bits(learner: Learner) -> None:
    one, _ = after_a_round(learner, seed=3)
    same, _ = after_a_round(learner, seed=3)
    other, _ = after_a_round(learner, seed=4)
    assert equal(one, same)
    assert not equal(one.params, other.params)
    assert not equal(one.replay, other.replay)


def test_the_rate_falls_linearly_over_the_planned_updates() -> None:
    config = dataclasses.replace(CONFIG, env_steps=CONFIG.chunk_moves * 5)
    optimizer = make_optimizer(config)
    steps = config.total_updates
    assert steps == 10
    params = jnp.zeros(1)
    state = optimizer.init(params)
    sizes = []
    for _ in range(steps + 1):  # a constant gradient: each step of Adam is as large as the rate
        update, state = optimizer.update(jnp.ones(1), state, params)
        sizes.append(float(-update[0]))
    np.testing.assert_allclose(sizes, np.linspace(1e-3, 1e-4, steps + 1), rtol=1e-3)
