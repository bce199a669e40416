"""The model of cells: value-equivalent MuZero whose latent state keeps the cells of the board apart.

The latent is one vector per cell, normalised.

    h        the embedding of the tile of each cell
    phi      one network on lines of cells, shared by all lines and all four actions (network.cells.shared_lines); the
             action selects the orientation of the lines. The reward is read from its hidden units, summed over lines
    g        one network on the cells, shared by all cells; a code writes a vector of its own into every cell
             (code_input: dense), or one of C / N vectors into one cell (code_input: cell)
    f, psi   heads on one trunk that reads rows, columns, squares and rectangles of the latent (network.cells.shapes);
             one layer, or two, reads all rows and columns, another all squares, another all rectangles
    e        reads the predicted afterstate (without gradient) and h(o_{t+1})

In a game whose observations have more than the cells (hint and bag of Threes!) the latent has one vector more, the
context: h embeds what is no cell; phi leaves it; g changes it by a vector of the code, too; rewards, the network of a
cell in g, and the trunk read it. A code is then one of C / N ways of changing one cell and the context.

What the form knows about a game is its geometry: the board has cells, a move acts on lines, and the same way on all of
them. It knows no rule: all functions are learned by value equivalence and a consistency loss on the latent
(losses.consistency). There is no reconstruction and no true afterstate, in contrast to the grounded model.
"""

import itertools
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float, Int, UInt8

from muzero2048.models.base import FIRST_REWARD, AfterstatePrediction, Model, Prediction, cosine_distance
from muzero2048.models.chance_encoders import Observed
from muzero2048.muzero.config import MuZeroConfig
from muzero2048.networks.board_lines import (
    from_lines,
    look_up,
    placed_cells,
    placed_products,
    placements,
    to_lines,
    with_context,
    with_products,
)
from muzero2048.networks.trunks import Head, MLPBlock, make_norm, planes, value_initializers

ENCODER_WIDTH, REWARD_WIDTH = 64, 128  # hidden units
EXPLAINED = 0.5  # a vector with a smaller distance explains a chance event
STATE, AFTERSTATE = 0, 1


def num_features(cells: int, width: int) -> int:
    """Return the number of features that `with_products` makes of the vectors of some cells."""
    return cells * width + cells * (cells - 1) // 2


class LinearOfPlaces(nnx.Linear):
    """A linear layer on the vectors of all places of a batch, which are the rows of one matrix.

    With the axis of places apart XLA would copy the gradient, transposed, before the product for the kernel's gradient.
    """

    def __call__(self, inputs: Float[Array, "B P F"], out_sharding: Any = None) -> Float[Array, "B P G"]:
        """Compute the vectors of all places."""
        rows = super().__call__(inputs.reshape(-1, inputs.shape[-1]), out_sharding)
        return rows.reshape(*inputs.shape[:-1], -1)


