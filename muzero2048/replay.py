"""A ring buffer of moves on the device: [capacity, environments] of whatever pytree play produces.

Time runs along the first axis, one column an environment, so any stretch of a column that does not cross the write
position is a stretch of real play. States are frozen, functions pure.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, PRNGKeyArray

Chunk = Any  # pytree of [T, E, ...], T moves of E environments


class ReplayState(NamedTuple):
    """Contents of the buffer."""

    storage: Chunk  # pytree of [capacity, E, ...]
    position: Int[Array, ""]  # next row to write
    size: Int[Array, ""]  # rows filled


class Replay(NamedTuple):
    """The functions of a buffer whose sizes are bound."""

    init: Callable[[Chunk], ReplayState]  # from the shapes of one chunk
    add: Callable[[ReplayState, Chunk], ReplayState]
    sample: Callable[[PRNGKeyArray, ReplayState], Any]  # pytree of [batch, sequence, ...]


def make_replay(capacity: int, chunk: int, batch_size: int, sequence: int) -> Replay:
    """A buffer of `capacity` rows, written `chunk` rows at a time, read as `batch_size` sequences.

    Raises:
        ValueError: if the capacity is no multiple of the chunk or shorter than a sequence.
    """
    if capacity % chunk or capacity < sequence or chunk < sequence:
        raise ValueError(
            f"replay of {capacity} rows in chunks of {chunk}: the capacity must be a multiple of the chunk, "
            f"and the chunk hold a sequence of {sequence}"
        )

    def init(example: Chunk) -> ReplayState:
        storage = jax.tree.map(lambda x: jnp.zeros((capacity, *x.shape[1:]), x.dtype), example)
        return ReplayState(storage, jnp.zeros((), jnp.int32), jnp.zeros((), jnp.int32))

    def add(state: ReplayState, moves: Chunk) -> ReplayState:
        def write(stored: Array, new: Array) -> Array:
            return jax.lax.dynamic_update_slice_in_dim(stored, new, state.position, axis=0)

        return ReplayState(
            storage=jax.tree.map(write, state.storage, moves),
            position=(state.position + chunk) % capacity,
            size=jnp.minimum(state.size + chunk, capacity),
        )

    def sample(key: PRNGKeyArray, state: ReplayState) -> Any:
        """Uniform over all sequences of real play in the buffer."""
        environments = jax.tree.leaves(state.storage)[0].shape[1]
        row_key, column_key = jax.random.split(key)
        start = jax.random.randint(row_key, (batch_size,), 0, state.size - sequence + 1)
        oldest = state.position - state.size
        rows = jnp.add.outer(oldest + start, jnp.arange(sequence)) % capacity
        columns = jax.random.randint(column_key, (batch_size, 1), 0, environments)
        return jax.tree.map(lambda x: x[rows, columns], state.storage)

    return Replay(init, add, sample)
