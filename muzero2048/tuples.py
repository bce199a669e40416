"""Tuples of cells looked up in tables: the n-tuple idea as the first layer of a network.

Every placement of a shape on the board reads the table of the shape; its entry is a vector, and the vectors of all
placements lie side by side. Shapes by name (Guei 2023, fig. 37), on 4x4:

    lines    4 rows, 4 columns                 one table
    squares  9 squares of 2x2                  one table
    rects    2x3 cells: 012456 and 45689a      a table each, 8 views of each
    axes     a line and two cells beside it: 012345 and 456789, the same

Tiles from 32768 up share the last level. An index of more than `ROWS` values is hashed: two contents of six cells may
share an entry.
"""

import functools

import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Array, Float, Int, UInt8

from muzero2048.symmetry import symmetries

LEVELS = 16
ROWS = 1 << 16  # of one table: LEVELS^4, and more are hashed
_GOLDEN = np.uint32(0x9E3779B1)  # 2^32 / golden ratio: Knuth's multiplicative hash


class TupleTables(nnx.Module):
    """The tables of some shapes; all entries begin at 0."""

    def __init__(self, shapes: str, width: int, board_shape: tuple[int, int], rngs: nnx.Rngs):
        self.shapes, self.board_shape = shapes, board_shape
        placements = tuple_placements(shapes, board_shape)
        num_tables = 1 + max(int(table.max()) for table, _ in placements)
        self.features = sum(len(table) for table, _ in placements) * width
        self.tables = nnx.Param(jnp.zeros((num_tables * ROWS, width)))

    def __call__(self, tiles: Int[Array, "B N"] | UInt8[Array, "B N"]) -> Float[Array, "B features"]:
        """The entries of all placements, side by side."""
        levels = jnp.minimum(tiles, LEVELS - 1).astype(jnp.uint32)
        levels = jnp.pad(levels, ((0, 0), (0, 1)))  # the cell N of short lines is empty
        placements = tuple_placements(self.shapes, self.board_shape)
        entries = [
            table.astype(np.uint32)[None] * np.uint32(ROWS) + _index(levels, cells) for table, cells in placements
        ]
        return self.tables[...][jnp.concatenate(entries, axis=-1)].reshape(len(tiles), -1)


def _index(levels: Array, cells: np.ndarray) -> Array:
    """Row of the table for each placement: the digits of the cells to base 16, hashed if there are more than four."""
    length = cells.shape[1]
    digits = (LEVELS ** np.arange(length)).astype(np.uint32)
    index = functools.reduce(jnp.add, [levels[:, cells[:, i]] * digits[i] for i in range(length)])
    return (index * _GOLDEN) >> np.uint32(16) if length > 4 else index


@functools.cache
def tuple_placements(shapes: str, board_shape: tuple[int, int]) -> list[tuple[np.ndarray, np.ndarray]]:
    """For each shape of the words: numbers of tables int[P], and cells int[P, n], N where a line is short.

    Raises:
        ValueError: no tuple of these shapes fits the board.
    """
    grid = np.arange(board_shape[0] * board_shape[1]).reshape(board_shape)
    found: list[tuple[np.ndarray, np.ndarray]] = []
    tables = 0
    for shape in shapes.split():
        groups = _groups(shape, grid)
        if groups:
            numbers = [np.full(len(group), tables + i) for i, group in enumerate(groups)]
            found.append((np.concatenate(numbers), np.concatenate(groups)))
            tables += len(groups)
    if not found:
        raise ValueError(f"network.tuples is '{shapes}': none of these fits a board of {grid.shape} cells")
    return found


def _groups(shape: str, grid: np.ndarray) -> list[np.ndarray]:
    """The placements int[P, n] of a shape, one array a table."""
    rows, columns = grid.shape
    if shape == "lines":
        lines = [np.pad(line, (0, 4 - len(line)), constant_values=grid.size) for line in (*grid, *grid.T)]
        return [np.array(lines)]
    if shape == "squares":
        return [np.array([grid[r : r + 2, c : c + 2].ravel() for r in range(rows - 1) for c in range(columns - 1)])]
    wide = grid if columns >= rows else grid.T
    groups = []
    for row in range(len(wide) // 2):  # the lower half is a view of the upper one
        base = wide[row : row + 2, :3].ravel() if shape == "rects" else np.append(wide[row], wide[row + 1, :2])
        if len(base) == 6:
            views = dict.fromkeys(tuple(view[base].tolist()) for view in symmetries(rows, columns).cell_to)
            groups.append(np.array(list(views)))
    return groups
