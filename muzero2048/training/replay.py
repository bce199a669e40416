"""A ring buffer of moves on the device: [environments, capacity] of whatever pytree play produces.

A row is an environment, and time runs along it, so any stretch of a row that does not cross the write position is a
stretch of real play. States are frozen, functions pure.

Sampling is stratified over environments: with G = gcd(environments, batch size), stratum g of environments / G rows
gives batch size / G sequences, rows g * batch size / G and on of the batch. So a device that holds some of the strata
samples from its own memory, and a batch does not depend on the number of devices.

A sequence is drawn in proportion to the priority of its first move (Schaul et al. 2016, sec. 3.3 and 3.4):

    P(i) = p_i^alpha / sum_j p_j^alpha,     p_i = |error_i| + epsilon,     w_i = (N P(i))^-beta / max_batch w

where j and N run over the stratum. alpha = 0 is uniform sampling, and stores no priorities.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

PRIORITY_EPSILON = 1e-3  # points; a move without error is still drawn now and then

Chunk = Any  # pytree of [T, E, ...], T moves of E environments


class ReplayState(NamedTuple):
    """Contents of the buffer."""

    storage: Any  # pytree of [E, capacity, ...]
    priority: Float[Array, "E capacity"] | None  # p^alpha; None: uniform
    position: Int[Array, ""]  # next column to write
    size: Int[Array, ""]  # columns filled


class Place(NamedTuple):
    """Where the sequences of a batch begin, by strata."""

    row: Int[Array, "G n"]  # environment within the stratum
    column: Int[Array, "G n"]


class Sample(NamedTuple):
    """A batch of sequences."""

    moves: Any  # pytree of [B, sequence, ...]
    place: Place
    weight: Float[Array, "B"]  # w_i; 1 where sampling is uniform
    age: Int[Array, "B"]  # columns written after the first move of the sequence


class Replay(NamedTuple):
    """The functions of a buffer whose sizes are bound."""

    init: Callable[[Chunk], ReplayState]  # from the shapes of one chunk
    # with the error of each move; the error is not read where sampling is uniform
    add: Callable[[ReplayState, Chunk, Float[Array, "T E"]], ReplayState]
    sample: Callable[[PRNGKeyArray, ReplayState], Sample]
    # the new errors of sampled moves
    prioritize: Callable[[ReplayState, Place, Float[Array, "B"]], ReplayState]


def make_replay(
    capacity: int,
    chunk: int,
    batch_size: int,
    sequence: int,
    *,
    priority_exponent: float = 0.0,
    importance_exponent: float = 0.0,
) -> Replay:
    """A buffer of `capacity` columns, written `chunk` columns at a time, read as `batch_size` sequences.

    Raises:
        ValueError: if the capacity is no multiple of the chunk or shorter than a sequence.
    """
    if capacity % chunk or capacity < sequence or chunk < sequence:
        raise ValueError(
            f"replay of {capacity} rows in chunks of {chunk}: the capacity must be a multiple of the chunk, "
            f"and the chunk hold a sequence of {sequence}"
        )

    def init(example: Chunk) -> ReplayState:
        storage = jax.tree.map(lambda x: jnp.zeros((x.shape[1], capacity, *x.shape[2:]), x.dtype), example)
        environments = len(jax.tree.leaves(storage)[0])
        priority = jnp.zeros((environments, capacity)) if priority_exponent else None
        return ReplayState(storage, priority, jnp.zeros((), jnp.int32), jnp.zeros((), jnp.int32))

    def add(state: ReplayState, moves: Chunk, error: Float[Array, "T E"]) -> ReplayState:
        def write(stored: Array, new: Array) -> Array:
            return jax.lax.dynamic_update_slice_in_dim(stored, new.swapaxes(0, 1), state.position, axis=1)

        return ReplayState(
            storage=jax.tree.map(write, state.storage, moves),
            priority=None if state.priority is None else write(state.priority, to_priority(error)),
            position=(state.position + chunk) % capacity,
            size=jnp.minimum(state.size + chunk, capacity),
        )

    def sample(key: PRNGKeyArray, state: ReplayState) -> Sample:
        choose = choose_uniformly if state.priority is None else choose_by_priority
        start, row, weight = choose(key, state)
        column = (state.position - state.size + start) % capacity
        columns = jnp.add.outer(column, jnp.arange(sequence)) % capacity

        def read(stored: Array) -> Array:
            found = jax.vmap(lambda x, row, columns: x[row[:, None], columns])(by_strata(stored), row, columns)
            return found.reshape(batch_size, *found.shape[2:])

        age = (state.size - 1 - start).reshape(batch_size)
        return Sample(jax.tree.map(read, state.storage), Place(row, column), weight.reshape(batch_size), age)

    def choose_uniformly(key: PRNGKeyArray, state: ReplayState) -> tuple[Array, Array, Array]:
        """Starts, counted from the oldest column, rows and weights, each [G, n]."""
        strata, rows = by_strata(jax.tree.leaves(state.storage)[0]).shape[:2]
        shape = strata, batch_size // strata
        start_key, row_key = jax.random.split(key)
        start = jax.random.randint(start_key, shape, 0, state.size - sequence + 1)
        return start, jax.random.randint(row_key, shape, 0, rows), jnp.ones(shape)

    def choose_by_priority(key: PRNGKeyArray, state: ReplayState) -> tuple[Array, Array, Array]:
        """The same in proportion to the priorities."""
        assert state.priority is not None
        priority = by_strata(state.priority)
        uniform = jax.random.uniform(key, (len(priority), 2, batch_size // len(priority)))
        oldest, starts = state.position - state.size, state.size - sequence + 1
        start, row, share = jax.vmap(draw_by_priority, in_axes=(0, 0, None, None))(uniform, priority, oldest, starts)
        weight = share**-importance_exponent
        return start, row, weight / weight.max()

    def prioritize(state: ReplayState, place: Place, error: Float[Array, "B"]) -> ReplayState:
        if state.priority is None:
            return state
        new = to_priority(error).reshape(place.row.shape)
        write = jax.vmap(lambda x, row, column, new: x.at[row, column].set(new))
        priority = write(by_strata(state.priority), place.row, place.column, new)
        return state._replace(priority=priority.reshape(state.priority.shape))

    def to_priority(error: Array) -> Array:
        return (jnp.abs(error) + PRIORITY_EPSILON) ** priority_exponent

    def by_strata(x: Array) -> Array:
        strata = math.gcd(len(x), batch_size)
        return x.reshape(strata, len(x) // strata, *x.shape[1:])

    return Replay(init, add, sample, prioritize)


def draw_by_priority(
    uniform: Float[Array, "2 n"],
    priority: Float[Array, "R capacity"],
    oldest: Int[Array, ""],
    starts: Int[Array, ""],
) -> tuple[Int[Array, "n"], Int[Array, "n"], Float[Array, "n"]]:
    """Draw among the first `starts` columns from the oldest on, in proportion to p: first the column, then the row.

    Returns:
        Columns, counted from the oldest; rows; and N P, the priorities in units of their mean.
    """
    rows, capacity = priority.shape
    order = jnp.arange(capacity)
    by_column = jnp.where(order < starts, priority.sum(axis=0)[(oldest + order) % capacity], 0.0)
    # Where rounding leads beyond the last column, the last one is meant.
    start = jnp.minimum(invert(uniform[0], by_column), starts - 1)
    in_column = priority[:, (oldest + start) % capacity].T
    row = jax.vmap(invert)(uniform[1], in_column)
    chosen = jnp.take_along_axis(in_column, row[:, None], axis=1)[:, 0]
    return start, row, chosen * (starts * rows) / by_column.sum()


def invert(uniform: Float[Array, "*n"], weight: Float[Array, "m"]) -> Int[Array, "*n"]:
    """The first index at which the cumulative weight is above uniform * the total, uniform in [0, 1)."""
    cumulative = jnp.cumsum(weight)
    return jnp.searchsorted(cumulative, uniform * cumulative[-1], side="right").astype(jnp.int32)
