"""Tests of the loss, of the views of a move, and of rounds: any grouping into calls gives the same bits."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import positions, rules

from muzero2048.deep_td.config import DeepTDConfig, EpsilonConfig
from muzero2048.deep_td.selfplay import Experience
from muzero2048.deep_td.train_step import DeepTDPrograms, make_learner, value_loss, view_experience
from muzero2048.game.symmetry import symmetries, view_cells
from tests.muzero2048.deep_td.toy_network import random_network, small_config

compiled = functools.cache(make_learner)


def shared_learner(config: DeepTDConfig) -> DeepTDPrograms:
    """Return the programs of a config, compiled once for all tests: they do not read the length of a report."""
    return compiled(dataclasses.replace(config, report_env_steps=200))


def experience(rng: np.random.Generator, rows: int, columns: int, count: int = 20) -> Experience:
    boards = [positions.random_board(rng, rows, columns, largest=6) for _ in range(count)]
    cells = np.array(boards, np.uint8).reshape(count, -1)
    target = rng.uniform(1.0, 300.0, count).astype(np.float32)
    return Experience(jnp.asarray(cells), jnp.asarray(rng.integers(0, 4, count), jnp.int8), jnp.asarray(target))


@pytest.mark.parametrize(
    ("method", "output"), [("td_afterstate", "categorical"), ("q_learning", "categorical"), ("q_learning", "scalar")]
)
def test_the_loss_is_of_the_moves_made(rng: np.random.Generator, method: str, output: str) -> None:
    network = random_network(small_config(method, output=output))
    batch = experience(rng, 2, 3)
    logits = np.array(jax.jit(network.__call__)(batch.cells))
    chosen = logits[np.arange(20), np.array(batch.action) if method == "q_learning" else 0]
    loss, (error, saturated) = jax.jit(lambda batch: value_loss(network, batch))(batch)
    np.testing.assert_allclose(loss, network.codec.loss(jnp.asarray(chosen), batch.target).mean(), rtol=1e-5)
    np.testing.assert_allclose(
        error, np.abs(network.codec.decode(jnp.asarray(chosen)) - batch.target).mean(), rtol=1e-5
    )
    # The support ends at h(217) = 14, so about a third of the targets (up to 300) lie beyond it. A scalar output has no
    # support.
    beyond = (np.sqrt(np.array(batch.target) + 1) - 1 + 0.001 * np.array(batch.target) > 14.0).mean()
    assert float(saturated) == pytest.approx(0.0 if output == "scalar" else beyond)
    assert 0 < beyond < 1


def test_views_keep_moves_and_boards_together(rng: np.random.Generator) -> None:
    views, batch = symmetries(3, 3), experience(rng, 3, 3)
    view = jnp.asarray(rng.integers(0, 8, 20))
    seen = view_experience(views, view, batch)
    assert seen.target is batch.target

    def after(batch: Experience) -> np.ndarray:
        boards = [positions.as_board(cells.reshape(3, 3)) for cells in np.array(batch.cells)]
        moved = [rules.afterstate(board, int(action))[0] for board, action in zip(boards, batch.action, strict=True)]
        return np.array(moved, np.uint8).reshape(-1, 9)

    np.testing.assert_array_equal(after(seen), view_cells(views, view, jnp.asarray(after(batch))))
    assert (np.array(seen.action) != np.array(batch.action)).any()


def test_rounds_are_the_same_in_one_call_and_in_two() -> None:
    config = small_config(rows=2, columns=2, exploration=EpsilonConfig(0.4, 0.1, 0.6))  # falls during 3 of 5 rounds
    learner = shared_learner(config)
    one, whole = learner.advance(learner.init(0), learner.empty(), 3)
    first, some = learner.advance(learner.init(0), learner.empty(), 2)
    two, together = learner.advance(first, some, 1)
    for a, b in zip(jax.tree.leaves(one._replace(key=None)), jax.tree.leaves(two._replace(key=None)), strict=True):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(jax.tree.leaves(whole), jax.tree.leaves(together), strict=True):
        np.testing.assert_array_equal(a, b)
    assert int(one.rounds) == 3
    assert int(one.replay.size) == 3 * config.chunk
    third, rest = learner.advance(learner.advance(learner.init(0), learner.empty(), 2)[0], learner.empty(), 1)
    assert int(third.rounds) == 3
    assert whole.ended.games == some.ended.games + rest.ended.games
    assert whole.ended.score_max == max(some.ended.score_max, rest.ended.score_max)
    np.testing.assert_allclose(whole.loss.value, some.loss.value + rest.loss.value, rtol=1e-5)
    np.testing.assert_allclose([some.epsilon, rest.epsilon], [0.7, 0.2], rtol=1e-5)  # 0.4 + 0.3, and 0.2


def test_the_seed_decides() -> None:
    learner = shared_learner(small_config(rows=2, columns=2, exploration=EpsilonConfig(0.4, 0.1, 0.6)))
    params = [learner.advance(learner.init(seed), learner.empty(), 1)[0].params for seed in (3, 3, 4)]
    one, same, other = ([np.array(x) for x in jax.tree.leaves(tree)] for tree in params)
    assert all(np.array_equal(a, b) for a, b in zip(one, same, strict=True))
    assert not any(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
