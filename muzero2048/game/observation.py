"""Boards as network input."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Integer


def planes(cells: Integer[Array, "*B N"], tile_levels: int) -> Float[Array, "*B N tile_levels"]:
    """Return one-hot planes of the N cells: plane k marks the tiles 2^k, plane 0 the empty cells.

    Higher levels are marked on the last plane. With 18 planes these are tiles above 131072, which cannot occur on 4x4.
    """
    return jax.nn.one_hot(jnp.minimum(cells, tile_levels - 1), tile_levels)
