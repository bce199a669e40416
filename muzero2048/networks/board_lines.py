"""The lines and squares of a board as index arrays, for networks on a latent with one vector per cell.

Shapes: `N` cells, `L` = max(H, W), `P` placements.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int


@functools.cache
def move_lines(rows: int, columns: int) -> np.ndarray:
    """Return the cells of the lines of each action, wall first: int32[4, L, L]; N for missing cells."""
    cells = np.arange(rows * columns).reshape(rows, columns)
    size = max(rows, columns)
    padded = []
    for lines in (cells.T, cells[:, ::-1], cells.T[:, ::-1], cells):
        frame = np.full((size, size), cells.size, np.int32)
        frame[: lines.shape[0], : lines.shape[1]] = lines
        padded.append(frame)
    return np.stack(padded)


@functools.cache
def places_in_lines(rows: int, columns: int) -> np.ndarray:
    """Return the place of each cell in the flattened lines of an action: int32[4, N]."""
    lines = move_lines(rows, columns).reshape(4, -1)
    return np.array([[np.flatnonzero(cells == cell)[0] for cell in range(rows * columns)] for cells in lines], np.int32)


@functools.partial(jax.custom_vjp, nondiff_argnums=(2,))
def to_lines(
    state: Float[Array, "B N D"], action: Int[Array, "B"], board_shape: tuple[int, int]
) -> Float[Array, "B L L D"]:
    """Arrange the cells in the lines along which each board's action slides, wall first; missing cells are 0."""
    size = max(board_shape)
    padded = jnp.pad(state, ((0, 0), (0, 1), (0, 0)))
    cells = jnp.asarray(move_lines(*board_shape).reshape(4, -1))[action]
    lines = jnp.take_along_axis(padded, cells[..., None], axis=1)
    return lines.reshape(len(state), size, size, state.shape[-1])


@functools.partial(jax.custom_vjp, nondiff_argnums=(2,))
def from_lines(
    lines: Float[Array, "B L L D"], action: Int[Array, "B"], board_shape: tuple[int, int]
) -> Float[Array, "B N D"]:
    """Put the cells of lines back into the order of the board: the inverse of `to_lines`."""
    places = jnp.asarray(places_in_lines(*board_shape))[action]
    flat = lines.reshape(len(lines), -1, lines.shape[-1])
    return jnp.take_along_axis(flat, places[..., None], axis=1)


def _set_gradient(permute: jax.custom_vjp[Array], inverse: jax.custom_vjp[Array]) -> None:
    """Make the gradient of a permutation its inverse, another gather; JAX would compute it by a scatter."""
    permute.defvjp(
        lambda cells, action, board_shape: (permute(cells, action, board_shape), action),
        lambda board_shape, action, change: (inverse(change, action, board_shape), None),
    )


_set_gradient(to_lines, from_lines)
_set_gradient(from_lines, to_lines)


def with_products(cells: Float[Array, "*B m D"]) -> Float[Array, "*B features"]:
    """Concatenate m vectors and the products x_i . x_j / sqrt(D) of all pairs i < j, as in dot-product attention.

    Whether two tiles are equal decides what a move does. A layer on the concatenated vectors alone learns this for each
    pair of tiles separately; normalised vectors have a large product if and only if they are close.
    """
    count, width = cells.shape[-2:]
    scale = width**-0.5
    pairs = [(i, j) for i in range(count) for j in range(i + 1, count)]
    products = [scale * jnp.sum(cells[..., i, :] * cells[..., j, :], axis=-1, keepdims=True) for i, j in pairs]
    return jnp.concatenate([cells.reshape(*cells.shape[:-2], -1), *products], axis=-1)


def rows_and_columns(state: Float[Array, "B N D"], board_shape: tuple[int, int]) -> Float[Array, "B P D_times_L"]:
    """Return the concatenated cells of all H + W rows and columns; the missing cells of short lines are 0."""
    rows, columns = board_shape
    size = max(board_shape)
    grid = state.reshape(len(state), rows, columns, state.shape[-1])
    lines = [
        jnp.pad(x, ((0, 0), (0, 0), (0, size - x.shape[2]), (0, 0))).reshape(len(x), x.shape[1], -1)
        for x in (grid, grid.swapaxes(1, 2))
    ]
    return jnp.concatenate(lines, axis=1)


def squares(state: Float[Array, "B N D"], board_shape: tuple[int, int]) -> Float[Array, "B P D_times_4"]:
    """Return the concatenated cells of all (H - 1) (W - 1) squares of 2x2 cells."""
    grid = state.reshape(len(state), *board_shape, state.shape[-1])
    corners = grid[:, :-1, :-1], grid[:, :-1, 1:], grid[:, 1:, :-1], grid[:, 1:, 1:]
    joined = jnp.concatenate(corners, axis=-1)
    return joined.reshape(len(state), -1, joined.shape[-1])
