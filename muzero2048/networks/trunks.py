"""Trunks (networks from the tiles of a board to features), and the residual towers of latent dynamics.

    residual_mlp  pre-activation residual blocks of fully connected layers (Stochastic MuZero, ICLR 2022, appendix C)
    se_resnet     3x3 convolutions with squeeze-and-excitation (Guei 2023, sec. 4.4.3)
    tuples        table entries of tuples of cells, together with planes, then layers (networks/tuple_embedding.py)
    cnn_2x2       two 2x2 convolutions without padding, then one layer (Guei 2023, sec. 4.4.2, fig. 20)
    cnn_3x3       three 3x3 convolutions, then one layer (same place)

All normalise by layer or by root mean square, because the value of a board must not depend on the other boards of the
batch. Layers compute in `compute_dtype`; their parameters and all inputs of heads are float32. The output of a trunk is
not activated: its readers begin with relu(norm(x)).

An observation has `O` bytes: the tiles of N cells and, in a game with a hint, `more` = O - N bytes of hint and bag. The
planes of these are inputs of every layer that reads planes: of a convolution, at every place of the board.
"""

import math
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float, Integer, PRNGKeyArray

from muzero2048.networks.board_lines import with_context
from muzero2048.networks.config import NetworkConfig
from muzero2048.networks.tuple_embedding import Tiles, TupleFeatures
from muzero2048.networks.value_codec import ScalarCodec, ValueCodec


def planes(cells: Integer[Array, "*B O"], tile_levels: int) -> Float[Array, "*B O tile_levels"]:
    """Return one-hot planes of the N cells: plane k marks the tiles of level k, plane 0 the empty cells.

    Higher levels are marked on the last plane. With 18 planes these are tiles above 131072, which cannot occur on 4x4.
    """
    return jax.nn.one_hot(jnp.minimum(cells, tile_levels - 1), tile_levels)


def by_place(seen: Float[Array, "B O D"], places: tuple[int, ...]) -> Float[Array, "B *S features"]:
    """Return the planes of observations on one axis, or of the cells at their places with all others at each place."""
    if not places:
        return seen.reshape(len(seen), -1)
    cells = seen[:, : math.prod(places)].reshape(len(seen), *places, -1)
    return with_context(cells, seen[:, math.prod(places) :])


def inputs_by_place(places: tuple[int, ...], num_cells: int, more: int, planes: int) -> int:
    """Return the number of features of `by_place` at each place, or in all if there are no places."""
    return planes * ((1 if places else num_cells) + more)


def make_norm(features: int, network: NetworkConfig, rngs: nnx.Rngs, dtype: Any = None) -> nnx.LayerNorm | nnx.RMSNorm:
    """Make the normalisation that `network.norm` names, over the last axis.

    `dtype` is the type of the arithmetic; None: that of input and parameters.
    """
    kind = nnx.LayerNorm if network.norm == "layer" else nnx.RMSNorm
    return kind(features, dtype=dtype, rngs=rngs)


class MLPBlock(nnx.Module):
    """x + W2 relu(norm(W1 relu(norm(x))))."""

    def __init__(self, network: NetworkConfig, rngs: nnx.Rngs):
        dtype, width = jnp.dtype(network.compute_dtype), network.width
        self.norm1, self.norm2 = (make_norm(width, network, rngs, dtype) for _ in range(2))
        self.linear1, self.linear2 = (nnx.Linear(width, width, dtype=dtype, rngs=rngs) for _ in range(2))

    def __call__(self, x: Float[Array, "B width"]) -> Float[Array, "B width"]:
        """Apply the block."""
        y = self.linear1(nnx.relu(self.norm1(x)))
        return x + self.linear2(nnx.relu(self.norm2(y)))


