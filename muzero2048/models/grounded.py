"""The grounded model: MuZero with a reconstruction loss and a latent shaped like the board.

The latent is one vector per cell.

    h        the embedding of the tile of each cell
    phi      one small network on lines of cells, shared by all lines and all four directions; the action selects the
             orientation of the lines
    g        writes the spawned tile into its cell
    decoder  the tile with the nearest embedding, trained by cross-entropy on the afterstate and on the next observation
    f, psi   heads on a trunk (networks/trunks.py) that reads the decoded (argmax) tiles

Value, policy and chance losses therefore stop at the latent. The model learns the rules from boards only; it is not
value-equivalent, and for that reason has its own name.
"""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from jaxtyping import Array, Bool, Float, Int, UInt8

from muzero2048.models.base import AfterstatePrediction, Model, Prediction
from muzero2048.models.chance_encoders import Observed
from muzero2048.muzero.config import MuZeroConfig
from muzero2048.networks.board_lines import from_lines, look_up, to_lines
from muzero2048.networks.trunks import make_norm, make_trunk, planes, value_initializers
from muzero2048.networks.value_codec import transform
from muzero2048.networks.value_tables import ValueTables

# The reward table is a sum of 10 w: Adam changes a weight by at most its step size, and the table has values up to 17.
REWARD_SCALE = 10.0
DECODER_SCALE = 4.0  # two embeddings are about sqrt(2) apart, which gives a margin of 8 nats
ALIKE_SCALE = 2.0


class DecodedMove(NamedTuple):
    """The decoded tiles before and after a move: the input of `reward`."""

    tiles: Int[Array, "B N"]
    moved_tiles: Int[Array, "B N"]


