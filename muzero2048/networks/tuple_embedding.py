"""Table look-ups for tuples of cells: an n-tuple network as the first layer of a network.

Every placement of a shape on the board reads one entry of the shape's table. An entry is a vector; the vectors of all
placements are concatenated. Shapes by name (Guei 2023, fig. 37), on 4x4:

    lines    4 rows, 4 columns                 one table
    squares  9 squares of 2x2                  one table
    rects    2x3 cells: 012456 and 45689a      a table each, 8 views of each
    axes     a line and two cells next to it: 012345 and 456789, likewise

Tiles of level 15 and above share the last level: in 2048 from 32768 on, in 2584 from 987 on. Where a table has fewer
entries than the index has values, the index is hashed: two contents of six cells may then share an entry.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Array, Float, Int, UInt8

from muzero2048.game.symmetry import symmetries

LEVELS = 16
FEATURE_BITS = 16  # log2 of the entries of a feature table: LEVELS^4 entries
_GOLDEN = np.uint32(0x9E3779B1)  # 2^32 / golden ratio: Knuth's multiplicative hash

Tiles = Int[Array, "B O"] | UInt8[Array, "B O"]
Placements = list[tuple[np.ndarray, np.ndarray]]  # for each shape: table numbers int[P], cells int[P, n]


class TupleFeatures(nnx.Module):
    """Tables of vectors; all entries are initially 0."""

    def __init__(self, shapes: tuple[str, ...], width: int, board_shape: tuple[int, int], rngs: nnx.Rngs):
        self.shapes, self.board_shape = shapes, board_shape
        self.features = sum(len(table) for table, _ in tuple_placements(shapes, board_shape)) * width
        self.tables = nnx.Param(jnp.zeros((num_tables(shapes, board_shape) << FEATURE_BITS, width)))

    def __call__(self, tiles: Tiles) -> Float[Array, "B features"]:
        """Look up the entries of all placements and concatenate them."""
        entries = table_entries(tiles, tuple_placements(self.shapes, self.board_shape), FEATURE_BITS)
        return self.tables[...][entries].reshape(len(tiles), -1)


def table_entries(tiles: Tiles, placements: Placements, bits: int) -> Int[Array, "B M"]:
    """Compute the table entry that each of the M placements reads.

    The index of a tuple is the number whose digits to base 16 are its cells. All indices are one matrix product of the
    board with powers of 16. They are below 2^24 and therefore exact in float32, and the product is many times faster
    than a gather of the cells of 32 tuples.

    Returns entries in the concatenation of all tables, of 2^bits entries each.
    """
    levels = jnp.minimum(tiles, LEVELS - 1).astype(jnp.float32)
    entries = []
    for table, cells in placements:
        length = cells.shape[1]
        digits = np.zeros((tiles.shape[-1] + 1, len(cells)), np.float32)  # the last row: missing cells of short lines
        digits[cells.T, np.arange(len(cells))[None]] = (LEVELS ** np.arange(length))[:, None]
        index = jnp.matmul(levels, digits[:-1], precision=jax.lax.Precision.HIGHEST).astype(jnp.uint32)
        if 4 * length > bits:
            index = (index * _GOLDEN) >> np.uint32(32 - bits)
        entries.append(index + (table.astype(np.uint32) << np.uint32(bits))[None])
    return jnp.concatenate(entries, axis=-1).astype(jnp.int32)


def num_tables(shapes: tuple[str, ...], board_shape: tuple[int, int]) -> int:
    """Return the number of tables that the shapes need."""
    return 1 + max(int(table.max()) for table, _ in tuple_placements(shapes, board_shape))


@functools.cache
def tuple_placements(shapes: tuple[str, ...], board_shape: tuple[int, int]) -> Placements:
    """Find the placements of shapes on a board.

    Returns for each shape its table numbers int[P] and cells int[P, n]; cell N stands for the missing cells of short
    lines.

    Raises:
        ValueError: no tuple of these shapes fits the board.
    """
    grid = np.arange(board_shape[0] * board_shape[1]).reshape(board_shape)
    placements: Placements = []
    tables = 0
    for shape in shapes:
        groups = _groups(shape, grid)
        if groups:
            numbers = [np.full(len(group), tables + i) for i, group in enumerate(groups)]
            placements.append((np.concatenate(numbers), np.concatenate(groups)))
            tables += len(groups)
    if not placements:
        raise ValueError(
            f"network.tuple_trunk.shapes or network.value_tables.shapes {list(shapes)}: none of these fits a board of "
            f"{grid.shape[0]}x{grid.shape[1]} cells; lines fit every board"
        )
    return placements


def _groups(shape: str, grid: np.ndarray) -> list[np.ndarray]:
    """Return the placements int[P, n] of a shape, one array per table."""
    rows, columns = grid.shape
    if shape == "lines":
        lines = [np.pad(line, (0, 4 - len(line)), constant_values=grid.size) for line in (*grid, *grid.T)]
        return [np.array(lines)]
    if shape == "squares":
        return [np.array([grid[r : r + 2, c : c + 2].ravel() for r in range(rows - 1) for c in range(columns - 1)])]
    wide = grid if columns >= rows else grid.T
    groups = []
    for row in range(len(wide) // 2):  # the lower half is a symmetric view of the upper half
        base = wide[row : row + 2, :3].ravel() if shape == "rects" else np.append(wide[row], wide[row + 1, :2])
        if len(base) == 6:
            views = dict.fromkeys(tuple(view[base].tolist()) for view in symmetries(rows, columns).cell_to)
            groups.append(np.array(list(views)))
    return groups
