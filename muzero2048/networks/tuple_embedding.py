"""Tuples of cells looked up in tables: the n-tuple idea as the first layer of a network.

Every placement of a shape on the board reads the table of the shape; its entry is a vector, and the vectors of all
placements lie side by side. Shapes by name (Guei 2023, fig. 37), on 4x4:

    lines    4 rows, 4 columns                 one table
    squares  9 squares of 2x2                  one table
    rects    2x3 cells: 012456 and 45689a      a table each, 8 views of each
    axes     a line and two cells beside it: 012345 and 456789, the same

Tiles from 32768 up share the last level. An index of more values than a table has entries is hashed: two contents of
six cells may share an entry.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Array, Float, Int, UInt8

from muzero2048.game.symmetry import symmetries

LEVELS = 16
FEATURE_BITS = 16  # of the tables of features: LEVELS^4 entries
_GOLDEN = np.uint32(0x9E3779B1)  # 2^32 / golden ratio: Knuth's multiplicative hash

Tiles = Int[Array, "B N"] | UInt8[Array, "B N"]
Placements = list[tuple[np.ndarray, np.ndarray]]  # for each shape: number of the table int[P], cells int[P, n]


class TupleFeatures(nnx.Module):
    """Tables of vectors; all entries begin at 0."""

    def __init__(self, shapes: tuple[str, ...], width: int, board_shape: tuple[int, int], rngs: nnx.Rngs):
        self.shapes, self.board_shape = shapes, board_shape
        self.features = sum(len(table) for table, _ in tuple_placements(shapes, board_shape)) * width
        self.tables = nnx.Param(jnp.zeros((num_tables(shapes, board_shape) << FEATURE_BITS, width)))

    def __call__(self, tiles: Tiles) -> Float[Array, "B features"]:
        """The entries of all placements, side by side."""
        entries = table_entries(tiles, tuple_placements(self.shapes, self.board_shape), FEATURE_BITS)
        return self.tables[...][entries].reshape(len(tiles), -1)


def table_entries(tiles: Tiles, placements: Placements, bits: int) -> Int[Array, "B M"]:
    """Where each of the M placements reads, in tables of 2^bits entries, one behind the other.

    The index of a tuple, its cells as digits to base 16, is a matrix product of the board with powers of 16: below
    2^24, so exact in float32, and many times faster than gathering the cells of 32 tuples.
    """
    levels = jnp.minimum(tiles, LEVELS - 1).astype(jnp.float32)
    entries = []
    for table, cells in placements:
        length = cells.shape[1]
        digits = np.zeros((tiles.shape[-1] + 1, len(cells)), np.float32)  # the last row: beyond a short line
        digits[cells.T, np.arange(len(cells))[None]] = (LEVELS ** np.arange(length))[:, None]
        index = jnp.matmul(levels, digits[:-1], precision=jax.lax.Precision.HIGHEST).astype(jnp.uint32)
        if 4 * length > bits:
            index = (index * _GOLDEN) >> np.uint32(32 - bits)
        entries.append(index + (table.astype(np.uint32) << np.uint32(bits))[None])
    return jnp.concatenate(entries, axis=-1).astype(jnp.int32)


def num_tables(shapes: tuple[str, ...], board_shape: tuple[int, int]) -> int:
    """Tables that the shapes need."""
    return 1 + max(int(table.max()) for table, _ in tuple_placements(shapes, board_shape))


@functools.cache
def tuple_placements(shapes: tuple[str, ...], board_shape: tuple[int, int]) -> Placements:
    """For each shape of the words: numbers of tables int[P], and cells int[P, n], N where a line is short.

    Raises:
        ValueError: no tuple of these shapes fits the board.
    """
    grid = np.arange(board_shape[0] * board_shape[1]).reshape(board_shape)
    found: Placements = []
    tables = 0
    for shape in shapes:
        groups = _groups(shape, grid)
        if groups:
            numbers = [np.full(len(group), tables + i) for i, group in enumerate(groups)]
            found.append((np.concatenate(numbers), np.concatenate(groups)))
            tables += len(groups)
    if not found:
        raise ValueError(
            f"network.tuple_trunk.shapes or network.value_tables.shapes {list(shapes)}: none of these fits a board of "
            f"{grid.shape[0]}x{grid.shape[1]} cells; lines fit every board"
        )
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