class CellsTrunk(nnx.Module):
    """Hidden units for each placement of some shapes, then a layer over all of them and residual blocks.

    x_p = W_s [cells of p, their products] for a placement p of the shape s; with tuple_layers = 2, W'_s relu(norm(x_p))
    is added. The layer over all placements reads relu(x).
    """

    def __init__(self, config: MuZeroConfig, rngs: nnx.Rngs):
        network, self.board_shape = config.board_network, (config.rows, config.columns)
        self.num_cells = config.rows * config.columns
        dtype, cells = jnp.dtype(network.compute_dtype), network.cells
        width, placed = cells.tuple_width, {s: placed_cells(self.board_shape, s) for s in cells.shapes}
        self.shapes = tuple(shape for shape in cells.shapes if len(placed[shape]))
        self.products = cells.tuple_products
        for shape in self.shapes:  # self.lines and so on: names of arrays in checkpoints
            length = placed[shape].shape[1]
            inputs = num_features(length, cells.cell_width) if self.products else length * cells.cell_width
            setattr(self, shape, LinearOfPlaces(inputs, width, dtype=dtype, rngs=rngs))
        second = self.shapes if cells.tuple_layers == 2 else ()
        self.norms = nnx.List([make_norm(width, network, rngs) for _ in second])
        self.second = nnx.List([LinearOfPlaces(width, width, dtype=dtype, rngs=rngs) for _ in second])
        places = sum(len(placed[shape]) for shape in self.shapes)
        context = cells.cell_width if config.more_inputs else 0
        self.mix = nnx.Linear(places * width + context, network.width, dtype=dtype, rngs=rngs)
        self.kind = nnx.Param(jnp.zeros((2, network.width)))
        self.blocks = nnx.List([MLPBlock(network, rngs) for _ in range(network.blocks)])

    def __call__(self, latent: Float[Array, "B M D"], kind: int) -> Float[Array, "B width"]:
        """Compute features of states (kind 0) or afterstates (kind 1)."""
        latent, context = latent[:, : self.num_cells], latent[:, self.num_cells :]
        inputs = [placements(latent, self.board_shape, shape) for shape in self.shapes]
        inputs = [x.reshape(*x.shape[:2], -1) for x in inputs]
        if self.products:
            products = placed_products(latent, self.board_shape, self.shapes)
            inputs = [jnp.concatenate(pair, axis=-1) for pair in zip(inputs, products, strict=True)]
        hidden = [getattr(self, shape)(x) for shape, x in zip(self.shapes, inputs, strict=True)]
        for i, (norm, linear) in enumerate(zip(self.norms, self.second, strict=True)):
            hidden[i] += linear(nnx.relu(norm(hidden[i])))
        x = nnx.relu(jnp.concatenate(hidden, axis=1)).reshape(len(latent), -1)
        x = self.mix(with_context(x, context)) + self.kind[...][kind][None]
        for block in self.blocks:
            x = block(x)
        return x


class OwnLines(nnx.Module):
    """A linear layer for each line l of each action a, y_l = W_{a,l} x_l + b_{a,l}."""

    def __init__(self, inputs: int, outputs: int, lines: int, dtype: jnp.dtype, rngs: nnx.Rngs):
        init = jax.nn.initializers.lecun_normal(batch_axis=(0, 1))
        self.kernel = nnx.Param(init(rngs.params(), (4, lines, inputs, outputs)))
        self.bias = nnx.Param(jnp.zeros((4, lines, outputs)))
        self.dtype = dtype

    def __call__(self, lines: Float[Array, "B L F"], action: Int[Array, "B"]) -> Float[Array, "B L G"]:
        """Compute the lines of each board's action; those of the other three are computed and dropped."""
        kernel = self.kernel[...].astype(self.dtype)
        of_all = jnp.einsum("blf,alfg->balg", lines.astype(self.dtype), kernel)
        return of_all[jnp.arange(len(lines)), action] + self.bias[...].astype(self.dtype)[action]


