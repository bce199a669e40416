"""An n-tuple network inside a model: a value that is a sum of table entries, learned by temporal coherence (TC).

    V(as) = h^-1(c),   c(as) = sum_j w[index_j(as)]          the sum over all placements, in units of h

(value.decoding = mean_of_inverse: V(as) = c, in points. Unbiased, where the mean of h is averse to risk, but slower to
learn: the errors of a good game drown those of all others.)
V(s) is what f says around the same sum: its head learns what the state's move and spawn add.

Gradient descent is not for tables: an entry is met by a few samples of the many, so each has a rate of its own
(Jaskowski 2017, sec. V-B, algorithm 2, on batches). With delta_i the error h(z_i) - c_i (or z_i - c_i) of a sample that
meets entry e, and n_e the number of samples of the batch that do,

    E_e += mean_i delta_i,   A_e += mean_i |delta_i|,   then   w_e += alpha / m * |E_e| / A_e * mean_i delta_i

with m placements: what is met for the first time takes the whole error, and where errors cancel the rate falls to 0,
those of one batch too. The n_e keep the samples of one batch, which share their common entries, from adding up. (The
paper has the rate before the error. To write first and read then spares XLA a copy of the tables at every batch.)
"""

from typing import NamedTuple

import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float, Int

from muzero2048.networks.tuple_embedding import Tiles, num_tables, table_entries, tuple_placements


class Table(nnx.Variable[Array]):
    """A variable that no optimizer of the network touches: `learn` does."""


class ValueTables(nnx.Module):
    """The weights; all begin at the share of a placement in the value `initial` (units of c)."""

    def __init__(self, shapes: tuple[str, ...], bits: int, board_shape: tuple[int, int], initial: Float[Array, ""]):
        self.shapes, self.bits, self.board_shape = shapes, bits, board_shape
        placements = sum(len(table) for table, _ in tuple_placements(shapes, board_shape))
        self.weights = Table(jnp.full(num_tables(shapes, board_shape) << bits, initial / placements))

    def entries(self, tiles: Tiles) -> Int[Array, "B M"]:
        """Which entries the boards meet."""
        return table_entries(tiles, tuple_placements(self.shapes, self.board_shape), self.bits)

    def __call__(self, tiles: Tiles) -> Float[Array, "B"]:
        """The sums c of the boards."""
        return self.weights[...][self.entries(tiles)].sum(axis=-1)


class Coherence(NamedTuple):
    """What TC keeps of each entry."""

    error: Float[Array, "entries"]  # E, sum of the mean errors
    absolute: Float[Array, "entries"]  # A, sum of the mean absolute errors


def init_coherence(weights: Float[Array, "entries"]) -> Coherence:
    """Nothing learned yet."""
    # Two arrays, not one twice: training donates them, and a buffer can be given away once.
    return Coherence(*(jnp.zeros_like(weights) for _ in range(2)))


def learn(
    weights: Float[Array, "entries"],
    coherence: Coherence,
    entries: Int[Array, "B M"],
    delta: Float[Array, "B"],
    learning_rate: float,
) -> tuple[Float[Array, "entries"], Coherence]:
    """One batch of TC.

    Args:
        weights: w.
        coherence: E and A.
        entries: of each sample; see `ValueTables.entries`.
        delta: errors in units of c; 0 for a sample that does not count.
        learning_rate: alpha.
    """
    mean = delta[:, None] / occurrences(entries)
    error = coherence.error.at[entries].add(mean)
    absolute = coherence.absolute.at[entries].add(jnp.abs(mean))
    rate = jnp.abs(error[entries]) / jnp.maximum(absolute[entries], jnp.finfo(jnp.float32).tiny)
    step = learning_rate / entries.shape[1] * rate * mean
    return weights.at[entries].add(step), Coherence(error, absolute)


def occurrences(entries: Int[Array, "B M"]) -> Int[Array, "B M"]:
    """n_e: how often each entry is among them. Sorted, as to count in a table of all entries means to clear one."""
    flat = entries.reshape(-1)
    ordered = jnp.sort(flat)
    last, first = (jnp.searchsorted(ordered, flat, side=side) for side in ("right", "left"))
    return (last - first).reshape(entries.shape)
