"""TC on batches against plain Python; the tables inside a model."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from muzero2048.models.make import make_model
from muzero2048.muzero.train_step import LearnerState
from muzero2048.networks.value_codec import ValueCodec, transform
from muzero2048.networks.value_tables import ValueTables, init_coherence, learn
from tests.muzero2048.toy_model import NETWORKS, random_model, shared_learner, small_config
from tests.settings import configured

TABLES = configured(NETWORKS["grounded"], value_tuples="rects", table_bits=16)


def plain_learn(
    w: np.ndarray, error: np.ndarray, absolute: np.ndarray, entries: np.ndarray, delta: np.ndarray, rate: float
) -> None:
    """The formulas of the module, entry by entry."""
    met: dict[int, list[float]] = {}
    for row, d in zip(entries.tolist(), delta.tolist(), strict=True):
        for entry in row:
            met.setdefault(entry, []).append(d)
    for entry, deltas in met.items():
        mean = float(np.mean(deltas))
        error[entry] += mean
        absolute[entry] += float(np.mean(np.abs(deltas)))
        w[entry] += rate / entries.shape[1] * abs(error[entry]) / absolute[entry] * mean


def test_batches_of_tc_equal_plain_python(rng: np.random.Generator) -> None:
    size, M = 50, 4
    w, coherence = jnp.zeros(size), init_coherence(jnp.zeros(size))
    plain = [np.zeros(size) for _ in range(3)]
    step = jax.jit(lambda w, c, e, d: learn(w, c, e, d, 0.5))
    for _ in range(10):
        entries, delta = rng.integers(0, size, (20, M)), rng.normal(1.0, 3.0, 20)
        w, coherence = step(w, coherence, jnp.asarray(entries), jnp.asarray(delta, jnp.float32))
        plain_learn(*plain, entries, delta, 0.5)
    for found, expected in zip((w, *coherence), plain, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    assert (np.abs(plain[1]) < plain[2]).sum() > 20  # errors cancelled: the rates did fall


def test_one_visit_closes_the_error() -> None:
    tables = ValueTables("rects axes", 20, (4, 4), jnp.float32(0.0))
    cells = jnp.array([[1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3, 4, 5, 6]], jnp.uint8)
    entries = tables.entries(cells)
    assert len(set(entries[0].tolist())) == entries.size == 32
    weights, _ = learn(tables.weights[...], init_coherence(tables.weights[...]), entries, jnp.array([96.0]), 1.0)
    tables.weights[...] = weights
    np.testing.assert_allclose(tables(cells), 96.0, rtol=1e-6)


@pytest.mark.parametrize("decoding", ["inverse_of_mean", "mean_of_inverse"])
def test_the_value_of_an_afterstate_is_its_sum(decoding: str, rng: np.random.Generator) -> None:
    config = small_config("grounded", network=TABLES, value=ValueCodec(61, 60.0, decoding=decoding))
    model = random_model(config, seed=0)
    cells = jnp.asarray(rng.integers(0, 9, (8, 6)), jnp.uint8)
    entries = model.value_tables.entries(cells)
    value = jnp.linspace(100.0, 1500.0, 8)
    weights = jnp.zeros_like(model.value_tables.weights[...])
    share = config.value.to_centre(value) / entries.shape[1]
    model.value_tables.weights[...] = weights.at[entries].set(share[:, None])
    found = config.value.decode(model.afterstate_prediction(model.representation(cells)).value_logits)
    # One bin of width: the mean in points lies (bin / 2)^2 above that of h, whatever the value.
    np.testing.assert_allclose(found, value, atol=0.1 if decoding == "inverse_of_mean" else 1.5)


def test_optimistic_tables() -> None:
    config = small_config("grounded", network=TABLES, optimistic_value=500.0)
    tables = make_model(config, 0).value_tables
    np.testing.assert_allclose(tables(jnp.zeros((1, 6), jnp.uint8)), transform(jnp.float32(500.0)), rtol=1e-5)


def test_the_learner_moves_the_tables_once_the_model_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new model is wrong, and they wait; where nothing is asked of it they move at once."""
    config = small_config("grounded", network=TABLES)

    def moved(learner) -> LearnerState:
        state, _ = learner.fill(learner.init(0))
        return learner.rounds(state, learner.empty(), 2)[0]

    waiting = moved(shared_learner(config))
    assert not any(jnp.any(x) for x in jax.tree.leaves(waiting.tables))
    monkeypatch.setattr("muzero2048.muzero.table_learning.MODEL_IS_RIGHT", 0.0)
    learned = moved(shared_learner.__wrapped__(config))
    weights, coherence = jax.tree.leaves(learned.tables.weights)[0], learned.tables.coherence
    assert jnp.count_nonzero(weights) > 20
    assert jnp.count_nonzero(coherence.absolute) >= jnp.count_nonzero(weights)
