"""Tests of lambda-returns against the plain recursion and by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import targets

from muzero2048.training.returns import lambda_returns

returns_of = jax.jit(lambda_returns, static_argnums=(3, 4, 5))


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
    """Compute the returns of rewards 4, 8, 16 with values 10, 20, 30, 40 and discount 0.5."""
    reward, value = jnp.array([4.0, 8.0, 16.0]), jnp.array([10.0, 20.0, 30.0, 40.0])
    return returns_of(reward, jnp.array(done), value, 0.5, td_lambda, steps).tolist()


def test_returns_by_hand() -> None:
    on = [False] * 3
    # lambda = 1, n = 2: 4 + 4 + 30/4, 8 + 8 + 40/4, and at the end of the chunk 16 + 40/2.
    assert returns(1.0, 2, on) == [15.5, 26.0, 36.0]
    # lambda = 1, all steps: 4 + 4 + 4 + 40/8.
    assert returns(1.0, 10, on) == [17.0, 26.0, 36.0]
    # lambda = 0, any n: r + V/2, with one discount per move.
    assert returns(0.0, 1, on) == returns(0.0, 10, on) == returns(1.0, 1, on) == [14.0, 23.0, 36.0]
    # lambda = 1/2: G_2 = 36, G_1 = 8 + (30 + 36)/4 = 24.5, G_0 = 4 + (20 + 24.5)/4.
    assert returns(0.5, 10, on) == [15.125, 24.5, 36.0]


def test_nothing_crosses_the_end_of_a_game() -> None:
    # Move 1 ends the game: its return is its reward, and the return of move 0 contains no later reward.
    assert returns(1.0, 10, [False, True, False]) == [8.0, 8.0, 36.0]
    assert returns(0.0, 10, [False, True, False]) == [14.0, 8.0, 36.0]
    other = returns_of(jnp.array([4.0, 8.0, 1e6]), jnp.array([False, True, True]), jnp.full(4, 1e6), 0.5, 1.0, 10)
    assert other[:2].tolist() == [8.0, 8.0]
