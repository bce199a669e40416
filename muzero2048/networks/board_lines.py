"""The lines, squares and rectangles of a board, for networks on a latent with one vector per cell.

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


@jax.custom_vjp
def look_up(table: Float[Array, "T D"], rows: Int[Array, "*B"]) -> Float[Array, "*B D"]:
    """Read rows of a table.

    The gradient is a product with one-hot rows. JAX would compute it by a scatter, in which a GPU adds the changes of
    all cells of a batch to the same few rows one after the other.
    """
    return table[rows]


def _sum_by_row(
    kept: tuple[Int[Array, "*B"], Float[Array, "T D"]], change: Float[Array, "*B D"]
) -> tuple[Float[Array, "T D"], None]:
    rows, table = kept
    chosen = jax.nn.one_hot(rows.ravel(), len(table), dtype=change.dtype)
    changes = change.reshape(len(chosen), -1)
    return jnp.matmul(chosen.T, changes, precision=jax.lax.Precision.HIGHEST), None


look_up.defvjp(lambda table, rows: (table[rows], (rows, table)), _sum_by_row)


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


def with_context(x: Float[Array, "B *S F"], context: Float[Array, "B *M D"]) -> Float[Array, "B *S F_plus"]:
    """Append the context of each board, if it has any, to the features of every place."""
    spread = context.reshape(len(x), *(1,) * (x.ndim - 2), -1).astype(x.dtype)
    if spread.shape[-1] == 0:
        return x
    return jnp.concatenate([x, jnp.broadcast_to(spread, (*x.shape[:-1], spread.shape[-1]))], axis=-1)


def placements(state: Float[Array, "B N D"], board_shape: tuple[int, int], shape: str) -> Float[Array, "B P n D"]:
    """Return the cells of all placements of a shape on the board.

    shape: lines, all H + W rows and columns; the missing cells of short ones are 0. squares, of 2x2 cells. rects, of
    2x3 cells and, on the transposed board, of 3x2.
    """
    grid = state.reshape(len(state), *board_shape, state.shape[-1])
    if shape == "squares":
        return _windows(grid, 2, 2)
    both = grid, grid.swapaxes(1, 2)
    if shape == "rects":
        return jnp.concatenate([_windows(x, 2, 3) for x in both], axis=1)
    size = max(board_shape)
    lines = [jnp.pad(x, ((0, 0), (0, 0), (0, size - x.shape[2]), (0, 0))) for x in both]
    return jnp.concatenate(lines, axis=1)


def _windows(grid: Float[Array, "B H W D"], height: int, width: int) -> Float[Array, "B P n D"]:
    """Return the cells of all windows of height x width cells; none fits a smaller board."""
    down, right = (max(0, size - n + 1) for size, n in zip(grid.shape[1:3], (height, width), strict=True))
    cells = [grid[:, i : i + down, j : j + right] for i in range(height) for j in range(width)]
    return jnp.stack(cells, axis=3).reshape(len(grid), down * right, height * width, grid.shape[-1])


@functools.cache
def placed_cells(board_shape: tuple[int, int], shape: str) -> np.ndarray:
    """Return the cells of the placements of a shape: int[P, n]; -1 for the missing cells of short lines."""
    with jax.ensure_compile_time_eval():
        numbers = 1.0 + jnp.arange(board_shape[0] * board_shape[1])
        return np.asarray(placements(numbers[None, :, None], board_shape, shape)[0, ..., 0], np.int32) - 1


def placed_products(
    state: Float[Array, "B N D"], board_shape: tuple[int, int], shapes: tuple[str, ...]
) -> list[Float[Array, "B P pairs"]]:
    """Compute the products of `with_products` for the cells of all placements of each shape.

    The products of all pairs of cells of a board are one matrix. Those that some placement has are taken from it, and a
    product with a matrix of 0 and 1 brings them to their places. That is several times faster than a product for each
    pair of each placement.
    """
    cells = state.shape[1]
    where = [_pairs(placed_cells(board_shape, shape), cells) for shape in shapes]
    used = np.unique([pair for pairs in where for pair in pairs.ravel() if pair >= 0])
    exact = jax.lax.Precision.HIGHEST
    products = jnp.einsum("bnd,bmd->bnm", state, state, precision=exact) * state.shape[-1] ** -0.5
    taken = take_columns(products.reshape(len(state), -1), tuple(used.tolist()))
    to_places = np.concatenate([used[:, None] == pairs.ravel() for pairs in where], axis=1).astype(np.float32)
    ends = np.cumsum([pairs.size for pairs in where])[:-1].tolist()
    parts = jnp.split(jnp.matmul(taken, to_places), ends, axis=1)
    return [part.reshape(len(state), *pairs.shape) for part, pairs in zip(parts, where, strict=True)]


def _pairs(placed: np.ndarray, cells: int) -> np.ndarray:
    """Return which product of two cells each pair i < j of a placement is: int[P, pairs]; -1: a missing cell's."""
    first, second = np.triu_indices(placed.shape[1], 1)
    a, b = placed[:, first], placed[:, second]
    return np.where(np.minimum(a, b) >= 0, a * cells + b, -1)


@functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
def take_columns(x: Float[Array, "B n"], columns: tuple[int, ...]) -> Float[Array, "B m"]:
    """Return some columns, each once. Their gradient is a gather, too; JAX would compute it by a scatter."""
    return x[:, np.array(columns)]


def _spread_columns(
    columns: tuple[int, ...], like: Float[Array, "B n"], change: Float[Array, "B m"]
) -> tuple[Float[Array, "B n"]]:
    source = np.full(like.shape[1], len(columns))
    source[list(columns)] = np.arange(len(columns))
    return (jnp.pad(change, ((0, 0), (0, 1)))[:, source],)


take_columns.defvjp(lambda x, columns: (take_columns(x, columns), x), _spread_columns)
