"""Tests of placements against their published cells and by symmetry, and of entries against plain Python."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from muzero2048.game.symmetry import symmetries
from muzero2048.networks.tuple_embedding import TupleFeatures, num_tables, table_entries, tuple_placements

ALL = ("lines", "squares", "rects", "axes")


def test_placements_of_4x4() -> None:
    lines, squares, rects, axes = tuple_placements(ALL, (4, 4))
    assert lines[1].tolist() == [*np.arange(16).reshape(4, 4).tolist(), *np.arange(16).reshape(4, 4).T.tolist()]
    assert squares[1][0].tolist() == [0, 1, 4, 5]
    assert len(squares[1]) == 9
    # 012456 and 45689a, 012345 and 456789 (Yeh's 4x6): each has its own table and eight views.
    for (table, cells), bases in ((rects, ("012456", "45689a")), (axes, ("012345", "456789"))):
        assert cells.shape == (16, 6)
        for number, base in enumerate(bases):
            views = [tuple(row) for row in cells[table == table[0] + number].tolist()]
            assert len(set(views)) == 8
            assert tuple(int(cell, 16) for cell in base) in views
    assert num_tables(ALL, (4, 4)) == 6


@pytest.mark.parametrize("shape", [(2, 2), (2, 3), (3, 2), (3, 3), (3, 4), (4, 4)])
def test_every_cell_is_read_and_views_read_the_same_entries(shape: tuple[int, int], rng: np.random.Generator) -> None:
    views, bits = symmetries(*shape), 20
    placements = tuple_placements(ALL, shape)
    cells = jnp.asarray(rng.integers(0, 12, (20, shape[0] * shape[1])), jnp.uint8)
    found = np.sort(table_entries(cells, placements, bits), axis=1)
    for view in views.cell_from:
        # Lines and squares are read in one order only. So only tuples of six cells have the same entries in all views.
        six = [part for part in placements if part[1].shape[1] == 6]
        if six:
            seen, plain = (np.sort(table_entries(x, six, bits), axis=1) for x in (cells[:, view], cells))
            np.testing.assert_array_equal(seen, plain)
    for cell in range(shape[0] * shape[1]):
        changed = cells.at[:, cell].set(12)
        assert (np.sort(table_entries(changed, placements, bits), axis=1) != found).any(axis=1).all()


@pytest.mark.parametrize(("shape", "bits"), [((4, 4), 16), ((4, 4), 24), ((2, 3), 22)])
def test_entries_by_hand(shape: tuple[int, int], bits: int, rng: np.random.Generator) -> None:
    placements = tuple_placements(ALL, shape)
    cells = rng.integers(0, 18, (10, shape[0] * shape[1])).astype(np.uint8)
    found = np.asarray(jax.jit(lambda x: table_entries(x, placements, bits))(cells))
    for row, board in zip(found, cells, strict=True):
        padded = [*(min(int(tile), 15) for tile in board), 0]
        expected = []
        for table, placed in placements:
            for number, tuple_cells in zip(table, placed, strict=True):
                index = sum(padded[cell] * 16**i for i, cell in enumerate(tuple_cells))
                if 4 * len(tuple_cells) > bits:
                    index = (index * 0x9E3779B1 % 2**32) >> (32 - bits)
                expected.append(int(number) * 2**bits + index)
        assert row.tolist() == expected


def test_no_tuple_fits() -> None:
    with pytest.raises(ValueError, match="none of these fits"):
        tuple_placements(("axes",), (2, 3))


def test_features_are_the_entries_side_by_side() -> None:
    features = TupleFeatures(("lines", "squares"), 2, (2, 3), nnx.Rngs(0))
    cells = jnp.array([[1, 2, 3, 4, 5, 6]], jnp.uint8)
    assert not features(cells).any()
    entries = table_entries(cells, tuple_placements(("lines", "squares"), (2, 3)), 16)[0]
    features.tables[...] = features.tables[...].at[entries[3]].set(jnp.array([7.0, 8.0]))
    assert features(cells)[0, 6:8].tolist() == [7.0, 8.0]
    assert features.features == features(cells).shape[1] == 14  # five lines and two squares, width 2
