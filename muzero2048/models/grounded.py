"""The grounded model: MuZero with a reconstruction loss and a latent shaped like the board.

The latent is one vector a cell. phi is one small network over lines of cells, shared by all lines and all four
directions (the action only picks the orientation); g writes the spawned tile into its cell; what a cell holds is the
tile with the nearest embedding, trained by cross-entropy on the afterstate and on the next observation. f and psi read
the decoded (argmax) tiles through a trunk (networks/trunks.py). Value, policy and chance losses therefore stop at
the latent:
the model learns the rules from boards alone, and is not value-equivalent, which is why it has a name of its own beside
the latent model.
"""

import functools
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from jaxtyping import Array, Bool, Float, Int, UInt8

from muzero2048.game.observation import planes
from muzero2048.models.base import AfterstatePrediction, Model, Prediction
from muzero2048.muzero.config import MuZeroConfig
from muzero2048.networks.trunks import make_norm, make_trunk, value_initializers
from muzero2048.networks.value_codec import transform
from muzero2048.networks.value_tables import ValueTables

# The reward table is a sum of 10 w: Adam moves a weight by its step size only, and the table reaches to 17.
REWARD_SCALE = 10.0
DECODER_SCALE = 4.0  # embeddings of two tiles are about sqrt(2) apart: a margin of 8 nats
ALIKE_SCALE = 2.0


class Move(NamedTuple):
    """The decoded tiles around a move, from which `reward` reads its reward."""

    tiles: Int[Array, "B N"]
    moved_tiles: Int[Array, "B N"]


