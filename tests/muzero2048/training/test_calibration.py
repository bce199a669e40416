"""Tests of the marked positions against plain Python, and of their statistics against numpy."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from muzero2048.training.calibration import Mark, add_pairs, calibration_metrics, count_pairs, follow, init_mark

DISCOUNT = 0.9


def test_the_mark_is_a_uniform_position_and_its_return(rng: np.random.Generator) -> None:
    games, length = 30_000, 7
    values = rng.normal(100.0, 10.0, (length, games)).astype(np.float32)
    rewards = 4 * rng.integers(0, 9, (length, games))
    bits = rng.integers(0, 2**32, (length, games), np.uint32)
    mark = init_mark(games)
    step = jax.jit(lambda mark, t, *inputs: follow(mark, inputs[0], jnp.full(games, t), *inputs[1:], DISCOUNT))
    for t in range(length):
        mark = step(mark, t + 1, bits[t], values[t], rewards[t])
    # In plain Python: the mark is at the last move t whose draw is below 1 / t.
    at = np.array([max(t for t in range(length) if int(bits[t, i]) * (t + 1) < 2**32) for i in range(games)])
    returns = [sum(DISCOUNT**k * reward for k, reward in enumerate(rewards[t:, i].tolist())) for i, t in enumerate(at)]
    np.testing.assert_array_equal(mark.value, values[at, np.arange(games)])
    np.testing.assert_allclose(mark.gain, returns, rtol=1e-5)
    np.testing.assert_allclose(np.bincount(at) / games, 1 / length, atol=0.01)


def test_a_new_game_forgets_the_old_one() -> None:
    old = Mark(*(jnp.array([777.0]) for _ in range(3)))
    mark = follow(old, jnp.array([2**32 - 1], jnp.uint32), jnp.array([1]), jnp.array([5.0]), jnp.array([8]), DISCOUNT)
    assert [float(x[0]) for x in mark] == [5.0, 8.0, np.float32(DISCOUNT)]


def metrics_of(chunks: list[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> dict[str, float]:
    count, add = jax.jit(count_pairs), jax.jit(add_pairs)
    pairs = [count(Mark(value, gain, jnp.ones_like(value)), ended) for value, gain, ended in chunks]
    nothing = jax.tree.map(jnp.zeros_like, pairs[0])
    return calibration_metrics(jax.device_get(functools.reduce(add, pairs, nothing)))


def test_metrics_of_several_chunks(rng: np.random.Generator) -> None:
    """Compare with numpy, also if the spread of the values is 10^-4 of their size; in one chunk no game ends."""
    for size, spread in ((0.0, 100.0), (50_000.0, 5.0)):
        gain = rng.normal(size + 10.0, spread, (3, 4, 50)).astype(np.float32)
        value = (0.5 * gain + rng.normal(0.5 * size, spread, gain.shape)).astype(np.float32)
        ended = rng.random(gain.shape) < np.array([0.3, 0.0, 0.7])[:, None, None]
        found = metrics_of(list(zip(value, gain, ended, strict=True)))
        v, g = value[ended].astype(float), gain[ended].astype(float)
        assert set(found) == {"value/bias", "value/error", "value/return_mean", "value/correlation"}
        np.testing.assert_allclose(found["value/bias"], (v - g).mean(), rtol=1e-4, atol=0.02)
        np.testing.assert_allclose(found["value/error"], np.abs(v - g).mean(), rtol=1e-5)
        np.testing.assert_allclose(found["value/return_mean"], g.mean(), rtol=1e-6, atol=1e-4)
        np.testing.assert_allclose(found["value/correlation"], np.corrcoef(v, g)[0, 1], rtol=1e-3)
        assert 0.2 < found["value/correlation"] < 0.8


def test_what_has_no_games_or_no_spread_is_left_out(rng: np.random.Generator) -> None:
    gain = rng.normal(size=(1, 20)).astype(np.float32)
    some = np.arange(20)[None] < 10
    assert metrics_of([(gain, gain, some & False)]) == {}
    assert set(metrics_of([(0 * gain + 4, gain, some)])) == {"value/bias", "value/error", "value/return_mean"}
    assert metrics_of([(gain, gain, some)])["value/correlation"] == 1.0
