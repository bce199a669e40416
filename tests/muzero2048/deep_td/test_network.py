"""Tests of the values of the four moves against the plain rules, one move at a time, and of every trunk."""

import jax
import jax.numpy as jnp
import pytest

from muzero2048.deep_td.network import make_network
from muzero2048.game.env import Game2048
from muzero2048.networks.config import NetworkConfig
from muzero2048.networks.value_codec import ValueCodec
from tests.settings import configured

from .toy_network import METHODS, small_config

GAME = Game2048(2, 3)


@pytest.mark.parametrize("trunk", ["residual_mlp", "se_resnet", "tuples", "cnn_2x2", "cnn_3x3"])
def test_every_trunk(trunk: str) -> None:
    network = configured(NetworkConfig, trunk=trunk, blocks=1, width=16, tile_levels=8, tuple_trunk={"width": 2})
    for method, outputs in zip(METHODS, (1, 4), strict=True):
        config = small_config(method, 3, 4, network=network)
        cells = jax.ShapeDtypeStruct((5, 12), jnp.uint8)
        logits = jax.eval_shape(lambda cells, config=config: make_network(config, seed=0)(cells), cells)
        assert logits.shape == (5, outputs, config.value.bins)


def test_a_scalar_is_the_transformed_value() -> None:
    """h(8) = sqrt(9) - 1 + 0.008. The Huber loss of a difference d is d^2 / 2 if d <= 1, otherwise d - 1/2."""
    codec = small_config(output="scalar").codec
    assert codec.decode(jnp.array([[2.008]])).tolist() == pytest.approx([8.0], rel=1e-5)
    assert codec.loss(jnp.array([[2.508]]), jnp.array([8.0])).tolist() == pytest.approx([0.125], rel=1e-5)
    assert codec.loss(jnp.array([[5.008]]), jnp.array([8.0])).tolist() == pytest.approx([2.5], rel=1e-5)
    assert not codec.saturated(jnp.array([1e9])).any()
    assert small_config(value=ValueCodec(16, 14.0)).codec == ValueCodec(16, 14.0)
