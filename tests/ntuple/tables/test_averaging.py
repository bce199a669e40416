import numpy as np

from ntuple.tables.averaging import BLOCK, WeightMean


def test_the_mean_of_all_weights_is_taken() -> None:
    """The weights are those of several blocks, the last of which is not full."""
    networks = np.random.default_rng(1).standard_normal((3, 2 * BLOCK + 5)).astype(np.float32)
    mean = WeightMean()
    for weights in networks:
        mean.add(weights)
    assert mean.weights is not None
    np.testing.assert_allclose(mean.weights, networks.mean(axis=0), rtol=1e-5, atol=1e-6)
