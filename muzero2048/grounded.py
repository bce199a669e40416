"""The grounded model: MuZero with a reconstruction loss and a latent shaped like the board.

The latent is one vector a cell. phi is one small network over lines of cells, shared by all lines and all four
directions (the action only picks the orientation); g writes the spawned tile into its cell; a linear decoder of each
cell is trained by cross-entropy on the afterstate and on the next observation. f and psi read the decoded (argmax)
tiles through a trunk (networks.py). Value, policy and chance losses therefore stop at the latent: the model learns the
rules from boards alone, and is not value-equivalent, which is why it has a name of its own beside the latent model.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from jaxtyping import Array, Bool, Float, Int, UInt8

from muzero2048.config import MuZeroConfig
from muzero2048.model import AfterstatePrediction, Model, Prediction, value_initializers
from muzero2048.networks import make_norm, make_trunk
from muzero2048.observation import planes
from muzero2048.value_codec import transform

# The reward table is a sum of 10 w: Adam moves a weight by its step size only, and the table reaches to 17.
REWARD_SCALE = 10.0


class Move(NamedTuple):
    """The decoded tiles around a move, from which `reward` reads its reward."""

    tiles: Int[Array, "B N"]
    moved_tiles: Int[Array, "B N"]


class GroundedModel(Model):
    """The functions over a latent float32[B, N, cell_width]."""

    grounded = True

    def __init__(self, config: MuZeroConfig, rngs: nnx.Rngs):
        super().__init__(config)
        network = config.network
        dtype = jnp.dtype(network.compute_dtype)
        num_cells, width = config.rows * config.columns, network.cell_width
        self.board_shape = (config.rows, config.columns)
        length = max(self.board_shape)
        self.embedding = nnx.Embed(self.tile_levels, width, rngs=rngs)
        self.decoder = nnx.Linear(width, self.tile_levels, rngs=rngs)
        self.line_hidden = nnx.Linear(length * width, network.line_width, dtype=dtype, rngs=rngs)
        self.line_out = nnx.Linear(network.line_width, length * width, dtype=dtype, rngs=rngs)
        self.potential_steps = nnx.Param(jnp.zeros(self.tile_levels))
        # The gates begin nearly closed: half-open ones would garble every cell of the state.
        self.code_gate = nnx.Linear(self.codes, num_cells, bias_init=nnx.initializers.constant(-3.0), rngs=rngs)
        self.code_content = nnx.Linear(self.codes, width, rngs=rngs)
        if not self.oracle:
            self.encoder = nnx.Linear(num_cells * self.tile_levels, self.codes, rngs=rngs)
        self.trunk = make_trunk(network, self.board_shape, rngs)
        self.norm = make_norm(network.width, network, rngs)
        features = network.width * (num_cells if network.convolutional else 1)
        bins, initializers = config.value.bins, value_initializers(config)
        self.policy_head = nnx.Linear(features, 4, rngs=rngs)
        self.value_head = nnx.Linear(features, bins, rngs=rngs, **initializers)
        self.chance_head = nnx.Linear(features, self.codes, rngs=rngs)
        self.afterstate_value_head = nnx.Linear(features, bins, rngs=rngs, **initializers)

    def representation(self, cells: UInt8[Array, "B N"]) -> Float[Array, "B N D"]:
        """h: each cell by itself."""
        return self.embedding(jnp.minimum(cells, self.tile_levels - 1).astype(jnp.int32))

    def decode(self, latent: Float[Array, "B N D"]) -> Float[Array, "B N tile_levels"]:
        """Logits of the tile in each cell, of a state or an afterstate."""
        return self.decoder(latent)

    def prediction(self, state: Float[Array, "B N D"]) -> Prediction:
        """F: heads on the trunk over the decoded tiles."""
        x = self._features(state)
        return Prediction(self.policy_head(x), self.value_head(x))

    def afterstate_dynamics(
        self, state: Float[Array, "B N D"], action: Int[Array, "B"]
    ) -> tuple[Float[Array, "B N D"], Move]:
        """Phi: the line network on the lines that the action slides along."""
        batch, _, width = state.shape
        all_lines = _lines(*self.board_shape)
        _, num_lines, length = all_lines.shape
        padded = jnp.pad(state, ((0, 0), (0, 1), (0, 0)))  # cell N: beyond the end of a short line
        cells = jnp.asarray(all_lines.reshape(4, -1))[action]
        lines = jnp.take_along_axis(padded, cells[..., None], axis=1).reshape(batch, num_lines, length * width)
        hidden = nnx.relu(self.line_hidden(lines))
        slid = self.line_out(hidden).astype(jnp.float32).reshape(batch, num_lines * length, width)
        places = jnp.asarray(_places(*self.board_shape))[action]
        afterstate = jnp.take_along_axis(slid, places[..., None], axis=1)
        return afterstate, Move(self._tiles(state), self._tiles(afterstate))

    def afterstate_prediction(self, afterstate: Float[Array, "B N D"]) -> AfterstatePrediction:
        """Psi: heads on the same trunk as f."""
        x = self._features(afterstate)
        return AfterstatePrediction(self.chance_head(x), self.afterstate_value_head(x))

    def represent_afterstate(
        self, cells: UInt8[Array, "B N"], action: Int[Array, "B"], afterstate_cells: UInt8[Array, "B N"]
    ) -> Float[Array, "B N D"]:
        """H of the true afterstate: the latent of a board, whoever moves next."""
        return self.representation(afterstate_cells)

    def dynamics(self, afterstate: Float[Array, "B N D"], code: Float[Array, "B C"]) -> Float[Array, "B N D"]:
        """G: the code opens a gate on its cell and writes its content there."""
        gate = nnx.sigmoid(self.code_gate(code))[..., None]
        return afterstate * (1.0 - gate) + self.code_content(code)[:, None, :] * gate

    def encode(
        self,
        cells: UInt8[Array, "B N"],
        action: Int[Array, "B"],
        afterstate_cells: UInt8[Array, "B N"],
        next_cells: UInt8[Array, "B N"],
    ) -> Float[Array, "B C"]:
        """E: one layer over what chance changed, the planes of the next board less those of the afterstate.

        Unlike an encoder of (o_t, a, o_{t+1}) it sees nothing but the spawn, and does not collapse to one code.
        """
        change = planes(next_cells, self.tile_levels) - planes(afterstate_cells, self.tile_levels)
        return self.encoder(change.reshape(len(change), -1))

    def reward(self, reward_head: Move) -> Float[Array, "B"]:
        """The gain of a learned potential of the board, in points; 0 if the move does not keep the sum of the tiles.

        Phi(board) = sum over tiles 2^k of 2^k u_k. The score of 2048 is one, with u_k = k - 1: a merge to 2^(k+1)
        gains 2^(k+1). Only the steps of u are learned; as moves keep the sum of the tiles, one of them is free.
        """
        gain, keeps_sum = self._potential_gain(reward_head)
        return jnp.where(keeps_sum, gain, 0.0)

    def reward_loss(self, reward_head: Move, target: Float[Array, "B"]) -> Float[Array, "B"]:
        """Huber loss between transformed rewards, of the moves that keep the sum of the tiles.

        Every real move does; the phantom 65536 of a wrong one would drown the table in its gradient.
        """
        gain, keeps_sum = self._potential_gain(reward_head)
        return jnp.where(keeps_sum, optax.huber_loss(transform(gain), transform(target)), 0.0)

    def _potential_gain(self, move: Move) -> tuple[Float[Array, "B"], Bool[Array, "B"]]:
        levels = jnp.arange(self.tile_levels)
        face = jnp.where(levels > 0, 2.0**levels, 0.0)  # what is written on the tiles: 0, 2, 4, ...
        table = face * jnp.cumsum(REWARD_SCALE * self.potential_steps[...])
        gain = jnp.sum(table[move.moved_tiles], axis=-1) - jnp.sum(table[move.tiles], axis=-1)
        return gain, jnp.sum(face[move.moved_tiles], axis=-1) == jnp.sum(face[move.tiles], axis=-1)

    def _features(self, latent: Float[Array, "B N D"]) -> Float[Array, "B F"]:
        x = self.trunk(self._tiles(latent)).astype(jnp.float32)
        return nnx.relu(self.norm(x)).reshape(len(x), -1)

    def _tiles(self, latent: Float[Array, "B N D"]) -> Int[Array, "B N"]:
        return jnp.argmax(jax.lax.stop_gradient(self.decode(latent)), axis=-1)


@functools.cache
def _lines(rows: int, columns: int) -> np.ndarray:
    """Cells of the lines that each action slides along, wall first: int32[4, L, length], N beyond a short line."""
    cells = np.arange(rows * columns).reshape(rows, columns)
    size = max(rows, columns)
    padded = []
    for lines in (cells.T, cells[:, ::-1], cells.T[:, ::-1], cells):
        frame = np.full((size, size), cells.size, np.int32)
        frame[: lines.shape[0], : lines.shape[1]] = lines
        padded.append(frame)
    return np.stack(padded)


@functools.cache
def _places(rows: int, columns: int) -> np.ndarray:
    """Where each cell lies among the lines of an action: int32[4, N]."""
    lines = _lines(rows, columns).reshape(4, -1)
    return np.array([[np.flatnonzero(cells == cell)[0] for cell in range(rows * columns)] for cells in lines], np.int32)
