"""Small value networks with random parameters, and small configs of both methods."""

import dataclasses
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from reference import rules

from muzero2048.deep_td.config import DeepTDConfig
from muzero2048.deep_td.network import ValueNetwork, make_network
from muzero2048.networks.config import NetworkConfig
from muzero2048.networks.value_codec import ValueCodec
from muzero2048.training.config import ReplayConfig

METHODS = ("td_afterstate", "q_learning")


def small_config(method: str = "td_afterstate", rows: int = 2, columns: int = 3, **changes: object) -> DeepTDConfig:
    """Return a config with a network and training steps as small as possible."""
    config = DeepTDConfig(
        env_steps=640,
        report_env_steps=200,
        rows=rows,
        columns=columns,
        discount=0.9,
        num_envs=16,
        chunk=8,
        network=NetworkConfig(blocks=1, width=16, tile_levels=8),
        value=ValueCodec(16, 14.0),
        replay=ReplayConfig(capacity=16 * 32, batch_size=64),
        method=method,
    )
    return dataclasses.replace(config, **changes)


def values_of(network: ValueNetwork) -> Callable[[Sequence[rules.Board]], np.ndarray]:
    """Return the function from B plain boards to the network's values [B, outputs]; it compiles once for each B."""
    values = jax.jit(network.values)
    return lambda boards: np.array(values(jnp.asarray(np.array(boards, np.uint8).reshape(len(boards), -1))))


def random_network(config: DeepTDConfig, seed: int = 0) -> ValueNetwork:
    """Return the network of the config with random parameters, large enough for values to differ."""
    rng = np.random.default_rng(seed)
    graphdef, shapes = nnx.split(nnx.eval_shape(lambda: make_network(config, seed=0)))
    return nnx.merge(graphdef, jax.tree.map(lambda x: jnp.asarray(0.5 * rng.normal(size=x.shape), x.dtype), shapes))
