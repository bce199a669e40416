"""The replay buffer: a ring of moves on the device, [environments, capacity] of any pytree that play produces.

A row is an environment and time runs along the row. So any part of a row that does not cross the write position is a
sequence of consecutive moves. States are frozen and functions are pure.

Sampling is stratified over environments: there are G strata, each of environments / G rows. Stratum g gives batch size
/ G sequences: the rows of the batch from g * batch size / G on. The number of devices does not change the batch.

- Uniform sampling: G = gcd(environments, batch size). A device that holds some of the strata samples from its own
  memory.
- Prioritised sampling: G = 1, so priorities compare the moves of all environments, as published. With more strata every
  environment would give its share of the batch, whatever its priorities: with as many environments as samples, exactly
  one sample each. Several devices exchange the sampled sequences and the sums of priorities, but not the buffer.

A sequence is drawn in proportion to the priority of its first move (Schaul et al. 2016, sec. 3.3 and 3.4):

    P(i) = p_i^alpha / sum_j p_j^alpha,     p_i = |error_i| + epsilon,     w_i = (N P(i))^-beta / max_batch w

where j and N run over the moves of all environments at which a sequence may begin. alpha = 0 is uniform sampling and
stores no priorities.

Shapes: `T` moves of a chunk, `E` environments, `B` sequences of a batch, `G` strata, `R` environments of a stratum,
`n` = B / G sequences of a stratum.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from muzero2048.training.config import TrainingConfig

PRIORITY_EPSILON = 1e-3  # points; so that a move without error can still be drawn

Chunk = Any  # pytree of [T, E, ...], T moves of E environments


class ReplayState(NamedTuple):
    """Contents of the buffer."""

    storage: Any  # pytree of [E, capacity, ...]
    priority: Float[Array, "E capacity"] | None  # p^alpha; None: uniform sampling
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


@dataclass(frozen=True)
class Replay:
    """A buffer: its sizes, the exponents of its priorities, and the functions of its state.

    The configs of the learners check that the capacity is a multiple of the chunk, and holds a sequence.
    """

    capacity: int  # columns: moves of each environment
    chunk: int  # T, columns written at a time
    batch_size: int  # B
    sequence: int  # moves of a sampled sequence
    priority_exponent: float = 0.0  # alpha
    importance_exponent: float = 0.0  # beta

    def init(self, example: Chunk) -> ReplayState:
        """Return an empty buffer for chunks with the shapes and dtypes of `example`."""
        storage = jax.tree.map(lambda x: jnp.zeros((x.shape[1], self.capacity, *x.shape[2:]), x.dtype), example)
        environments = len(jax.tree.leaves(storage)[0])
        priority = jnp.zeros((environments, self.capacity)) if self.priority_exponent else None
        return ReplayState(storage, priority, jnp.zeros((), jnp.int32), jnp.zeros((), jnp.int32))

    def add(self, state: ReplayState, moves: Chunk, error: Float[Array, "T E"]) -> ReplayState:
        """Write a chunk over the oldest columns.

        `error` is that of the value of each move, in points; it is not read where sampling is uniform.
        """

        def write(stored: Array, new: Array) -> Array:
            return jax.lax.dynamic_update_slice_in_dim(stored, new.swapaxes(0, 1), state.position, axis=1)

        return ReplayState(
            storage=jax.tree.map(write, state.storage, moves),
            priority=None if state.priority is None else write(state.priority, self._to_priority(error)),
            position=(state.position + self.chunk) % self.capacity,
            size=jnp.minimum(state.size + self.chunk, self.capacity),
        )

    def sample(self, key: PRNGKeyArray, state: ReplayState) -> Sample:
        """Draw a batch of sequences.

        At least `sequence` columns are filled. The batch is in the order of the strata.
        """
        choose = self._choose_uniformly if state.priority is None else self._choose_by_priority
        start, row, weight = choose(key, state)
        column = (state.position - state.size + start) % self.capacity
        columns = jnp.add.outer(column, jnp.arange(self.sequence)) % self.capacity

        def read(stored: Array) -> Array:
            take = jax.vmap(lambda x, row, columns: x[row[:, None], columns])
            sequences = take(self._by_strata(stored), row, columns)
            return sequences.reshape(self.batch_size, *sequences.shape[2:])

        age = (state.size - 1 - start).reshape(self.batch_size)
        moves = jax.tree.map(read, state.storage)
        return Sample(moves, Place(row, column), weight.reshape(self.batch_size), age)

    def prioritize(self, state: ReplayState, place: Place, error: Float[Array, "B"]) -> ReplayState:
        """Replace the priorities of sampled moves; without effect where sampling is uniform.

        `error` is the new error of the first move of each sampled sequence, in points.
        """
        if state.priority is None:
            return state
        new = self._to_priority(error).reshape(place.row.shape)
        write = jax.vmap(lambda x, row, column, new: x.at[row, column].set(new))
        priority = write(self._by_strata(state.priority), place.row, place.column, new)
        return state._replace(priority=priority.reshape(state.priority.shape))

    def _choose_uniformly(self, key: PRNGKeyArray, state: ReplayState) -> tuple[Array, Array, Array]:
        """Return starts (columns counted from the oldest), rows within the strata, and weights, each [G, n]."""
        strata, rows = self._by_strata(jax.tree.leaves(state.storage)[0]).shape[:2]
        shape = strata, self.batch_size // strata
        start_key, row_key = jax.random.split(key)
        start = jax.random.randint(start_key, shape, 0, state.size - self.sequence + 1)
        return start, jax.random.randint(row_key, shape, 0, rows), jnp.ones(shape)

    def _choose_by_priority(self, key: PRNGKeyArray, state: ReplayState) -> tuple[Array, Array, Array]:
        """Return the same as `_choose_uniformly`, drawn in proportion to the priorities."""
        assert state.priority is not None
        priority = self._by_strata(state.priority)
        uniform = jax.random.uniform(key, (len(priority), 2, self.batch_size // len(priority)))
        oldest, starts = state.position - state.size, state.size - self.sequence + 1
        start, row, share = jax.vmap(draw_by_priority, in_axes=(0, 0, None, None))(uniform, priority, oldest, starts)
        weight = share**-self.importance_exponent
        return start, row, weight / weight.max()

    def _to_priority(self, error: Array) -> Array:
        return (jnp.abs(error) + PRIORITY_EPSILON) ** self.priority_exponent

    def _by_strata(self, x: Array) -> Array:
        """Reshape [E, ...] to [G, R, ...]."""
        strata = 1 if self.priority_exponent else math.gcd(len(x), self.batch_size)
        return x.reshape(strata, len(x) // strata, *x.shape[1:])


def make_replay(config: TrainingConfig, sequence: int) -> Replay:
    """Return the buffer that a config names, for sequences of this many moves."""
    replay = config.replay
    return Replay(
        capacity=replay.capacity // config.num_envs,
        chunk=config.chunk,
        batch_size=replay.batch_size,
        sequence=sequence,
        priority_exponent=replay.priority_exponent,
        importance_exponent=replay.importance_exponent,
    )


def draw_by_priority(
    uniform: Float[Array, "2 n"], priority: Float[Array, "R capacity"], oldest: Int[Array, ""], starts: Int[Array, ""]
) -> tuple[Int[Array, "n"], Int[Array, "n"], Float[Array, "n"]]:
    """Draw moves of one stratum in proportion to their priorities: first the column, then the row.

    The first row of `uniform`, in [0, 1), draws columns, the second rows; only the first `starts` columns from the
    oldest on may be drawn. Returns columns, counted from the oldest; rows; and N P, the priorities in units of their
    mean.
    """
    rows, capacity = priority.shape
    order = jnp.arange(capacity)
    by_column = jnp.where(order < starts, priority.sum(axis=0)[(oldest + order) % capacity], 0.0)
    # Rounding can give a column after the last one; then the last one is taken.
    start = jnp.minimum(invert(uniform[0], by_column), starts - 1)
    in_column = priority[:, (oldest + start) % capacity].T
    row = jax.vmap(invert)(uniform[1], in_column)
    chosen = jnp.take_along_axis(in_column, row[:, None], axis=1)[:, 0]
    return start, row, chosen * (starts * rows) / by_column.sum()


def invert(uniform: Float[Array, "*n"], weight: Float[Array, "m"]) -> Int[Array, "*n"]:
    """Return the first index whose cumulative weight is above uniform * the total weight, uniform in [0, 1)."""
    cumulative = jnp.cumsum(weight)
    return jnp.searchsorted(cumulative, uniform * cumulative[-1], side="right").astype(jnp.int32)