class CellsModel(Model):
    """The functions on a latent float32[B, M, cell_width], with M = N, or N + 1 in a game with a context."""

    parts: ClassVar = {
        "representation": ("embedding", "context_embedding"),
        "dynamics": (
            "line_hidden", "line_out", "norm", "reward_hidden", "reward_head", "code_vectors", "g_hidden", "g_out",
            "context_vectors", "context_hidden", "context_out", "predictor",
        ),
        "prediction": ("trunk", "policy_head", "value_head", "chance_head", "afterstate_value_head"),
        "encoder": ("encoder",),
    }  # fmt: skip

    def __init__(self, config: MuZeroConfig, rngs: nnx.Rngs):
        super().__init__(config)
        network, num_cells = config.board_network, config.rows * config.columns
        dtype = jnp.dtype(network.compute_dtype)
        width, line_width = network.cells.cell_width, network.cells.line_width
        self.board_shape, self.num_cells = (config.rows, config.columns), num_cells
        length = max(self.board_shape)
        self.embedding = nnx.Embed(self.tile_levels, width, rngs=rngs)
        context = width if config.more_inputs else 0
        self.norm = make_norm(width, network, rngs)
        self.shared_lines, self.line_products = network.cells.shared_lines, network.cells.line_products
        sizes = num_features(length, width) if self.line_products else length * width, line_width, length * width
        if self.shared_lines:
            layers = [LinearOfPlaces(*ends, dtype=dtype, rngs=rngs) for ends in itertools.pairwise(sizes)]
        else:
            layers = [OwnLines(*ends, length, dtype, rngs) for ends in itertools.pairwise(sizes)]
        self.line_hidden, self.line_out = layers
        self.reward_hidden = nnx.Linear(line_width + context, REWARD_WIDTH, rngs=rngs)
        self.reward_head = nnx.Linear(
            REWARD_WIDTH, self.reward_codec.bins, rngs=rngs, **value_initializers(self.reward_codec, FIRST_REWARD)
        )
        self.by_cell = network.cells.code_input == "cell"
        self.kinds = self.codes // num_cells
        vectors = (self.kinds, width) if self.by_cell else (self.codes, num_cells * width)
        self.code_vectors = nnx.Param(jax.random.normal(rngs.params(), vectors) * 0.5)
        self.g_hidden = LinearOfPlaces(2 * width + context, 2 * width, dtype=dtype, rngs=rngs)
        self.g_out = LinearOfPlaces(2 * width, width, dtype=dtype, rngs=rngs)
        if context:
            self.context_embedding = nnx.Linear(config.more_inputs * self.tile_levels, width, rngs=rngs)
            vectors = (self.kinds if self.by_cell else self.codes, width)
            self.context_vectors = nnx.Param(jax.random.normal(rngs.params(), vectors) * 0.5)
            self.context_hidden = nnx.Linear(2 * width, 4 * width, dtype=dtype, rngs=rngs)
            self.context_out = nnx.Linear(4 * width, width, dtype=dtype, rngs=rngs)
        self.trunk = CellsTrunk(config, rngs)
        bins, initializers = config.value.bins, value_initializers(config.value, config.optimistic_value)
        self.policy_head = Head(network, 1, 4, rngs)
        self.value_head = Head(network, 1, bins, rngs, **initializers)
        self.chance_head = Head(network, 1, self.codes, rngs)
        self.afterstate_value_head = Head(network, 1, bins, rngs, **initializers)
        if self.chance_encoder.has_network:
            places, outputs = (1, self.kinds) if self.by_cell else (num_cells, self.codes)
            features = (places + (context > 0)) * num_features(2, width)
            self.encoder = nnx.Sequential(
                nnx.Linear(features, ENCODER_WIDTH, rngs=rngs),
                nnx.relu,
                nnx.Linear(ENCODER_WIDTH, outputs, rngs=rngs),
            )
        self.farthest_cell = network.cells.farthest_cell
        if config.losses.consistency > 0:
            self.predictor = nnx.Sequential(
                LinearOfPlaces(width, width, rngs=rngs), nnx.relu, LinearOfPlaces(width, width, rngs=rngs)
            )

    def representation(self, cells: UInt8[Array, "B O"]) -> Float[Array, "B M D"]:
        """h: embed the tile of each cell, and what is no cell."""
        tiles = jnp.minimum(cells[:, : self.num_cells], self.tile_levels - 1).astype(jnp.int32)
        vectors = look_up(self.embedding.embedding[...], tiles)
        if cells.shape[1] > self.num_cells:
            others = planes(cells[:, self.num_cells :], self.tile_levels).reshape(len(cells), -1)
            vectors = jnp.concatenate([vectors, self.context_embedding(others)[:, None]], axis=1)
        return self.norm(vectors)

    def prediction(self, state: Float[Array, "B M D"]) -> Prediction:
        """f: apply the trunk and two heads."""
        x = self.trunk(state, STATE)
        return Prediction(self.policy_head(x), self.value_head(x))

    def afterstate_dynamics(
        self, state: Float[Array, "B M D"], action: Int[Array, "B"]
    ) -> tuple[Float[Array, "B M D"], Float[Array, "B bins"]]:
        """phi: apply the line network to the lines along which the action slides; second output: reward logits."""
        state, context = self._split(state)
        lines = to_lines(state, action, self.board_shape)
        seen = with_products(lines) if self.line_products else lines.reshape(*lines.shape[:2], -1)
        which = () if self.shared_lines else (action,)
        hidden = nnx.relu(self.line_hidden(seen, *which))
        change = self.line_out(hidden, *which).reshape(lines.shape)
        afterstate = self.norm(from_lines(lines + change, action, self.board_shape).astype(jnp.float32))
        gained = nnx.relu(self.reward_hidden(with_context(hidden.sum(axis=1).astype(jnp.float32), context)))
        return self._join(afterstate, context), self.reward_head(gained)

    def _split(self, latent: Float[Array, "B M D"]) -> tuple[Float[Array, "B N D"], Float[Array, "B m D"]]:
        """Return the vectors of the cells, and the context."""
        return latent[:, : self.num_cells], latent[:, self.num_cells :]

    def _join(self, cells: Float[Array, "B N D"], context: Float[Array, "B m D"]) -> Float[Array, "B M D"]:
        return jnp.concatenate([cells, context], axis=1) if context.shape[1] else cells

    def afterstate_prediction(self, afterstate: Float[Array, "B M D"]) -> AfterstatePrediction:
        """psi: apply the trunk and two other heads."""
        x = self.trunk(afterstate, AFTERSTATE)
        return AfterstatePrediction(self.chance_head(x), self.afterstate_value_head(x))

    def dynamics(self, afterstate: Float[Array, "B M D"], code: Float[Array, "B C"]) -> Float[Array, "B M D"]:
        """g: add what a network of each cell and the code's vector there computes, and to the context likewise."""
        cells, context = self._split(afterstate)
        if self.by_cell:
            ways = code.reshape(len(code), self.num_cells, self.kinds)
            written, way = ways @ self.code_vectors[...], ways.sum(axis=1)
        else:
            written, way = (code @ self.code_vectors[...]).reshape(cells.shape), code
        following = self._write(cells, written, context)
        if context.shape[1] == 0:
            return following
        return self._join(following, self._write_context(context, way @ self.context_vectors[...]))

    def _write(
        self, afterstate: Float[Array, "B N D"], written: Float[Array, "B N D"], context: Float[Array, "B m D"]
    ) -> Float[Array, "B N D"]:
        seen = with_context(jnp.concatenate([afterstate, written], axis=-1), context)
        hidden = nnx.relu(self.g_hidden(seen))
        return self.norm((afterstate + self.g_out(hidden)).astype(jnp.float32))

    def _write_context(self, context: Float[Array, "B 1 D"], written: Float[Array, "B D"]) -> Float[Array, "B 1 D"]:
        hidden = nnx.relu(self.context_hidden(jnp.concatenate([context, written[:, None]], axis=-1)))
        return self.norm((context + self.context_out(hidden)).astype(jnp.float32))

    def _surprise(
        self, afterstate: Float[Array, "B M D"], true: Float[Array, "B M D"], turn: Int[Array, "B"]
    ) -> Float[Array, "B C"]:
        """Score the codes: the cell where h(o_{t+1}) is farthest from the afterstate, then the vector that fits best.

        The cell does not depend on what g has learned. Once phi predicts what the move does, it is the cell of the
        chance event; a choice by the result of g alone (the nearest code) settles on codes that describe errors of phi.
        Events that no vector explains are shared among the vectors: `turn` names one. Otherwise the vector that
        explains the most frequent tile would be the least bad one for all tiles, and the others would never be learned.

        With a context the misfit is the larger one of those of the cell and of the context.
        """
        (afterstate, context), (true, true_context) = self._split(afterstate), self._split(true)
        cell = jnp.argmax(self._distances(afterstate, true), axis=-1)
        place, target = (jnp.take_along_axis(x, cell[:, None, None], axis=1) for x in (afterstate, true))
        written = [
            self._distances(self._write(place, jnp.broadcast_to(vector[None, None], place.shape), context), target)
            for vector in self.code_vectors[...]
        ]
        misfit = jnp.concatenate(written, axis=-1)
        if context.shape[1]:
            followed = [
                self._write_context(context, jnp.broadcast_to(vector[None], context[:, 0].shape))
                for vector in self.context_vectors[...]
            ]
            in_context = [self._distances(following, true_context) for following in followed]
            misfit = jnp.maximum(misfit, jnp.concatenate(in_context, axis=-1))
        unexplained = misfit.min(axis=-1, keepdims=True) > EXPLAINED
        misfit = jnp.where(unexplained, 1.0 - jax.nn.one_hot(turn % self.kinds, self.kinds), misfit)
        is_cell = jax.nn.one_hot(cell, self.num_cells, dtype=bool)[..., None]
        return jnp.where(is_cell, -misfit[:, None], -jnp.inf).reshape(len(true), -1)

    def surprise(self, observed: Observed) -> Float[Array, "B C"]:
        """Score the codes by comparing the predicted afterstate with h(o_{t+1}); needs the predictor of consistency."""
        turn = observed.cells.sum(axis=-1, dtype=jnp.int32) + observed.action  # does not depend on the chance event
        return self._surprise(*self._afterstate_and_next(observed), turn)

    def encode(self, observed: Observed) -> Float[Array, "B C"]:
        """e: compare the predicted afterstate with h(o_{t+1}) by a network."""
        predicted, true = self._afterstate_and_next(observed)
        seen = with_products(jax.lax.stop_gradient(jnp.stack([predicted, true], axis=-2)))
        seen, context = self._split(seen)
        inputs = with_context(seen if self.by_cell else seen.reshape(len(seen), -1), context)
        return self.encoder(inputs).reshape(len(seen), -1)

    def _afterstate_and_next(self, observed: Observed) -> tuple[Float[Array, "B M D"], Float[Array, "B M D"]]:
        predicted = self.afterstate_dynamics(self.representation(observed.cells), observed.action)[0]
        return predicted, self.representation(observed.next_cells)

    def inconsistency(self, predicted: Float[Array, "B M D"], true: Float[Array, "B M D"]) -> Float[Array, "B"]:
        """Compute the mean over cells of 1 - cos(q(x), x'), with q a small network (SimSiam; EfficientZero, 4.1)."""
        return jnp.mean(self._distances(predicted, true), axis=-1)

    def afterstate_inconsistency(
        self, afterstate: Float[Array, "B M D"], true: Float[Array, "B M D"]
    ) -> Float[Array, "B"]:
        """Compute the weighted mean distance over the cells; that with the largest one has farthest_cell.

        Usually this is the cell of the spawn. With its full weight phi learns to predict the most probable spawn, such
        as a 2 in the only empty cell. The distance at that cell is then small, and the code is that of another cell.
        With no weight a cell that phi gets wrong in every sample is never learned. The context, which only chance
        changes, has none.
        """
        distances = self._distances(*(self._split(x)[0] for x in (afterstate, true)))
        others = jnp.sum(distances, axis=-1) - (1.0 - self.farthest_cell) * jnp.max(distances, axis=-1)
        return others / (self.num_cells - 1 + self.farthest_cell)

    def _distances(self, predicted: Float[Array, "B M D"], true: Float[Array, "B M D"]) -> Float[Array, "B M"]:
        assert self.predictor is not None
        return cosine_distance(self.predictor(predicted), true.astype(jnp.float32))