class SEBlock(nnx.Module):
    """Pre-activation residual block of two 3x3 convolutions; squeeze-and-excitation scales its output by channel."""

    def __init__(self, network: NetworkConfig, rngs: nnx.Rngs):
        dtype, width = jnp.dtype(network.compute_dtype), network.width
        squeezed = max(1, width // 16)
        self.norm1, self.norm2 = (make_norm(width, network, rngs, dtype) for _ in range(2))
        self.conv1, self.conv2 = (nnx.Conv(width, width, (3, 3), dtype=dtype, rngs=rngs) for _ in range(2))
        self.squeeze = nnx.Linear(width, squeezed, dtype=dtype, rngs=rngs)
        self.excite = nnx.Linear(squeezed, width, dtype=dtype, rngs=rngs)

    def __call__(self, x: Float[Array, "B H W width"]) -> Float[Array, "B H W width"]:
        """Apply the block."""
        y = self.conv1(nnx.relu(self.norm1(x)))
        y = self.conv2(nnx.relu(self.norm2(y)))
        gate = nnx.sigmoid(self.excite(nnx.relu(self.squeeze(y.mean(axis=(1, 2))))))
        return x + y * gate[:, None, None, :]


class Tower(nnx.Module):
    """A stem with `width` outputs, then residual blocks; features are on the last axis."""

    def __init__(self, inputs: int, network: NetworkConfig, rngs: nnx.Rngs):
        dtype = jnp.dtype(network.compute_dtype)
        if network.convolutional:
            self.stem: nnx.Module = nnx.Conv(inputs, network.width, (3, 3), dtype=dtype, rngs=rngs)
        else:
            self.stem = nnx.Linear(inputs, network.width, dtype=dtype, rngs=rngs)
        block = SEBlock if network.convolutional else MLPBlock
        self.blocks = nnx.List([block(network, rngs) for _ in range(network.blocks)])

    def __call__(self, x: Float[Array, "B *S inputs"]) -> Float[Array, "B *S width"]:
        """Compute features of the input."""
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return x


class PlanesTrunk(nnx.Module):
    """A tower over the one-hot planes of an observation: residual_mlp and se_resnet."""

    def __init__(self, network: NetworkConfig, board_shape: tuple[int, int], rngs: nnx.Rngs, more: int):
        self.tile_levels = network.tile_levels
        self.places = board_shape if network.convolutional else ()
        inputs = inputs_by_place(self.places, math.prod(board_shape), more, network.tile_levels)
        self.tower = Tower(inputs, network, rngs)

    def __call__(self, tiles: Tiles) -> Float[Array, "B *S width"]:
        """Compute features of the boards."""
        return self.tower(by_place(planes(tiles, self.tile_levels), self.places))


class TupleTrunk(nnx.Module):
    """Table entries of tuples of cells and one-hot planes, then `blocks` layers."""

    def __init__(self, network: NetworkConfig, board_shape: tuple[int, int], rngs: nnx.Rngs, more: int):
        self.tile_levels, self.num_cells = network.tile_levels, math.prod(board_shape)
        dtype, width = jnp.dtype(network.compute_dtype), network.width
        self.entries = TupleFeatures(network.tuple_trunk.shapes, network.tuple_trunk.width, board_shape, rngs)
        inputs = self.entries.features + (self.num_cells + more) * self.tile_levels
        self.stem = nnx.Linear(inputs, width, dtype=dtype, rngs=rngs)
        others = range(network.blocks - 1)
        self.norms = nnx.List([make_norm(width, network, rngs, dtype) for _ in others])
        self.layers = nnx.List([nnx.Linear(width, width, dtype=dtype, rngs=rngs) for _ in others])

    def __call__(self, tiles: Tiles) -> Float[Array, "B width"]:
        """Compute features of the boards."""
        seen = planes(tiles, self.tile_levels).reshape(len(tiles), -1)
        x = self.stem(jnp.concatenate([self.entries(tiles[:, : self.num_cells]), seen], axis=-1))
        for norm, layer in zip(self.norms, self.layers, strict=True):
            x = layer(nnx.relu(norm(x)))
        return x


class ConvolutionalTrunk(nnx.Module):
    """Plain convolutions and one layer (the early attempt of Guei 2023, sec. 4.4.2)."""

    def __init__(self, network: NetworkConfig, board_shape: tuple[int, int], rngs: nnx.Rngs, more: int):
        self.tile_levels, self.board_shape = network.tile_levels, board_shape
        dtype, width = jnp.dtype(network.compute_dtype), network.width
        size, count, padding = (2, 2, "VALID") if network.trunk == "cnn_2x2" else (3, 3, "SAME")
        channels = [inputs_by_place(board_shape, 0, more, network.tile_levels), *[width] * count]
        self.convolutions = nnx.List(
            [nnx.Conv(channels[i], width, (size, size), padding=padding, dtype=dtype, rngs=rngs) for i in range(count)]
        )
        lost = count if padding == "VALID" else 0
        places = (board_shape[0] - lost) * (board_shape[1] - lost)
        self.layer = nnx.Linear(places * width, width, dtype=dtype, rngs=rngs)

    def __call__(self, tiles: Tiles) -> Float[Array, "B width"]:
        """Compute features of the boards."""
        x = by_place(planes(tiles, self.tile_levels), self.board_shape)
        for convolution in self.convolutions:
            x = nnx.relu(convolution(x))
        return self.layer(x.reshape(len(x), -1))


def make_trunk(network: NetworkConfig, board_shape: tuple[int, int], rngs: nnx.Rngs, more: int = 0) -> nnx.Module:
    """Make the trunk that `network.trunk` names.

    It computes features [B, width] of observations [B, O], or [B, H, W, width] for se_resnet.
    """
    if network.trunk == "tuples":
        return TupleTrunk(network, board_shape, rngs, more)
    if network.trunk in ("cnn_2x2", "cnn_3x3"):
        return ConvolutionalTrunk(network, board_shape, rngs, more)
    return PlanesTrunk(network, board_shape, rngs, more)


def value_initializers(codec: ValueCodec | ScalarCodec, value: float, outputs: int = 1) -> dict[str, Any]:
    """Make initializers for the last layer of a value head, such that all boards have the same value at first.

    With random logits a new network would predict the middle of the support, 37,000 points for a support of [0, 450]
    in units of h. Bootstrapped targets reduce this error only by a factor of gamma per move: after 10^6 moves the
    values of a latent model were still 40 times as large as the returns.

    `value` is in points; 0: the least value of the codec, which is close to 0. The last layer has `outputs` values.
    Returns keyword arguments of `nnx.Linear`.
    """

    def bias(key: PRNGKeyArray, shape: tuple[int, ...], dtype: Any) -> Array:
        return jnp.tile(codec.logits_of(value or codec.least), outputs).astype(dtype)

    return {"kernel_init": nnx.initializers.zeros_init(), "bias_init": bias}


class Head(nnx.Module):
    """relu(norm(x)), flattened, then one layer in float32."""

    def __init__(self, network: NetworkConfig, places: int, outputs: int, rngs: nnx.Rngs, **initializers: Any):
        self.norm = make_norm(network.width, network, rngs)
        self.out = nnx.Linear(network.width * places, outputs, rngs=rngs, **initializers)

    def __call__(self, x: Float[Array, "B *S width"]) -> Float[Array, "B outputs"]:
        """Compute logits."""
        x = nnx.relu(self.norm(x.astype(jnp.float32)))
        return self.out(x.reshape(len(x), -1))
