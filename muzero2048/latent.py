"""Latent models: h, phi and g are residual towers, trained by value equivalence alone, as published.

`residual_mlp` is the network of Stochastic MuZero (appendix C: pre-activation residual blocks of fully connected
layers with layer normalisation), `se_resnet` the one of Guei 2023, sec. 4.4.3 (3x3 convolutions with squeeze and
excitation). Both normalise by layer: the value of a board must not depend on its batch-mates.
"""

from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float, Int, UInt8

from muzero2048.config import MuZeroConfig
from muzero2048.model import AfterstatePrediction, Model, Prediction
from muzero2048.observation import planes

Dtype = Any


class MLPBlock(nnx.Module):
    """x + W2 relu(LN(W1 relu(LN(x))))."""

    def __init__(self, width: int, dtype: Dtype, rngs: nnx.Rngs):
        self.norm1 = nnx.LayerNorm(width, dtype=dtype, rngs=rngs)
        self.norm2 = nnx.LayerNorm(width, dtype=dtype, rngs=rngs)
        self.linear1 = nnx.Linear(width, width, dtype=dtype, rngs=rngs)
        self.linear2 = nnx.Linear(width, width, dtype=dtype, rngs=rngs)

    def __call__(self, x: Float[Array, "B width"]) -> Float[Array, "B width"]:
        """Apply the block."""
        y = self.linear1(nnx.relu(self.norm1(x)))
        return x + self.linear2(nnx.relu(self.norm2(y)))


