"""Tests of the training of value tables against plain Python, on games; some samples have weight 0."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from reference import rules, value_tables

from muzero2048.game.env import Game2048
from muzero2048.muzero.batches import make_batch
from muzero2048.muzero.losses import LossReport
from muzero2048.muzero.table_learning import Tables, learn_tables, model_is_right
from muzero2048.networks.value_tables import ValueTable, init_coherence
from tests.muzero2048.toy_model import random_model, sequences, small_config
from tests.settings import configured

DISCOUNT, RATE, SAMPLES = 0.9, 0.5, 48


def test_tables_learn_the_afterstate_of_the_first_move(rng: np.random.Generator) -> None:
    """The table of an afterstate learns h((G - r) / gamma): the return without the reward of the move made to it.

    Boards, moves and rewards are those of games in plain Python. Some moves merge tiles, so their reward counts.
    """
    config = small_config("grounded", discount=DISCOUNT)
    config = dataclasses.replace(
        config,
        network=configured(config.network, value_tables={"shapes": "rects", "bits": 16}),
        optimizer=dataclasses.replace(config.optimizer, table_learning_rate=RATE),
    )
    model = random_model(config, seed=2)
    assert model.value_tables is not None
    tables = Tables(nnx.state(model, ValueTable), init_coherence(model.value_tables.weights[...]))
    weights = np.asarray(model.value_tables.weights[...], float)
    plain = [weights.copy(), np.zeros_like(weights), np.zeros_like(weights)]
    step = jax.jit(lambda model, tables, batch: learn_tables(model, tables, batch, jnp.asarray(True), config))
    merges = 0
    for _ in range(2):
        sequence, rows = sequences(rng, (2, 3), moves=2, count=SAMPLES)
        batch = make_batch(Game2048(2, 3), sequence, DISCOUNT)
        batch = batch._replace(weight=jnp.asarray(rng.choice([0.0, 0.5, 1.0], SAMPLES), jnp.float32))
        untouched = learn_tables(model, tables, batch, jnp.asarray(False), config)
        jax.tree.map(np.testing.assert_array_equal, untouched, tables)
        tables = step(model, tables, batch)
        first = [row[0] for row in rows]
        merges += sum(move.reward > 0 for move in first)
        after = np.array([rules.cells(move.afterstate) for move in first], np.uint8)
        entries = np.asarray(model.value_tables.entries(jnp.asarray(after)))
        target = [
            value_tables.compress((float(value) - move.reward) / DISCOUNT)
            for value, move in zip(sequence.value[:, 0], first, strict=True)
        ]
        delta = (np.array(target) - plain[0][entries].sum(axis=1)) * np.asarray(batch.weight, float)
        value_tables.learn(*plain, entries, delta, RATE)
        nnx.update(model, tables.weights)
    assert merges > SAMPLES / 4
    found = (model.value_tables.weights[...], *tables.coherence)
    for leaf, expected in zip(found, plain, strict=True):
        np.testing.assert_allclose(leaf, expected, rtol=1e-4, atol=1e-3)
    assert np.abs(plain[0] - weights).max() > 1.0


def test_tables_learn_once_the_model_decodes_99_percent_of_the_afterstates() -> None:
    for share in (0.98, 0.99):
        report = LossReport(jnp.float32(0.0), {}, {"afterstate_accuracy": jnp.float32(share)})
        assert bool(model_is_right(report)) == (share == 0.99)
