"""An n-tuple network inside a model: a value that is a sum of table entries, learned by temporal coherence (TC).

    V(as) = h^-1(c),   c(as) = sum_j w[index_j(as)]          the sum over all placements, in units of h

With value.decoding = mean_of_inverse, V(as) = c in points. This is unbiased, while the mean of h is averse to risk, but
it learns more slowly: the errors of good games dominate all others.
V(s) is predicted by f as a distribution around the same sum; its head learns the difference that the state's move and
spawn make.

An entry is read by few samples, so it needs a learning rate of its own instead of gradient descent (Jaskowski 2017,
sec. V-B, algorithm 2, applied to batches). Let delta_i = h(z_i) - c_i (or z_i - c_i) be the error of sample i, n_e the
number of samples of the batch that read entry e, mean_i the mean over these n_e samples, and m the number of
placements. Then

    E_e += mean_i delta_i,   A_e += mean_i |delta_i|,   w_e += alpha / m * |E_e| / A_e * mean_i delta_i

An entry that is read for the first time takes the whole error. Where errors cancel, also within a batch, the rate falls
to 0. The mean prevents that the steps of all samples that share a common entry add up. (The paper computes the rate
before it adds the error. Writing first and reading afterwards saves XLA a copy of the tables in every batch.)
"""

from typing import NamedTuple

import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float, Int

from muzero2048.networks.tuple_embedding import Tiles, num_tables, table_entries, tuple_placements


class ValueTable(nnx.Variable[Array]):
    """A variable that `learn` updates, not the optimizer of the network."""


class ValueTables(nnx.Module):
    """The weights w; all are initially `initial` / number of placements, so every sum c is `initial`."""

    def __init__(self, shapes: tuple[str, ...], bits: int, board_shape: tuple[int, int], initial: Float[Array, ""]):
        self.shapes, self.bits, self.board_shape = shapes, bits, board_shape
        placements = sum(len(table) for table, _ in tuple_placements(shapes, board_shape))
        self.weights = ValueTable(jnp.full(num_tables(shapes, board_shape) << bits, initial / placements))

    def entries(self, tiles: Tiles) -> Int[Array, "B M"]:
        """Return the entries that the boards read."""
        return table_entries(tiles, tuple_placements(self.shapes, self.board_shape), self.bits)

    def __call__(self, tiles: Tiles) -> Float[Array, "B"]:
        """Compute the sums c of the boards."""
        return self.weights[...][self.entries(tiles)].sum(axis=-1)


class Coherence(NamedTuple):
    """The state of TC for each entry."""

    error: Float[Array, "entries"]  # E, sum of the mean errors
    absolute: Float[Array, "entries"]  # A, sum of the mean absolute errors


def init_coherence(weights: Float[Array, "entries"]) -> Coherence:
    """Return the state before the first update."""
    # Two arrays, not one used twice: training donates them, and a buffer can be donated once only.
    return Coherence(*(jnp.zeros_like(weights) for _ in range(2)))


def learn(
    weights: Float[Array, "entries"],
    coherence: Coherence,
    entries: Int[Array, "B M"],
    delta: Float[Array, "B"],
    learning_rate: float,
) -> tuple[Float[Array, "entries"], Coherence]:
    """Update the tables by TC on one batch.

    `entries` are those of each sample (`ValueTables.entries`), `delta` the errors in units of c, 0 for samples to
    ignore.
    """
    mean = delta[:, None] / occurrences(entries)
    error = coherence.error.at[entries].add(mean)
    absolute = coherence.absolute.at[entries].add(jnp.abs(mean))
    rate = jnp.abs(error[entries]) / jnp.maximum(absolute[entries], jnp.finfo(jnp.float32).tiny)
    step = learning_rate / entries.shape[1] * rate * mean
    return weights.at[entries].add(step), Coherence(error, absolute)


def occurrences(entries: Int[Array, "B M"]) -> Int[Array, "B M"]:
    """Return n_e for each entry, by sorting: a table of counts would have to be cleared for every batch."""
    flat = entries.reshape(-1)
    ordered = jnp.sort(flat)
    last, first = (jnp.searchsorted(ordered, flat, side=side) for side in ("right", "left"))
    return (last - first).reshape(entries.shape)
