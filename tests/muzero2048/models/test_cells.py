"""Tests of the model of cells: its functions against numpy, what each of them reads, and its symmetry."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx
from reference import rules

from muzero2048.models.cells import FIRST_REWARD, CellsModel, OwnLines
from muzero2048.models.chance_encoders import Observed
from muzero2048.models.make import make_model
from muzero2048.muzero.config import ChanceConfig, LossWeights, MuZeroConfig, RewardConfig
from muzero2048.networks.value_codec import inverse_transform
from tests.muzero2048.toy_model import random_model, small_config
from tests.settings import configured

SHAPES = [(2, 3), (3, 3)]
D = 4  # cell_width of small_config
KINDS = 2  # codes of each cell

Shape = tuple[int, int]


def config_of(shape: Shape, code_input: str = "cell", encoder: str = "learned", **cells: float) -> MuZeroConfig:
    config = small_config("cells", *shape, chance=ChanceConfig(encoder, KINDS * shape[0] * shape[1]))
    return dataclasses.replace(config, network=configured(config.network, cells={"code_input": code_input, **cells}))


@functools.cache
def model_of(shape: Shape, code_input: str = "cell", **cells: float) -> CellsModel:
    model = random_model(config_of(shape, code_input, **cells), seed=4)
    assert isinstance(model, CellsModel)
    return model


def boards_of(shape: Shape, count: int = 8, seed: int = 0) -> jax.Array:
    return jnp.asarray(np.random.default_rng(seed).integers(0, 9, (count, shape[0] * shape[1])), jnp.uint8)


@jax.jit
def move(model: CellsModel, cells: jax.Array, action: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return the latents of the boards, the predicted afterstates, and the logits of the reward."""
    state = model.representation(cells)
    return state, *model.afterstate_dynamics(state, action)


@jax.jit
def spawn(model: CellsModel, afterstate: jax.Array, code: jax.Array) -> jax.Array:
    return model.dynamics(afterstate, code)


@jax.jit
def encode(model: CellsModel, *transition: jax.Array) -> jax.Array:
    return model.encode(Observed(*transition, spawn_code=transition[1]))


def linear(layer: nnx.Linear | OwnLines, x: np.ndarray, *which: int) -> np.ndarray:
    """Apply a linear layer, or the one of an action and a line."""
    return x @ np.asarray(layer.kernel[...], float)[which] + np.asarray(layer.bias[...], float)[which]


def with_products(cells: np.ndarray) -> np.ndarray:
    """Return the vectors [m, D] one after another, then x_i . x_j / sqrt(D) of the pairs i < j."""
    pairs = [(i, j) for i in range(len(cells)) for j in range(i + 1, len(cells))]
    return np.concatenate([cells.ravel(), [cells[i] @ cells[j] / np.sqrt(D) for i, j in pairs]])


def normalised(model: CellsModel, x: np.ndarray) -> np.ndarray:
    """Compute the layer norm of each cell."""
    spread = np.sqrt(x.var(axis=-1, keepdims=True) + 1e-6)
    unit = (x - x.mean(axis=-1, keepdims=True)) / spread
    return unit * np.asarray(model.norm.scale[...], float) + np.asarray(model.norm.bias[...], float)


