import numpy as np
import pytest

from ntuple.tables.layout import line_order, make_order, make_salts
from ntuple.tables.network import index_fields
from ntuple.tables.patterns import parse_network
from tests.ntuple.drivers import places_of


def _places(pattern: str) -> np.ndarray:
    """Return the place of each plain index of a tuple that is the third of a network."""
    cells = parse_network(pattern, 4, 4)[0]
    paired = index_fields(pattern, 4, 4)["paired"][0]
    indices = np.arange(16 ** len(cells), dtype=np.uint32)
    places = np.zeros_like(indices)
    places_of(indices, make_order(cells), paired, make_salts([indices.size] * 3)[2], places)
    return places


@pytest.mark.parametrize("pattern", ["0", "5", "01", "65", "012", "0159", "4321a"])
def test_places_are_a_bijection(pattern: str) -> None:
    places = _places(pattern)
    np.testing.assert_array_equal(np.sort(places), np.arange(places.size))


@pytest.mark.parametrize(("pattern", "first", "second"), [("012", 2, 1), ("0159", 3, 2), ("4561a", 4, 2), ("01", 1, 0)])
def test_a_line_has_the_low_bits_of_two_cells(pattern: str, first: int, second: int) -> None:
    """The 16 entries of a line agree in all but the two low bits of two cells, which `line_order` chooses."""
    lines = _places(pattern) // 16
    indices = np.arange(lines.size)
    varying = 3 << 4 * first | 3 << 4 * second
    for line in range(0, lines.max() + 1, 7):
        in_line = indices[lines == line]
        assert in_line.size == 16
        assert np.unique(in_line & ~varying).size == 1


def test_cells_in_the_middle_come_first_then_the_last_of_the_pattern() -> None:
    assert line_order((0, 1, 2, 3, 4, 5)) == [5, 4, 3, 2, 1, 0]
    assert line_order((4, 5, 6, 7, 8, 9)) == [5, 2, 1, 4, 3, 0]


@pytest.mark.parametrize("network", ["4x6", "8x6", "1x8"])
def test_lines_of_small_tiles_spread_over_the_cache(network: str) -> None:
    """Boards with tiles up to 8 in two cells, other cells empty or one tile, would fill few sets in the plain order."""
    pattern = parse_network(network, 4, 4)[0]
    values = np.array(np.meshgrid(*[[0, 1, 5, 9]] * len(pattern))).reshape(len(pattern), -1).astype(np.uint32)
    indices = sum(value << np.uint32(4 * i) for i, value in enumerate(values)).astype(np.uint32)
    parts, places = index_fields(network, 4, 4), np.zeros_like(indices)
    places_of(indices, parts["orders"][0], parts["paired"][0], parts["salts"][0], places)
    sets = np.unique(places // 16 % 2048).size
    plain = np.unique(indices // 16 % 2048).size
    assert sets > 4 * plain
