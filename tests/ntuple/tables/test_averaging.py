import numpy as np
import pytest

from ntuple.tables.averaging import BLOCK, average


def test_the_mean_of_all_weights_is_taken() -> None:
    """The weights are those of several blocks, the last of which is not full."""
    networks = np.random.default_rng(1).standard_normal((3, 2 * BLOCK + 5)).astype(np.float32)
    np.testing.assert_allclose(average(iter(networks)), networks.mean(axis=0), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(average(networks[:1]), networks[0])
    with pytest.raises(ValueError, match="at least one"):
        average([])