@pytest.mark.parametrize("shared_lines", [True, False])
@pytest.mark.parametrize("line_products", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
def test_moves_equal_plain_python(shape: Shape, line_products: bool, shared_lines: bool) -> None:
    """h embeds each tile; phi applies one network to every line, wall first, or one of each action and line.

    The reward reads the sum of its units.
    """
    model = model_of(shape, line_products=line_products, shared_lines=shared_lines)
    cells, action = boards_of(shape), np.arange(8) % 4
    state, after, reward = (np.asarray(x, float) for x in move(model, cells, jnp.asarray(action)))
    embedding, size = np.asarray(model.embedding.embedding[...], float), max(shape)
    np.testing.assert_allclose(state, normalised(model, embedding[np.asarray(cells)]), rtol=1e-4, atol=1e-5)
    for board in range(8):
        moved, hidden = state[board].copy(), np.zeros(8)  # 8 units on each line
        lines = rules.lines(*shape, int(action[board]))
        # A missing line counts as a line of missing cells.
        for place, line in enumerate([*lines, *[[]] * (size - len(lines))]):
            which = () if shared_lines else (action[board], place)
            vectors = np.zeros((size, D))
            vectors[: len(line)] = state[board, line]
            seen = with_products(vectors) if line_products else vectors.ravel()
            units = np.maximum(linear(model.line_hidden, seen, *which), 0.0)
            hidden += units
            moved[line] += linear(model.line_out, units, *which).reshape(size, D)[: len(line)]
        np.testing.assert_allclose(after[board], normalised(model, moved), rtol=1e-3, atol=1e-4)
        gained = np.maximum(linear(model.reward_hidden, hidden), 0.0)
        np.testing.assert_allclose(reward[board], linear(model.reward_head, gained), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("code_input", ["cell", "dense"])
@pytest.mark.parametrize("shape", SHAPES)
def test_chance_events_equal_plain_python(shape: Shape, code_input: str) -> None:
    """g applies one network to every cell and the vector that the code writes there.

    cell: code c writes vector c mod 2 into cell c // 2 alone, the cell of the spawn code c. dense: into all cells.
    """
    model, num_cells = model_of(shape, code_input), shape[0] * shape[1]
    codes = KINDS * num_cells
    after = np.random.default_rng(1).normal(size=(1, num_cells, D))
    found = np.asarray(spawn(model, jnp.tile(jnp.asarray(after, jnp.float32), (codes + 1, 1, 1)),
                             jnp.asarray(np.eye(codes + 1, codes), jnp.float32)))  # fmt: skip
    vectors = np.asarray(model.code_vectors[...], float)
    for code in range(codes + 1):  # the last one writes nothing
        written = np.zeros((num_cells, D))
        if code < codes and code_input == "cell":
            written[code // KINDS] = vectors[code % KINDS]
        elif code < codes:
            written = vectors[code].reshape(num_cells, D)
        hidden = np.maximum(linear(model.g_hidden, np.concatenate([after[0], written], axis=-1)), 0.0)
        expected = normalised(model, after[0] + linear(model.g_out, hidden))
        np.testing.assert_allclose(found[code], expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("code_input", ["cell", "dense"])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_encoder_equals_plain_python(shape: Shape, code_input: str) -> None:
    """It reads the predicted afterstate and h(o_{t+1}); with code_input: cell those of one cell give its codes.

    The true afterstate is no input: any other one gives the same bits.
    """
    model, num_cells, action = model_of(shape, code_input), shape[0] * shape[1], jnp.arange(8) % 4
    cells, after_cells, next_cells = (boards_of(shape, seed=seed) for seed in range(3))
    found = np.asarray(encode(model, cells, action, after_cells, next_cells))
    np.testing.assert_array_equal(encode(model, cells, action, next_cells, next_cells), found)
    _, predicted, _ = move(model, cells, action)
    following, _, _ = move(model, next_cells, action)
    pairs = np.stack([predicted, following], axis=-2).astype(float)
    seen = np.array([[with_products(pair) for pair in board] for board in pairs])
    first, last = model.encoder.layers[0], model.encoder.layers[-1]
    for board in range(8):
        inputs = seen[board] if code_input == "cell" else seen[board].reshape(1, -1)
        logits = linear(last, np.maximum(linear(first, inputs), 0.0))
        assert logits.shape == ((num_cells, KINDS) if code_input == "cell" else (1, KINDS * num_cells))
        np.testing.assert_allclose(found[board], logits.ravel(), rtol=1e-3, atol=1e-3)


def test_the_encoder_teaches_the_encoder_alone() -> None:
    """The gradient of the codes stops before phi and h, so the dynamics do not learn to make codes easy."""
    cells, next_cells = boards_of((2, 3)), boards_of((2, 3), seed=1)

    @jax.jit
    @nnx.grad
    def gradient(model: CellsModel) -> jax.Array:
        return jnp.sum(encode(model, cells, jnp.arange(8) % 4, cells, next_cells) ** 2)

    found = gradient(model_of((2, 3)))
    for path, leaf in jax.tree.leaves_with_path(found):
        assert jnp.any(leaf) == ("encoder" in jax.tree_util.keystr(path)), path


def test_codes_by_surprise_equal_plain_python() -> None:
    """The code is that of the cell where h(o_{t+1}) is farthest from the afterstate, and of the vector that fits there.

    Where no vector comes within a distance of 0.5, the board before the move and the action decide.
    """
    config = dataclasses.replace(config_of((2, 3)), losses=LossWeights(consistency=1.0))
    config = dataclasses.replace(config, chance=ChanceConfig("surprise", 12))
    model, action = random_model(config, seed=4), jnp.arange(64) % 4
    cells, next_cells = boards_of((2, 3), 64), boards_of((2, 3), 64, seed=2)
    scores = jax.jit(CellsModel.surprise)(model, Observed(cells, action, cells, next_cells, action))
    found = np.asarray(scores).argmax(axis=-1)
    _, predicted, _ = (np.asarray(x, float) for x in move(model, cells, action))
    following = np.asarray(move(model, next_cells, action)[0], float)
    vectors = np.asarray(model.code_vectors[...], float)
    explained = 0
    for board in range(64):
        place = distance(model, predicted[board], following[board]).argmax()
        misfits = []
        for vector in vectors:
            units = linear(model.g_hidden, np.concatenate([predicted[board, place], vector]))
            written = normalised(model, predicted[board, place] + linear(model.g_out, np.maximum(units, 0.0)))
            misfits.append(distance(model, written, following[board, place]))
        turn = (int(np.asarray(cells)[board].sum()) + board) % KINDS  # action = board % 4, and KINDS is 2
        kind = turn if min(misfits) > 0.5 else int(np.argmin(misfits))
        explained += min(misfits) <= 0.5
        assert found[board] == KINDS * place + kind
    assert 5 < explained < 59  # both cases occur


def distance(model: CellsModel, predicted: np.ndarray, true: np.ndarray) -> np.ndarray:
    """Compute 1 - cos(q(x), x') of each cell, with q two layers."""
    first, last = model.predictor.layers[0], model.predictor.layers[-1]
    guess = linear(last, np.maximum(linear(first, predicted), 0.0))
    return 1.0 - (guess * true).sum(axis=-1) / np.linalg.norm(guess, axis=-1) / np.linalg.norm(true, axis=-1)


def test_states_and_afterstates_have_a_bias_of_their_own() -> None:
    """f reads the first vector of `kind`, psi the second one; both are 0 in a new model."""
    state = jnp.asarray(np.random.default_rng(1).normal(size=(3, 6, D)), jnp.float32)

    @jax.jit
    def values(model: CellsModel) -> list[jax.Array]:
        return [model.prediction(state).policy_logits, model.afterstate_prediction(state).chance_logits]

    before = values(model_of((2, 3)))
    for kind in range(2):
        model = nnx.clone(model_of((2, 3)))
        model.trunk.kind[...] = model.trunk.kind[...].at[kind].add(jnp.arange(16.0))
        changed = [not np.allclose(x, y, atol=1e-4) for x, y in zip(before, values(model), strict=True)]
        assert changed == [kind == 0, kind == 1]
    assert not make_model(config_of((2, 3)), 0).trunk.kind[...].any()


def test_a_trunk_of_two_layers_by_hand() -> None:
    """A layer on the cells of a placement and their products, a residual layer, then one layer on all placements."""
    shapes, width = ("rects", "lines", "squares"), 2
    settings = {"shapes": shapes, "tuple_width": width, "tuple_layers": 2, "tuple_products": True}
    config = config_of((3, 3))
    trunk = random_model(dataclasses.replace(config, network=configured(config.network, cells=settings)), seed=4).trunk
    state = np.random.default_rng(5).normal(size=(3, 9, D)).astype(np.float32)
    places = {
        "rects": [(0, 1, 2, 3, 4, 5), (3, 4, 5, 6, 7, 8), (0, 3, 6, 1, 4, 7), (1, 4, 7, 2, 5, 8)],
        "lines": [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8)],
        "squares": [(0, 1, 3, 4), (1, 2, 4, 5), (3, 4, 6, 7), (4, 5, 7, 8)],
    }
    hidden = []
    for number, shape in enumerate(shapes):
        for place in places[shape]:
            cells = state[:, place]
            products = [
                (cells[:, i] * cells[:, j]).sum(axis=-1) / np.sqrt(D)
                for i in range(len(place))
                for j in range(i + 1, len(place))
            ]
            x = linear(getattr(trunk, shape), np.concatenate([cells.reshape(3, -1), np.stack(products, -1)], axis=-1))
            normal = np.asarray(trunk.norms[number](jnp.asarray(x)))
            hidden.append(x + linear(trunk.second[number], np.maximum(normal, 0.0)))
    x = linear(trunk.mix, np.maximum(np.concatenate(hidden, axis=-1), 0.0)) + np.asarray(trunk.kind[...][1])
    for block in trunk.blocks:
        x = np.asarray(block(jnp.asarray(x)))
    np.testing.assert_allclose(trunk(jnp.asarray(state), 1), x, rtol=1e-3, atol=1e-4)


def test_a_shape_that_does_not_fit_the_board_is_left_out() -> None:
    network = configured(config_of((2, 3)).network, cells={"shapes": ("rects", "lines")})
    for shape, kept in (((2, 3), ("rects", "lines")), ((2, 2), ("lines",))):
        model = make_model(dataclasses.replace(config_of(shape), network=network), 0)
        assert model.trunk.shapes == kept


@pytest.mark.parametrize("weight", [None, 0.5])
def test_consistency_by_hand(weight: float | None) -> None:
    """The loss is the mean over the cells of 1 - cos(q(x), x'), with q two layers on each cell.

    That of afterstates is a weighted mean: the cell of the largest distance has 0.03 of the weight of the others, or
    network.cells.farthest_cell.
    """
    cells = {} if weight is None else {"farthest_cell": weight}
    config = dataclasses.replace(config_of((2, 3), **cells), losses=LossWeights(consistency=1.0))
    model = random_model(config, seed=4)
    rng = np.random.default_rng(3)
    predicted, true = rng.normal(size=(2, 5, 6, D))
    found = model.inconsistency(jnp.asarray(predicted, jnp.float32), jnp.asarray(true, jnp.float32))
    distances = distance(model, predicted, true)
    np.testing.assert_allclose(found, distances.mean(axis=-1), rtol=1e-4)
    ordered = np.sort(distances, axis=-1)
    share = weight or 0.03
    expected = (ordered[:, :-1].sum(axis=-1) + share * ordered[:, -1]) / (5.0 + share)
    found = model.afterstate_inconsistency(jnp.asarray(predicted, jnp.float32), jnp.asarray(true, jnp.float32))
    np.testing.assert_allclose(found, expected, rtol=1e-4)
    assert model_of((2, 3)).predictor is None  # without the loss there is no predictor to learn


@pytest.mark.parametrize("reward", [RewardConfig(), RewardConfig(bins=9, h_max=12.0)], ids=["value", "own"])
def test_the_support_of_the_reward(reward: RewardConfig) -> None:
    """The head has the points of its support, 16 up to 30 for values; a new model predicts 4 points for every move."""
    model = make_model(dataclasses.replace(config_of((2, 3)), reward=reward), 0)
    bins, h_max = (reward.bins, reward.h_max) if reward.bins else (16, 30.0)
    _, _, logits = move(model, boards_of((2, 3)), jnp.arange(8) % 4)
    assert logits.shape == (8, bins)
    np.testing.assert_allclose(model.reward(logits), FIRST_REWARD, rtol=1e-3)
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
    mean = probabilities @ np.linspace(0.0, h_max, bins)
    np.testing.assert_allclose(model.reward(logits), inverse_transform(jnp.asarray(mean)), rtol=1e-4)
    # h(8) = sqrt(9) - 1 + 0.008 lies between two points, which share the weight (MuZero, appendix F).
    place = (2.0 + 0.008) / h_max * (bins - 1)
    low, share = int(place), place - int(place)
    code = np.zeros(bins)
    code[low], code[low + 1] = 1.0 - share, share
    expected = -np.log(probabilities) @ code
    np.testing.assert_allclose(model.reward_loss(logits, jnp.full(8, 8.0)), expected, rtol=1e-3)


def test_an_oracle_needs_no_encoder() -> None:
    assert not hasattr(make_model(config_of((2, 3), encoder="oracle"), 0), "encoder")