class GroundedModel(Model):
    """The functions over a latent float32[B, N, cell_width]."""

    grounded = True
    parts: ClassVar = {
        "representation": ("embedding",),
        "dynamics": ("successor", "line_hidden", "line_out", "potential_steps", "code_gate", "code_content"),
        "prediction": ("trunk", "norm", "policy_head", "value_head", "chance_head", "afterstate_value_head"),
        "encoder": ("encoder",),
    }

    def __init__(self, config: MuZeroConfig, rngs: nnx.Rngs):
        super().__init__(config)
        network = config.network
        dtype = jnp.dtype(network.compute_dtype)
        num_cells, width = config.rows * config.columns, network.grounded.cell_width
        self.board_shape = (config.rows, config.columns)
        length = max(self.board_shape)
        self.embedding = nnx.Embed(self.tile_levels, width, rngs=rngs)
        self.successor = nnx.Linear(width, width, rngs=rngs)
        relations = length + length * (length - 1) // 2
        self.line_hidden = nnx.Linear(relations, network.grounded.line_width, dtype=dtype, rngs=rngs)
        self.line_out = nnx.Linear(network.grounded.line_width, length * 2 * length, dtype=dtype, rngs=rngs)
        self.potential_steps = nnx.Param(jnp.zeros(self.tile_levels))
        # The gates begin nearly closed: half-open ones would garble every cell of the state.
        self.code_gate = nnx.Linear(self.codes, num_cells, bias_init=nnx.initializers.constant(-3.0), rngs=rngs)
        self.code_content = nnx.Linear(self.codes, width, rngs=rngs)
        if not self.oracle:
            self.encoder = nnx.Linear(num_cells * self.tile_levels, self.codes, rngs=rngs)
        self.trunk = make_trunk(network, self.board_shape, rngs)
        self.norm = make_norm(network.width, network, rngs)
        if network.value_tables.shapes:
            initial = config.value.to_centre(jnp.float32(config.optimistic_value))
            self.value_tables = ValueTables(
                network.value_tables.shapes, network.value_tables.bits, self.board_shape, initial
            )
        features = network.width * (num_cells if network.convolutional else 1)
        bins, initializers = config.value.bins, value_initializers(config.value, config.optimistic_value)
        self.policy_head = nnx.Linear(features, 4, rngs=rngs)
        self.value_head = nnx.Linear(features, bins, rngs=rngs, **initializers)
        self.chance_head = nnx.Linear(features, self.codes, rngs=rngs)
        if self.value_tables is None:
            self.afterstate_value_head = nnx.Linear(features, bins, rngs=rngs, **initializers)

    def representation(self, cells: UInt8[Array, "B N"]) -> Float[Array, "B N D"]:
        """h: each cell by itself."""
        return self.embedding(jnp.minimum(cells, self.tile_levels - 1).astype(jnp.int32))

    def decode(self, latent: Float[Array, "B N D"]) -> Float[Array, "B N tile_levels"]:
        """Logits of the tile in each cell: the nearer its embedding, -|x - e_k|^2 up to a constant.

        So h is decoded right from the start, tiles never seen too. A decoder of its own has to meet a tile first, and
        left the search blind to the largest ones, on which the game turns.
        """
        table = self.embedding.embedding[...]
        return DECODER_SCALE * (2.0 * latent @ table.T - jnp.sum(table**2, axis=-1)[None, None])

    def prediction(self, state: Float[Array, "B N D"]) -> Prediction:
        """F: heads on the trunk over the decoded tiles."""
        tiles = self._tiles(state)
        x = self._features(tiles)
        value_logits = self.value_head(x)
        if self.value_tables is not None:
            value_logits += self.codec.logits_near(self._centre(tiles))
        return Prediction(self.policy_head(x), value_logits)

    def afterstate_dynamics(
        self, state: Float[Array, "B N D"], action: Int[Array, "B"]
    ) -> tuple[Float[Array, "B N D"], Move]:
        """Phi: the line network on the lines that the action slides along."""
        batch, _, width = state.shape
        all_lines = _lines(*self.board_shape)
        _, num_lines, length = all_lines.shape
        padded = jnp.pad(state, ((0, 0), (0, 1), (0, 0)))  # cell N: beyond the end of a short line
        cells = jnp.asarray(all_lines.reshape(4, -1))[action]
        lines = jnp.take_along_axis(padded, cells[..., None], axis=1).reshape(batch, num_lines, length, width)
        slid = self._slide(lines).reshape(batch, num_lines * length, width)
        places = jnp.asarray(_places(*self.board_shape))[action]
        afterstate = jnp.take_along_axis(slid, places[..., None], axis=1)
        return afterstate, Move(self._tiles(state), self._tiles(afterstate))

    def _slide(self, lines: Float[Array, "B L length D"]) -> Float[Array, "B L length D"]:
        """Each cell of the slid line as a mixture of the line's cells, and of their successors.

        The weights come from relations alone: which cells are alike, and which are empty. What holds for two 4s then
        holds for two tiles never seen before, but for the name of their successor.
        """
        length = lines.shape[2]
        empty = jnp.broadcast_to(self.embedding.embedding[0], lines.shape)
        pairs = np.triu_indices(length, 1)
        alike = _alike(lines[:, :, pairs[0]], lines[:, :, pairs[1]])
        relations = jnp.concatenate([_alike(lines, empty), alike], axis=-1)
        logits = self.line_out(nnx.relu(self.line_hidden(relations))).astype(jnp.float32)
        weights = jax.nn.softmax(logits.reshape(*logits.shape[:2], length, 2 * length), axis=-1)
        return weights @ jnp.concatenate([lines, self.successor(lines)], axis=2)

    def afterstate_prediction(self, afterstate: Float[Array, "B N D"]) -> AfterstatePrediction:
        """Psi: heads on the same trunk as f."""
        tiles = self._tiles(afterstate)
        x = self._features(tiles)
        if self.value_tables is None:
            return AfterstatePrediction(self.chance_head(x), self.afterstate_value_head(x))
        return AfterstatePrediction(self.chance_head(x), self.codec.logits_near(self._centre(tiles)))

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

    def _features(self, tiles: Int[Array, "B N"]) -> Float[Array, "B F"]:
        x = self.trunk(tiles).astype(jnp.float32)
        return nnx.relu(self.norm(x)).reshape(len(x), -1)

    def _centre(self, tiles: Int[Array, "B N"]) -> Float[Array, "B"]:
        """The sum of the value tables, which learn apart (muzero/train_step.py)."""
        assert self.value_tables is not None
        return jax.lax.stop_gradient(self.value_tables(tiles))

    def _tiles(self, latent: Float[Array, "B N D"]) -> Int[Array, "B N"]:
        return jnp.argmax(jax.lax.stop_gradient(self.decode(latent)), axis=-1)


def _alike(x: Float[Array, "*B D"], y: Float[Array, "*B D"]) -> Float[Array, "*B"]:
    """1 where two cells are the same, near 0 where their embeddings, about one unit long, differ."""
    return jnp.exp(-ALIKE_SCALE * jnp.sum((x - y) ** 2, axis=-1))


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
