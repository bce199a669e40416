import numpy as np
import pytest

from ntuple.tables.layout import make_salts
from tests.ntuple.drivers import scrambled


@pytest.mark.parametrize("cells", [1, 2, 3, 4, 5])
def test_scrambling_is_a_bijection_that_keeps_lines(cells: int) -> None:
    indices = np.arange(16**cells, dtype=np.uint32)
    places = np.zeros_like(indices)
    scrambled(indices, make_salts([16**cells] * 3)[2], places)
    np.testing.assert_array_equal(np.sort(places), indices)
    np.testing.assert_array_equal(places % 16, indices % 16)