class SEBlock(nnx.Module):
    """Pre-activation residual block of two 3x3 convolutions, its output scaled by channel (squeeze-and-excitation)."""

    def __init__(self, width: int, dtype: Dtype, rngs: nnx.Rngs):
        squeezed = max(1, width // 16)
        self.norm1 = nnx.LayerNorm(width, dtype=dtype, rngs=rngs)
        self.norm2 = nnx.LayerNorm(width, dtype=dtype, rngs=rngs)
        self.conv1 = nnx.Conv(width, width, (3, 3), dtype=dtype, rngs=rngs)
        self.conv2 = nnx.Conv(width, width, (3, 3), dtype=dtype, rngs=rngs)
        self.squeeze = nnx.Linear(width, squeezed, dtype=dtype, rngs=rngs)
        self.excite = nnx.Linear(squeezed, width, dtype=dtype, rngs=rngs)

    def __call__(self, x: Float[Array, "B H W width"]) -> Float[Array, "B H W width"]:
        """Apply the block."""
        y = self.conv1(nnx.relu(self.norm1(x)))
        y = self.conv2(nnx.relu(self.norm2(y)))
        gate = nnx.sigmoid(self.excite(nnx.relu(self.squeeze(y.mean(axis=(1, 2))))))
        return x + y * gate[:, None, None, :]


class Tower(nnx.Module):
    """A stem to `width` features, then residual blocks; features lie on the last axis."""

    def __init__(self, inputs: int, config: MuZeroConfig, rngs: nnx.Rngs):
        network, dtype = config.network, jnp.dtype(config.network.compute_dtype)
        if network.kind == "se_resnet":
            self.stem: nnx.Module = nnx.Conv(inputs, network.width, (3, 3), dtype=dtype, rngs=rngs)
            blocks: list[nnx.Module] = [SEBlock(network.width, dtype, rngs) for _ in range(network.blocks)]
        else:
            self.stem = nnx.Linear(inputs, network.width, dtype=dtype, rngs=rngs)
            blocks = [MLPBlock(network.width, dtype, rngs) for _ in range(network.blocks)]
        self.blocks = nnx.List(blocks)

    def __call__(self, x: Float[Array, "B *S inputs"]) -> Float[Array, "B *S width"]:
        """Features of the input."""
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return x


class Head(nnx.Module):
    """relu(LN(x)) flattened, then one layer in float32."""

    def __init__(self, features: int, cells: int, outputs: int, rngs: nnx.Rngs):
        self.norm = nnx.LayerNorm(features, rngs=rngs)
        self.out = nnx.Linear(features * cells, outputs, rngs=rngs)

    def __call__(self, x: Float[Array, "B *S features"]) -> Float[Array, "B outputs"]:
        """Logits."""
        x = nnx.relu(self.norm(x.astype(jnp.float32)))
        return self.out(x.reshape(len(x), -1))


class LatentModel(Model):
    """MuZero with an abstract latent state of `width` features (residual_mlp) or H x W x width (se_resnet)."""

    def __init__(self, config: MuZeroConfig, rngs: nnx.Rngs):
        super().__init__(config)
        self.board_shape = (config.rows, config.columns)
        self.convolutional = config.network.kind == "se_resnet"
        num_cells = config.rows * config.columns
        width = config.network.width
        self.h = Tower(self.tile_levels if self.convolutional else num_cells * self.tile_levels, config, rngs)
        self.phi = Tower(width + 4, config, rngs)
        self.g = Tower(width + self.codes, config, rngs)
        if not self.oracle:
            inputs = 2 * num_cells * self.tile_levels + 4
            self.encoder = nnx.Sequential(
                nnx.Linear(inputs, 128, rngs=rngs), nnx.relu, nnx.Linear(128, self.codes, rngs=rngs)
            )
        cells = num_cells if self.convolutional else 1
        bins = config.value.bins
        self.policy_head = Head(width, cells, 4, rngs)
        self.value_head = Head(width, cells, bins, rngs)
        self.chance_head = Head(width, cells, self.codes, rngs)
        self.afterstate_value_head = Head(width, cells, bins, rngs)
        self.reward_head = Head(width, cells, bins, rngs)

    def representation(self, cells: UInt8[Array, "B N"]) -> Float[Array, "B *S width"]:
        """h: the tower over the planes of the board."""
        x = planes(cells, self.tile_levels)
        return self.h(x.reshape(len(x), *(self.board_shape if self.convolutional else ()), -1))

    def prediction(self, state: Float[Array, "B *S width"]) -> Prediction:
        """F: two heads."""
        return Prediction(self.policy_head(state), self.value_head(state))

    def afterstate_dynamics(
        self, state: Float[Array, "B *S width"], action: Int[Array, "B"]
    ) -> tuple[Float[Array, "B *S width"], Float[Array, "B bins"]]:
        """Phi: the tower over the state with the action appended, and the logits of the reward."""
        afterstate = self.phi(_append(state, jax.nn.one_hot(action, 4)))
        return afterstate, self.reward_head(afterstate)

    def afterstate_prediction(self, afterstate: Float[Array, "B *S width"]) -> AfterstatePrediction:
        """Psi: two heads."""
        return AfterstatePrediction(self.chance_head(afterstate), self.afterstate_value_head(afterstate))

    def dynamics(self, afterstate: Float[Array, "B *S width"], code: Float[Array, "B C"]) -> Float[Array, "B *S width"]:
        """G: the tower over the afterstate with the code appended."""
        return self.g(_append(afterstate, code))

    def encode(
        self,
        cells: UInt8[Array, "B N"],
        action: Int[Array, "B"],
        afterstate_cells: UInt8[Array, "B N"],
        next_cells: UInt8[Array, "B N"],
    ) -> Float[Array, "B C"]:
        """The published encoder: it reads both observations and the action, not the afterstate."""
        boards = jnp.concatenate([cells, next_cells], axis=-1)
        inputs = planes(boards, self.tile_levels).reshape(len(boards), -1)
        return self.encoder(jnp.concatenate([inputs, jax.nn.one_hot(action, 4)], axis=-1))

    def reward(self, reward_head: Float[Array, "B bins"]) -> Float[Array, "B"]:
        """The decoded two-hot reward."""
        return self.codec.decode(reward_head)

    def reward_loss(self, reward_head: Float[Array, "B bins"], target: Float[Array, "B"]) -> Float[Array, "B"]:
        """Two-hot cross-entropy."""
        return self.codec.loss(reward_head, target)


def _append(x: Float[Array, "B *S width"], context: Float[Array, "B D"]) -> Float[Array, "B *S width_plus_D"]:
    """The context vector appended to the features of every place."""
    spread = context.reshape(len(x), *(1,) * (x.ndim - 2), -1)
    return jnp.concatenate([x, jnp.broadcast_to(spread, (*x.shape[:-1], spread.shape[-1])).astype(x.dtype)], axis=-1)
