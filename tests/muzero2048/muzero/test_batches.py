"""Tests of batches against the games that their sequences come from."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import rules

from muzero2048.game.env import Game2048
from muzero2048.game.symmetry import symmetries
from muzero2048.muzero.batches import make_batch, view_sequence
from tests.muzero2048.toy_model import sequences

batch_of = jax.jit(make_batch, static_argnums=(0, 2))


@pytest.mark.parametrize("shape", [(2, 2), (2, 3), (4, 4)])
def test_batches_equal_the_games(rng: np.random.Generator, shape: tuple[int, int]) -> None:
    K = 4
    sequence, rows = sequences(rng, shape, K + 1, 64)
    batch = jax.device_get(batch_of(Game2048(*shape), sequence, 0.9))
    value = np.asarray(sequence.value)
    assert batch.cells.dtype == batch.afterstate_cells.dtype == np.uint8
    assert shape == (4, 4) or (~batch.alive).any()  # on small boards, games end inside the sequences
    for i, row in enumerate(rows):
        alive, last = True, None
        for k, step in enumerate(row):
            board = step.board if alive else last
            assert batch.alive[i, k] == alive
            assert tuple(batch.cells[i, k]) == tuple(rules.cells(board))
            np.testing.assert_array_equal(batch.policy[i, k], sequence.policy[i, k])
            assert batch.value[i, k] == (value[i, k] if alive else 0.0)
            if k < K:
                afterstate = step.afterstate if alive else last
                reward = step.reward if alive else 0
                assert tuple(batch.afterstate_cells[i, k]) == tuple(rules.cells(afterstate))
                assert batch.action[i, k] == step.action
                assert batch.spawn_code[i, k] == step.spawn_code
                assert batch.reward[i, k] == reward
                expected = (value[i, k] - reward) / 0.9 if alive else 0.0
                assert batch.afterstate_value[i, k] == pytest.approx(expected, rel=1e-5)
            if alive and step.done:
                alive, last = False, step.next_board
                assert rules.is_over(last)


def test_views_and_batches_commute(rng: np.random.Generator) -> None:
    """The batch of a viewed sequence equals the view of the batch: boards, actions, spawns and policies agree."""
    shape, views = (3, 3), symmetries(3, 3)
    sequence, _ = sequences(rng, shape, 4, 64)
    view = jnp.arange(64) % views.num_views
    viewed = jax.jit(functools.partial(view_sequence, views))(view, sequence)
    seen, plain = jax.device_get([batch_of(Game2048(*shape), moves, 0.9) for moves in (viewed, sequence)])
    for i in range(64):
        cell_from = views.cell_from[i % 8]
        np.testing.assert_array_equal(seen.cells[i], plain.cells[i][:, cell_from])
        np.testing.assert_array_equal(seen.afterstate_cells[i], plain.afterstate_cells[i][:, cell_from])
        np.testing.assert_array_equal(seen.action[i], views.action_to[i % 8][plain.action[i]])
        np.testing.assert_array_equal(seen.policy[i][:, views.action_to[i % 8]], plain.policy[i])
    for name in ("alive", "value", "reward", "afterstate_value"):
        np.testing.assert_array_equal(getattr(seen, name), getattr(plain, name))
