"""Tests of TC on batches against plain Python, and of the value tables inside a model."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import value_tables

from muzero2048.models.make import make_model
from muzero2048.networks.value_codec import ValueCodec, transform
from muzero2048.networks.value_tables import ValueTables, init_coherence, learn
from tests.muzero2048.toy_model import NETWORKS, small_config
from tests.settings import configured

TABLES = configured(NETWORKS["grounded"], value_tables={"shapes": "rects", "bits": 16})


def test_batches_of_tc_equal_plain_python(rng: np.random.Generator) -> None:
    size, M = 50, 4
    w, coherence = jnp.zeros(size), init_coherence(jnp.zeros(size))
    plain = [np.zeros(size) for _ in range(3)]
    step = jax.jit(lambda w, c, e, d: learn(w, c, e, d, 0.5))
    for _ in range(10):
        entries, delta = rng.integers(0, size, (20, M)), rng.normal(1.0, 3.0, 20)
        w, coherence = step(w, coherence, jnp.asarray(entries), jnp.asarray(delta, jnp.float32))
        value_tables.learn(*plain, entries, delta, 0.5)
    for found, expected in zip((w, *coherence), plain, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    assert (np.abs(plain[1]) < plain[2]).sum() > 20  # errors cancelled, so the rates fell


def test_one_visit_closes_the_error() -> None:
    tables = ValueTables(("rects", "axes"), 20, (4, 4), jnp.float32(0.0))
    cells = jnp.array([[1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3, 4, 5, 6]], jnp.uint8)
    entries = tables.entries(cells)
    assert len(set(entries[0].tolist())) == entries.size == 32
    weights, _ = learn(tables.weights[...], init_coherence(tables.weights[...]), entries, jnp.array([96.0]), 1.0)
    tables.weights[...] = weights
    np.testing.assert_allclose(tables(cells), 96.0, rtol=1e-6)


@pytest.mark.parametrize(
    ("decoding", "bins", "h_max"),
    [("inverse_of_mean", 61, 60.0), ("mean_of_inverse", 61, 60.0), ("mean_of_inverse", 96, 450.0)],
)
def test_a_new_value_is_the_sum_of_the_tables(decoding: str, bins: int, h_max: float, rng: np.random.Generator) -> None:
    config = small_config("grounded", network=TABLES, value=ValueCodec(bins, h_max, decoding=decoding))
    model = make_model(config, 0)
    cells = jnp.asarray(rng.integers(0, 9, (8, 6)), jnp.uint8)
    entries = model.value_tables.entries(cells)
    value = jnp.linspace(300.0, 1500.0, 8)
    weights = jnp.zeros_like(model.value_tables.weights[...])
    share = config.value.to_centre(value) / entries.shape[1]
    model.value_tables.weights[...] = weights.at[entries].set(share[:, None])
    state = model.representation(cells)
    for prediction in (model.afterstate_prediction(state), model.prediction(state)):
        np.testing.assert_allclose(config.value.decode(prediction.value_logits), value, atol=0.1)


def test_optimistic_tables() -> None:
    config = small_config("grounded", network=TABLES, optimistic_value=500.0)
    tables = make_model(config, 0).value_tables
    np.testing.assert_allclose(tables(jnp.zeros((1, 6), jnp.uint8)), transform(jnp.float32(500.0)), rtol=1e-5)