class GroundedModel(Model):
    """The functions on a latent float32[B, N, cell_width]."""

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
        # The gates are nearly closed at first: half-open gates would change every cell of the state.
        self.code_gate = nnx.Linear(self.codes, num_cells, bias_init=nnx.initializers.constant(-3.0), rngs=rngs)
        self.code_content = nnx.Linear(self.codes, width, rngs=rngs)
        if self.chance_encoder.has_network:
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
        # Beside tables the head begins with 0: V(s) is their sum.
        of_state = {name: nnx.initializers.zeros_init() for name in initializers} if self.value_tables else initializers
        self.value_head = nnx.Linear(features, bins, rngs=rngs, **of_state)
        self.chance_head = nnx.Linear(features, self.codes, rngs=rngs)
        if self.value_tables is None:
            self.afterstate_value_head = nnx.Linear(features, bins, rngs=rngs, **initializers)

    def representation(self, cells: UInt8[Array, "B N"]) -> Float[Array, "B N D"]:
        """h: embed each cell."""
        tiles = jnp.minimum(cells, self.tile_levels - 1).astype(jnp.int32)
        return look_up(self.embedding.embedding[...], tiles)

    def decode(self, latent: Float[Array, "B N D"]) -> Float[Array, "B N tile_levels"]:
        """Return logits of the tile in each cell: -|x - e_k|^2 up to a constant, with e_k the embeddings.

        The output of h is thus decoded correctly from the start, for all tiles. A separate decoder must see a tile
        before it can decode it; with one, the search could not represent the largest tiles, which decide the game.
        """
        table = self.embedding.embedding[...]
        return DECODER_SCALE * (2.0 * latent @ table.T - jnp.sum(table**2, axis=-1)[None, None])

    def prediction(self, state: Float[Array, "B N D"]) -> Prediction:
        """f: apply the trunk and two heads to the decoded tiles."""
        tiles = self._tiles(state)
        x = self._features(tiles)
        value_logits = self.value_head(x)
        if self.value_tables is not None:
            value_logits += self.codec.logits_near(self._centre(tiles))
        return Prediction(self.policy_head(x), value_logits)

    def afterstate_dynamics(
        self, state: Float[Array, "B N D"], action: Int[Array, "B"]
    ) -> tuple[Float[Array, "B N D"], DecodedMove]:
        """phi: apply the line network to the lines along which the action slides."""
        slid = self._slide(to_lines(state, action, self.board_shape))
        afterstate = from_lines(slid, action, self.board_shape)
        return afterstate, DecodedMove(self._tiles(state), self._tiles(afterstate))

    def _slide(self, lines: Float[Array, "B L length D"]) -> Float[Array, "B L length D"]:
        """Compute each cell of the slid line as a mixture of the line's cells and of their successors.

        The weights depend only on relations: which cells are equal, and which are empty. What is learned from two 4s
        therefore holds for all pairs of equal tiles, except for the embedding of their successor.
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
        """psi: apply the trunk of f and two other heads to the decoded tiles."""
        tiles = self._tiles(afterstate)
        x = self._features(tiles)
        if self.value_tables is None:
            return AfterstatePrediction(self.chance_head(x), self.afterstate_value_head(x))
        return AfterstatePrediction(self.chance_head(x), self.codec.logits_near(self._centre(tiles)))

    def represent_afterstate(
        self, cells: UInt8[Array, "B N"], action: Int[Array, "B"], afterstate_cells: UInt8[Array, "B N"]
    ) -> Float[Array, "B N D"]:
        """Apply h to the true afterstate: a latent represents a board, whether the player or chance moves next."""
        return self.representation(afterstate_cells)

    def dynamics(self, afterstate: Float[Array, "B N D"], code: Float[Array, "B C"]) -> Float[Array, "B N D"]:
        """g: open the gate of the cell that the code names, and write the content of the code there."""
        gate = nnx.sigmoid(self.code_gate(code))[..., None]
        return afterstate * (1.0 - gate) + self.code_content(code)[:, None, :] * gate

    def encode(self, observed: Observed) -> Float[Array, "B C"]:
        """e: apply one layer to the planes of the next board minus those of the afterstate.

        Unlike an encoder of (o_t, a, o_{t+1}) it reads only the spawn, and does not collapse to one code.
        """
        after, following = (planes(x, self.tile_levels) for x in (observed.afterstate_cells, observed.next_cells))
        change = following - after
        return self.encoder(change.reshape(len(change), -1))

    def reward(self, reward_head: DecodedMove) -> Float[Array, "B"]:
        """Return the gain of a learned potential of the board, in points; 0 if the sum of the tiles changes.

        Phi(board) = sum over tiles 2^k of 2^k u_k

        The score of 2048 is such a potential, with u_k = k - 1: a merge to 2^(k+1) gains 2^(k+1). The learned
        parameters are the steps u_k - u_{k-1}. As moves keep the sum of the tiles, one of the steps is arbitrary.
        """
        gain, keeps_sum = self._potential_gain(reward_head)
        return jnp.where(keeps_sum, gain, 0.0)

    def reward_loss(self, reward_head: DecodedMove, target: Float[Array, "B"]) -> Float[Array, "B"]:
        """Compute the Huber loss between transformed rewards; 0 for moves that change the sum of the tiles.

        True moves keep the sum. The gradient of a wrongly predicted 65536 would dominate the whole reward table.
        """
        gain, keeps_sum = self._potential_gain(reward_head)
        return jnp.where(keeps_sum, optax.huber_loss(transform(gain), transform(target)), 0.0)

    def _potential_gain(self, move: DecodedMove) -> tuple[Float[Array, "B"], Bool[Array, "B"]]:
        levels = jnp.arange(self.tile_levels)
        face = jnp.where(levels > 0, 2.0**levels, 0.0)  # numbers on the tiles: 0, 2, 4, ...
        table = face * jnp.cumsum(REWARD_SCALE * self.potential_steps[...])
        gain = jnp.sum(table[move.moved_tiles], axis=-1) - jnp.sum(table[move.tiles], axis=-1)
        return gain, jnp.sum(face[move.moved_tiles], axis=-1) == jnp.sum(face[move.tiles], axis=-1)

    def _features(self, tiles: Int[Array, "B N"]) -> Float[Array, "B F"]:
        x = self.trunk(tiles).astype(jnp.float32)
        return nnx.relu(self.norm(x)).reshape(len(x), -1)

    def _centre(self, tiles: Int[Array, "B N"]) -> Float[Array, "B"]:
        """Return the sum of the value tables, which have their own update (muzero/table_learning.py)."""
        assert self.value_tables is not None
        return jax.lax.stop_gradient(self.value_tables(tiles))

    def _tiles(self, latent: Float[Array, "B N D"]) -> Int[Array, "B N"]:
        return jnp.argmax(jax.lax.stop_gradient(self.decode(latent)), axis=-1)


def _alike(x: Float[Array, "*B D"], y: Float[Array, "*B D"]) -> Float[Array, "*B"]:
    """Return 1 for equal cells, and nearly 0 for different ones (embeddings have a length of about 1)."""
    return jnp.exp(-ALIKE_SCALE * jnp.sum((x - y) ** 2, axis=-1))
