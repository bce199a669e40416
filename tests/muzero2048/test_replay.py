"""A buffer filled with running counters: every sample must be a stretch of them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from muzero2048.replay import Replay, ReplayState, make_replay

CAPACITY, CHUNK, ENVIRONMENTS, SEQUENCE, BATCH = 12, 4, 3, 4, 3000


def play(chunk: int) -> dict[str, jax.Array]:
    """The counters of chunk number `chunk`: time + 1 (0 is never written), and the environment."""
    time = chunk * CHUNK + 1 + jnp.arange(CHUNK)
    time = jnp.broadcast_to(time[:, None], (CHUNK, ENVIRONMENTS))
    environment = jnp.broadcast_to(jnp.arange(ENVIRONMENTS), (CHUNK, ENVIRONMENTS))
    return {"time": time, "pair": jnp.stack([time, environment], axis=-1).astype(jnp.int16)}


@pytest.fixture(scope="module")
def replay() -> Replay:
    return Replay(*map(jax.jit, make_replay(CAPACITY, CHUNK, BATCH, SEQUENCE)))


def filled(replay: Replay, chunks: int) -> ReplayState:
    state = replay.init(play(0))
    for chunk in range(chunks):
        state = replay.add(state, play(chunk))
    return state


@pytest.mark.parametrize("chunks", [1, 2, 3, 4, 5, 9])
def test_samples_are_uniform_over_all_stretches_of_play(replay: Replay, chunks: int) -> None:
    state = filled(replay, chunks)
    held = min(chunks * CHUNK, CAPACITY)
    assert int(state.size) == held
    sample = jax.device_get(replay.sample(jax.random.key(chunks), state))
    time = sample["time"]
    assert time.shape == (BATCH, SEQUENCE)
    assert sample["pair"].shape == (BATCH, SEQUENCE, 2)
    assert sample["pair"].dtype == np.int16
    np.testing.assert_array_equal(np.diff(time, axis=1), 1)  # consecutive moves
    np.testing.assert_array_equal(sample["pair"][..., 0], time)  # leaves stay together
    np.testing.assert_array_equal(np.diff(sample["pair"][..., 1], axis=1), 0)  # of one environment
    newest = chunks * CHUNK
    assert time.min() == newest - held + 1  # the oldest move still held; nothing before it was written
    assert time.max() == newest
    starts = time[:, 0] - time.min()
    cells = starts * ENVIRONMENTS + sample["pair"][:, 0, 1]
    counts = np.bincount(cells, minlength=(held - SEQUENCE + 1) * ENVIRONMENTS)
    assert scipy.stats.chisquare(counts).pvalue > 1e-3


def test_the_ring_overwrites_the_oldest(replay: Replay) -> None:
    state = filled(replay, 4)
    np.testing.assert_array_equal(state.storage["time"][:, 0], [13, 14, 15, 16, 5, 6, 7, 8, 9, 10, 11, 12])
    assert int(state.position) == CHUNK


@pytest.mark.parametrize("sizes", [(10, 4, 3), (4, 4, 5), (8, 2, 3)])
def test_refused_sizes(sizes: tuple[int, int, int]) -> None:
    capacity, chunk, sequence = sizes
    with pytest.raises(ValueError, match="replay of"):
        make_replay(capacity, chunk, 1, sequence)
