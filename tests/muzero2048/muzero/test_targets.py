"""Value targets by the plain recursion and by hand; batches by the games that they were cut from."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import positions, rules, targets

from muzero2048.game.env import Game2048
from muzero2048.game.symmetry import symmetries
from muzero2048.muzero.targets import Sequence, lambda_returns, make_batch, view_sequence

returns_of = jax.jit(lambda_returns, static_argnums=(3, 4, 5))
batch_of = jax.jit(make_batch, static_argnums=(0, 2))


@pytest.mark.parametrize("steps", [1, 3, 40])
@pytest.mark.parametrize("td_lambda", [0.0, 0.5, 1.0])
def test_lambda_returns_equal_the_recursion(rng: np.random.Generator, td_lambda: float, steps: int) -> None:
    T, B = 12, 5
    reward = rng.integers(0, 50, (T, B)).astype(np.float32)
    done = rng.random((T, B)) < 0.2
    value = rng.normal(100.0, 30.0, (T + 1, B)).astype(np.float32)
    found = returns_of(reward, done, value, 0.97, td_lambda, steps)
    expected = [
        [targets.lambda_return(t, reward[:, b], done[:, b], value[:, b], 0.97, td_lambda, steps) for b in range(B)]
        for t in range(T)
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def returns(td_lambda: float, steps: int, done: list[bool]) -> list[float]:
    """Rewards 4, 8, 16; values 10, 20, 30, 40; discount 0.5."""
    reward, value = jnp.array([4.0, 8.0, 16.0]), jnp.array([10.0, 20.0, 30.0, 40.0])
    return returns_of(reward, jnp.array(done), value, 0.5, td_lambda, steps).tolist()


def test_returns_by_hand() -> None:
    on = [False] * 3
    # lambda = 1, n = 2: 4 + 4 + 30/4, 8 + 8 + 40/4, and at the end of the chunk 16 + 40/2.
    assert returns(1.0, 2, on) == [15.5, 26.0, 36.0]
    # lambda = 1, all steps: 4 + 4 + 4 + 40/8.
    assert returns(1.0, 10, on) == [17.0, 26.0, 36.0]
    # lambda = 0, whatever n: r + V/2. The discount falls once a move.
    assert returns(0.0, 1, on) == returns(0.0, 10, on) == returns(1.0, 1, on) == [14.0, 23.0, 36.0]
    # lambda = 1/2: G_2 = 36, G_1 = 8 + (30 + 36)/4 = 24.5, G_0 = 4 + (20 + 24.5)/4.
    assert returns(0.5, 10, on) == [15.125, 24.5, 36.0]


def test_nothing_crosses_the_end_of_a_game() -> None:
    # Move 1 ends the game: its return is its reward, and move 0 sees no further.
    assert returns(1.0, 10, [False, True, False]) == [8.0, 8.0, 36.0]
    assert returns(0.0, 10, [False, True, False]) == [14.0, 8.0, 36.0]
    other = returns_of(jnp.array([4.0, 8.0, 1e6]), jnp.array([False, True, True]), jnp.full(4, 1e6), 0.5, 1.0, 10)
    assert other[:2].tolist() == [8.0, 8.0]


def sequences(rng: np.random.Generator, shape: tuple[int, int], moves: int, count: int) -> tuple[Sequence, list]:
    """Sequences of `moves` consecutive moves, one game after the other, and the steps that they are made of."""
    steps: list[positions.Step] = []
    while len(steps) < moves + count:
        steps += positions.random_game(rng, *shape)
    starts = rng.choice(len(steps) - moves, count, replace=False)
    rows = [steps[start : start + moves] for start in starts]

    def field(name: str, dtype: type) -> jax.Array:
        return jnp.asarray(np.array([[getattr(step, name) for step in row] for row in rows], dtype))

    policy = rng.dirichlet(np.ones(4), (count, moves)).astype(np.float32)
    return Sequence(
        cells=field("board", np.uint8).reshape(count, moves, -1),
        action=field("action", np.int8),
        reward=field("reward", np.float32),
        done=field("done", bool),
        spawn_code=field("spawn_code", np.int8),
        policy=jnp.asarray(policy),
        value=jnp.asarray(rng.uniform(1.0, 100.0, (count, moves)).astype(np.float32)),
    ), rows


@pytest.mark.parametrize("shape", [(2, 2), (2, 3), (4, 4)])
def test_batches_equal_the_games(rng: np.random.Generator, shape: tuple[int, int]) -> None:
    K = 4
    sequence, rows = sequences(rng, shape, K + 1, 64)
    batch = jax.device_get(batch_of(Game2048(*shape), sequence, 0.9))
    value = np.asarray(sequence.value)
    assert batch.cells.dtype == batch.afterstate_cells.dtype == np.uint8
    assert shape == (4, 4) or (~batch.alive).any()  # games end inside the sequences of the small boards
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
    """The batch of a viewed sequence is the viewed batch: every action, spawn, policy and board moves along."""
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
