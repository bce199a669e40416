"""Tests on a buffer of counters: every sample must be a sequence of consecutive counters, drawn by its priority."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from muzero2048.training.replay import PRIORITY_EPSILON, Place, Replay, ReplayState, Sample, invert

CAPACITY, CHUNK, ENVIRONMENTS, SEQUENCE, BATCH = 12, 4, 6, 4, 3000
STRATA = 6  # gcd(6, 3000), of uniform sampling; prioritised sampling has one stratum
ALPHA, BETA = 0.5, 0.75


def play(chunk: int) -> dict[str, jax.Array]:
    """Return the counters of chunk number `chunk`: time + 1 (so 0 is never written), and the environment."""
    time = chunk * CHUNK + 1 + jnp.arange(CHUNK)
    time = jnp.broadcast_to(time[:, None], (CHUNK, ENVIRONMENTS))
    environment = jnp.broadcast_to(jnp.arange(ENVIRONMENTS), (CHUNK, ENVIRONMENTS))
    return {"time": time, "pair": jnp.stack([time, environment], axis=-1).astype(jnp.int16)}


def errors(chunk: int) -> np.ndarray:
    """Return random errors, positive and negative, of the moves of chunk number `chunk`."""
    return np.random.default_rng(chunk).normal(0.0, 10.0, (CHUNK, ENVIRONMENTS)).astype(np.float32)


class Jitted(NamedTuple):
    init: Callable[..., ReplayState]
    add: Callable[..., ReplayState]
    sample: Callable[..., Sample]
    prioritize: Callable[..., ReplayState]


def make(batch: int = BATCH, alpha: float = 0.0, beta: float = 0.0) -> Jitted:
    replay = Replay(CAPACITY, CHUNK, batch, SEQUENCE, priority_exponent=alpha, importance_exponent=beta)
    return Jitted(*map(jax.jit, (replay.init, replay.add, replay.sample, replay.prioritize)))


UNIFORM, PRIORITISED = make(), make(alpha=ALPHA, beta=BETA)


def filled(replay: Jitted, chunks: int) -> ReplayState:
    state = replay.init(play(0))
    for chunk in range(chunks):
        state = replay.add(state, play(chunk), errors(chunk))
    return state


@pytest.mark.parametrize("chunks", [1, 2, 3, 4, 5, 9])
@pytest.mark.parametrize("replay", [UNIFORM, PRIORITISED], ids=["uniform", "prioritised"])
def test_samples_are_stretches_of_play(replay: Jitted, chunks: int) -> None:
    state = filled(replay, chunks)
    held = min(chunks * CHUNK, CAPACITY)
    assert int(state.size) == held
    sample = jax.device_get(replay.sample(jax.random.key(chunks), state))
    time, pair = sample.moves["time"], sample.moves["pair"]
    assert time.shape == (BATCH, SEQUENCE)
    assert pair.shape == (BATCH, SEQUENCE, 2)
    assert pair.dtype == np.int16
    np.testing.assert_array_equal(np.diff(time, axis=1), 1)  # consecutive moves
    np.testing.assert_array_equal(pair[..., 0], time)  # leaves stay together
    np.testing.assert_array_equal(np.diff(pair[..., 1], axis=1), 0)  # all from one environment
    if replay is UNIFORM:  # every stratum, here one environment, gives the same number of sequences
        np.testing.assert_array_equal(pair[:, 0, 1], np.repeat(np.arange(STRATA), BATCH // STRATA))
    # The place of a sample, where `prioritize` writes, holds its first move.
    strata = len(sample.place.row)
    environment = np.arange(strata)[:, None] * (ENVIRONMENTS // strata) + sample.place.row
    written = np.asarray(state.storage["time"])[environment, sample.place.column]
    np.testing.assert_array_equal(written.ravel(), time[:, 0])
    newest = chunks * CHUNK
    assert time.min() >= newest - held + 1  # at or after the oldest stored move, so never an unwritten place
    assert time.max() <= newest
    np.testing.assert_array_equal(sample.age, newest - time[:, 0])


@pytest.mark.parametrize("chunks", [1, 3, 5])
def test_uniform(chunks: int) -> None:
    sample = jax.device_get(UNIFORM.sample(jax.random.key(chunks), filled(UNIFORM, chunks)))
    starts = min(chunks * CHUNK, CAPACITY) - SEQUENCE + 1
    first, environment = sample.moves["time"][:, 0], sample.moves["pair"][:, 0, 1]
    cells = (chunks * CHUNK - SEQUENCE + 1 - first) * ENVIRONMENTS + environment
    assert scipy.stats.chisquare(np.bincount(cells, minlength=starts * ENVIRONMENTS)).pvalue > 1e-3
    np.testing.assert_array_equal(sample.weight, 1.0)


@pytest.mark.parametrize("chunks", [1, 3, 5])
@pytest.mark.parametrize(("batch", "beta"), [(BATCH, BETA), (BATCH + 1, 1.0)])
def test_prioritised(batch: int, beta: float, chunks: int) -> None:
    """Compare with P = p^alpha / sum p^alpha over all environments and w = (N P)^-beta / max w, computed by hand.

    3001 is no multiple of the number of environments, and 3000 is one.
    """
    replay = make(batch, ALPHA, beta)
    sample = jax.device_get(replay.sample(jax.random.key(chunks), filled(replay, chunks)))
    starts = min(chunks * CHUNK, CAPACITY) - SEQUENCE + 1
    first = chunks * CHUNK - SEQUENCE + 1  # time of the newest start
    error = np.concatenate([errors(chunk) for chunk in range(chunks)])[first - starts : first]  # [starts, E]
    p = (np.abs(error.astype(float)) + PRIORITY_EPSILON) ** ALPHA
    share = p / p.sum()
    start, environment = sample.moves["time"][:, 0] - (first - starts + 1), sample.moves["pair"][:, 0, 1]
    counts = np.zeros((starts, ENVIRONMENTS))
    np.add.at(counts, (start, environment), 1)
    assert scipy.stats.chisquare(counts.ravel(), batch * share.ravel()).pvalue > 1e-3
    weight = (share * p.size)[start, environment] ** -beta
    np.testing.assert_allclose(sample.weight, weight / weight.max(), rtol=1e-4)


def test_one_environment_can_give_the_whole_batch() -> None:
    """There are as many environments as samples, and one of them has nearly all of the error."""
    replay = make(batch=ENVIRONMENTS, alpha=1.0, beta=1.0)
    state = replay.add(
        replay.init(play(0)), play(0), np.where(np.arange(ENVIRONMENTS) == 4, 1e6, 0.0) + np.zeros((CHUNK, 1))
    )
    sample = replay.sample(jax.random.key(0), state)
    np.testing.assert_array_equal(sample.moves["pair"][:, 0, 1], 4)
    np.testing.assert_array_equal(sample.weight, 1.0)


def test_new_errors_reach_the_sampled_moves_alone() -> None:
    replay = make(batch=40, alpha=ALPHA, beta=1.0)
    state = filled(replay, 5)
    before = np.array(state.priority)
    place = jax.device_get(replay.sample(jax.random.key(0), state).place)
    rng = np.random.default_rng(0)
    new = rng.normal(0.0, 5.0, before.shape).astype(np.float32)  # one error for each place, so that duplicates agree
    error = new[place.row, place.column].ravel()
    after = np.asarray(replay.prioritize(state, Place(*place), error).priority)
    expected = before.copy()
    expected[place.row, place.column] = (np.abs(new[place.row, place.column]) + PRIORITY_EPSILON) ** ALPHA
    np.testing.assert_allclose(after, expected, rtol=1e-5)
    assert (after != before).any()
    assert (after == before).any()


def test_uniform_sampling_stores_no_priorities() -> None:
    state = filled(UNIFORM, 2)
    assert state.priority is None
    place = UNIFORM.sample(jax.random.key(0), state).place
    assert UNIFORM.prioritize(state, place, jnp.ones(BATCH)).priority is None


def test_invert() -> None:
    weight = jnp.array([0.0, 1.0, 0.0, 3.0, 0.0])
    uniform = jnp.array([0.0, 0.2499, 0.25, 0.5, 1 - 2**-23])
    np.testing.assert_array_equal(invert(uniform, weight), [1, 1, 3, 3, 3])


def test_the_ring_overwrites_the_oldest() -> None:
    state = filled(UNIFORM, 4)
    np.testing.assert_array_equal(state.storage["time"][0], [13, 14, 15, 16, 5, 6, 7, 8, 9, 10, 11, 12])
    assert int(state.position) == CHUNK
