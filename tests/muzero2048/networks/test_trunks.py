"""Tests of the trunks and their layers: shapes, precision, norms and convolutions by hand."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from muzero2048.networks.config import NetworkConfig
from muzero2048.networks.trunks import make_norm, make_trunk
from tests.settings import configured

SMALL = configured(NetworkConfig, width=8, blocks=2, tile_levels=6, tuple_trunk={"width": 2})
TRUNKS = ("residual_mlp", "se_resnet", "tuples", "cnn_2x2", "cnn_3x3")


@pytest.mark.parametrize("trunk", TRUNKS)
def test_features_and_gradients_in_both_precisions(trunk: str, rng: np.random.Generator) -> None:
    cells = jnp.asarray(rng.integers(0, 6, (32, 9)), jnp.uint8)
    wide = dataclasses.replace(SMALL, trunk=trunk, width=32)
    weights = jnp.asarray(rng.normal(size=(32, 3, 3, 32) if trunk == "se_resnet" else (32, 32)))

    def gradient(dtype: str) -> tuple[np.ndarray, np.ndarray]:
        network = dataclasses.replace(wide, compute_dtype=dtype)
        graphdef, params = nnx.split(make_trunk(network, (3, 3), nnx.Rngs(0)))

        def weighted(params: nnx.State) -> tuple[jax.Array, jax.Array]:
            found = nnx.merge(graphdef, params)(cells)
            assert found.dtype == dtype
            return jnp.sum(weights * found.astype(jnp.float32)), found.astype(jnp.float32)

        gradients, found = jax.jit(jax.grad(weighted, has_aux=True))(params)
        leaves = jax.tree.leaves(gradients)
        assert {leaf.dtype for leaf in leaves} == {jnp.dtype("float32")}
        assert len(np.unique(np.asarray(found).reshape(32, -1).round(5), axis=0)) == 32
        return np.asarray(found).ravel(), np.concatenate([np.asarray(leaf).ravel() for leaf in leaves])

    # Gradients differ more than features: rounding moves some inputs of a relu to the other side of 0.
    for exact, rounded, distance in zip(gradient("float32"), gradient("bfloat16"), (0.02, 0.15), strict=True):
        assert np.isfinite(rounded).all()
        assert 0 < np.linalg.norm(rounded - exact) < distance * np.linalg.norm(exact)


def test_norms_by_hand() -> None:
    x = jnp.array([[1.0, 2.0, 3.0, 6.0]])
    network = dataclasses.replace(SMALL, width=4)
    layer = make_norm(4, network, nnx.Rngs(0))(x)
    np.testing.assert_allclose(layer, (np.array(x) - 3.0) / np.sqrt(3.5), rtol=1e-4)  # mean 3, variance 14 / 4
    rms = make_norm(4, dataclasses.replace(network, norm="rms"), nnx.Rngs(0))(x)
    np.testing.assert_allclose(rms, np.array(x) / np.sqrt(12.5), rtol=1e-4)  # mean square 50 / 4


@pytest.mark.parametrize("trunk", ["cnn_2x2", "cnn_3x3"])
def test_convolutions_by_hand(trunk: str) -> None:
    """Compute the whole network in numpy: convolutions over the one-hot planes with relu, then one linear layer."""
    size, count = (2, 2) if trunk == "cnn_2x2" else (3, 3)
    network = dataclasses.replace(SMALL, trunk=trunk, width=3)
    model = make_trunk(network, (3, 3), nnx.Rngs(1))
    cells = np.array([0, 1, 2, 3, 4, 5, 1, 0, 2])
    x = np.eye(6)[cells].reshape(3, 3, 6)
    for convolution in model.convolutions:
        kernel, bias = np.asarray(convolution.kernel[...]), np.asarray(convolution.bias[...])
        if size == 3:
            x = np.pad(x, ((1, 1), (1, 1), (0, 0)))
        places = [
            [
                np.einsum("ijc,ijco->o", x[r : r + size, c : c + size], kernel) + bias
                for c in range(x.shape[1] - size + 1)
            ]
            for r in range(x.shape[0] - size + 1)
        ]
        x = np.maximum(np.array(places), 0.0)
    assert len(model.convolutions) == count
    expected = x.ravel() @ np.asarray(model.layer.kernel[...]) + np.asarray(model.layer.bias[...])
    found = model(jnp.asarray(cells[None], jnp.uint8))[0]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
