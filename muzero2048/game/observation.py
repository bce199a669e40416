"""Boards as network input."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Integer


def planes(cells: Integer[Array, "*B N"], tile_levels: int) -> Float[Array, "*B N tile_levels"]:
    """One-hot planes of the N cells: plane k marks the tiles 2^k, plane 0 the empty cells.

    Levels beyond the last plane show as the last one; with 18 planes that begins past 131072, which 2048 cannot reach.
    """
    return jax.nn.one_hot(jnp.minimum(cells, tile_levels - 1), tile_levels)
