"""Tests of all kinds of models: shapes, independence of the batch, chance codes, symmetry of grounded dynamics."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx
from reference import positions, rules

from muzero2048.game.symmetry import symmetries
from muzero2048.models.base import Model
from muzero2048.models.chance_encoders import Observed, straight_through_code
from muzero2048.models.grounded import REWARD_SCALE, DecodedMove, GroundedModel
from muzero2048.models.latent import LatentModel
from muzero2048.models.make import make_model
from muzero2048.networks.trunks import Tower, planes
from tests.muzero2048.toy_model import KINDS, random_model, small_config
from tests.settings import configured
from tests.slow import others_slow

B, BINS, CODES = 6, 16, 12
SOME_SLOW = others_slow(KINDS, "residual_mlp", "grounded", "cells")  # the others mix them
# A random grounded model predicts moves that change the sum of the tiles. Their reward is 0 by definition.
NO_REWARD = [(kind, name) for kind in ("grounded", "grounded_se_resnet") for name in ("reward", "reward_loss")]


@jax.jit
def outputs(model: Model, cells: jax.Array, action: jax.Array, code: jax.Array) -> dict[str, jax.Array]:
    """Compute all outputs of the model along one move."""
    state = model.representation(cells)
    afterstate, reward_head = model.afterstate_dynamics(state, action)
    next_state = model.dynamics(afterstate, code)
    behind, before, after = (
        model.afterstate_prediction(afterstate),
        model.prediction(state),
        model.prediction(next_state),
    )
    return {
        "policy": before.policy_logits,
        "value": before.value_logits,
        "afterstate_value": behind.value_logits,
        "chance": behind.chance_logits,
        "reward": model.reward(reward_head),
        "reward_loss": model.reward_loss(reward_head, jnp.full(len(cells), 8.0)),
        "next_value": after.value_logits,
    }


@functools.cache
def some_outputs(kind: str, dtype: str = "float32") -> tuple[Model, tuple[jax.Array, ...], dict[str, jax.Array]]:
    config = small_config(kind)
    config = dataclasses.replace(config, network=dataclasses.replace(config.network, compute_dtype=dtype))
    model, rng = random_model(config, seed=3), np.random.default_rng(4)
    cells = jnp.asarray(rng.integers(0, 9, (B, 6)), jnp.uint8)
    inputs = (cells, jnp.arange(B) % 4, jax.nn.one_hot(jnp.arange(B), CODES))
    return model, inputs, outputs(model, *inputs)


@pytest.mark.parametrize("kind", SOME_SLOW)
def test_shapes(kind: str) -> None:
    _, _, found = some_outputs(kind)
    expected = {"policy": (B, 4), "chance": (B, CODES), "reward": (B,), "reward_loss": (B,)}
    for name, output in found.items():
        assert output.shape == expected.get(name, (B, BINS)), name
        assert output.dtype == jnp.float32
        assert jnp.isfinite(output).all()
        if (kind, name) not in NO_REWARD:
            assert len(np.unique(np.asarray(output).round(4), axis=0)) > 1, f"{name} is the same for all boards"


@pytest.mark.parametrize("kind", SOME_SLOW)
def test_optimistic_values(kind: str) -> None:
    """A new network predicts `optimistic_value` for all boards and afterstates; its other outputs do not change."""
    config = small_config(kind)
    model, plain = make_model(dataclasses.replace(config, optimistic_value=500.0), 0), make_model(config, 0)
    _, inputs, _ = some_outputs(kind)
    found, ordinary = outputs(model, *inputs), outputs(plain, *inputs)
    for name in ("value", "afterstate_value", "next_value"):
        np.testing.assert_allclose(config.value.decode(found[name]), 500.0, rtol=1e-3)
        # By default the value is h^-1 of 1/20 of the support: h = 1.5 is 5.2 points (bisection of h in plain Python).
        np.testing.assert_allclose(config.value.decode(ordinary[name]), 5.23, atol=0.02)
    for name in ("policy", "chance", "reward"):
        np.testing.assert_array_equal(found[name], ordinary[name])


@pytest.mark.parametrize("kind", SOME_SLOW)
def test_true_afterstates(kind: str) -> None:
    """`represent_afterstate` is h(afterstate cells) in grounded models, phi(h(cells), action) in all others."""
    model, (cells, action, _), _ = some_outputs(kind)
    after_cells = cells[::-1]  # not the true afterstates: the result shows which input the model reads

    @jax.jit
    def latents() -> tuple[jax.Array, jax.Array, jax.Array]:
        moved, _ = model.afterstate_dynamics(model.representation(cells), action)
        return model.represent_afterstate(cells, action, after_cells), model.representation(after_cells), moved

    found, of_cells, of_move = latents()
    np.testing.assert_allclose(found, of_cells if model.grounded else of_move, rtol=1e-6, atol=1e-6)
    assert jnp.abs(found - (of_move if model.grounded else of_cells)).max() > 0.1


@pytest.mark.parametrize("kind", SOME_SLOW)
def test_a_board_does_not_see_its_batch_mates(kind: str) -> None:
    model, inputs, together = some_outputs(kind)
    among_others = outputs(model, *(jnp.roll(x, 1, axis=0).at[2].set(x[2]) for x in inputs))
    for name, output in among_others.items():
        np.testing.assert_allclose(output[2], together[name][2], rtol=1e-4, atol=1e-5, err_msg=name)


@pytest.mark.parametrize("kind", SOME_SLOW)
def test_bfloat16_is_for_the_layers_alone(kind: str) -> None:
    model, _, found = some_outputs(kind, "bfloat16")
    assert {x.dtype for x in jax.tree.leaves(nnx.state(model))} == {jnp.dtype("float32")}
    assert {output.dtype for output in found.values()} == {jnp.dtype("float32")}
    reference = some_outputs(kind)[2]
    for name in ("value", "policy"):
        assert not np.array_equal(found[name], reference[name])  # the layers compute in bfloat16
        assert np.corrcoef(found[name].ravel(), reference[name].ravel())[0, 1] > 0.98


def test_codes_are_exactly_one_hot_and_pass_the_gradient(rng: np.random.Generator) -> None:
    logits = jnp.asarray(rng.normal(0.0, 2.0, (500, CODES)), jnp.float32)
    weights = jnp.asarray(rng.normal(size=(500, CODES)), jnp.float32)
    hard = np.eye(CODES, dtype=np.float32)[np.argmax(logits, axis=-1)]
    for function in (straight_through_code, jax.jit(straight_through_code)):
        np.testing.assert_array_equal(function(logits), hard)
    gradient = jax.grad(lambda x: jnp.sum(weights * straight_through_code(x)))(logits)
    soft = jax.grad(lambda x: jnp.sum(weights * jax.nn.softmax(x)))(logits)
    np.testing.assert_allclose(gradient, soft, rtol=1e-5, atol=1e-7)
    assert jnp.abs(gradient).max() > 0.01


def test_what_the_encoders_read() -> None:
    """Compute both encoders with numpy: one reads both boards and the action, the other the change of the afterstate.

    All boards are different, so an encoder that reads another board gives other logits.
    """
    rng = np.random.default_rng(6)
    boards = [rng.integers(0, 12, (B, 6)) for _ in range(3)]  # before the move, after it, after the chance event
    before, after, following = (np.eye(10)[np.minimum(x, 9)].reshape(B, -1) for x in boards)  # one-hot planes
    action = np.arange(B) % 4

    def encoded(model: Model) -> jax.Array:
        cells, after_cells, next_cells = (jnp.asarray(x, jnp.uint8) for x in boards)
        return model.encode(Observed(cells, jnp.asarray(action), after_cells, next_cells, jnp.asarray(action)))

    latent, grounded = some_outputs("residual_mlp")[0], some_outputs("grounded")[0]
    assert isinstance(latent, LatentModel)
    assert isinstance(grounded, GroundedModel)
    pairs = np.concatenate([np.stack([before, following], axis=1).reshape(B, -1), np.eye(4)[action]], axis=1)
    first, last = latent.encoder.layers[0], latent.encoder.layers[-1]
    np.testing.assert_allclose(
        encoded(latent), linear(last, np.maximum(linear(first, pairs), 0.0)), rtol=1e-4, atol=1e-4
    )
    np.testing.assert_allclose(encoded(grounded), linear(grounded.encoder, following - after), rtol=1e-4, atol=1e-4)


def linear(layer: nnx.Linear, x: np.ndarray) -> np.ndarray:
    return x @ np.asarray(layer.kernel[...], float) + np.asarray(layer.bias[...], float)


@pytest.mark.parametrize("kind", ["residual_mlp", "se_resnet"])
@pytest.mark.parametrize("encoder", ["mlp", "tower"])
def test_the_encoder_reads_both_boards_and_the_action(encoder: str, kind: str, rng: np.random.Generator) -> None:
    """mlp: one vector [planes of o_t, planes of o_{t+1}, action]. tower: the two boards lie cell beside cell."""
    config = small_config(kind)
    config = dataclasses.replace(config, network=configured(config.network, latent={"encoder": encoder}))
    model = random_model(config, seed=2)
    boards = [rng.integers(0, 9, (B, 6)) for _ in range(2)]
    action = np.arange(B) % 4
    before, after = (np.eye(10)[board] for board in boards)
    chosen = np.eye(4)[action]
    if encoder == "mlp":
        expected = np.concatenate([before.reshape(B, -1), after.reshape(B, -1), chosen], axis=-1)
    elif kind == "residual_mlp":
        expected = np.concatenate([np.concatenate([before, after], axis=-1).reshape(B, -1), chosen], axis=-1)
    else:
        places = np.broadcast_to(chosen[:, None, None], (B, 2, 3, 4))
        expected = np.concatenate([before.reshape(B, 2, 3, 10), after.reshape(B, 2, 3, 10), places], axis=-1)
    cells, next_cells = (jnp.asarray(board, jnp.uint8) for board in boards)

    logits = model.encode(Observed(cells, jnp.asarray(action), cells, next_cells, jnp.asarray(action)))
    assert logits.shape == (B, CODES)
    np.testing.assert_allclose(logits, model.encoder(jnp.asarray(expected, jnp.float32)), rtol=1e-4, atol=1e-5)
    towers = [layer for layer in model.encoder.layers if isinstance(layer, Tower)]
    assert [len(tower.blocks) for tower in towers] == [1] * (encoder == "tower")
    assert len(np.unique(np.asarray(logits).round(4), axis=0)) == B


@pytest.mark.parametrize("kind", ["residual_mlp", "grounded", "cells"])
def test_the_encoder_learns_through_the_dynamics(kind: str) -> None:
    model, (cells, action, _), _ = some_outputs(kind)

    @jax.jit
    @nnx.grad
    def gradient(model: Model) -> jax.Array:
        afterstate, _ = model.afterstate_dynamics(model.representation(cells), action)
        code = straight_through_code(model.encode(Observed(cells, action, cells, cells[::-1], action)))
        state = model.dynamics(afterstate, code)
        return jnp.sum((model.decode(state) if model.grounded else model.prediction(state).value_logits) ** 2)

    sizes = [float(jnp.abs(x).max()) for x in jax.tree.leaves(gradient(model)["encoder"])]
    assert len(sizes) == (2 if model.grounded else 4)
    assert min(sizes) > 1e-6


@pytest.mark.parametrize("shape", [(3, 3), (2, 3)])
def test_grounded_dynamics_are_symmetric(shape: tuple[int, int], rng: np.random.Generator) -> None:
    """view(phi(s, a)) = phi(view(s), action_to[a]): lines and directions share one network."""
    views, model = symmetries(*shape), random_model(small_config("grounded", *shape), 5)
    cells = jnp.asarray(rng.integers(0, 9, (4, shape[0] * shape[1])), jnp.uint8)

    @jax.jit
    def move(cells: jax.Array, action: jax.Array) -> jax.Array:
        return model.afterstate_dynamics(model.representation(cells), action)[0]

    action = jnp.arange(4)
    latent = move(cells, action)
    for view in range(views.num_views):
        seen = move(cells[:, views.cell_from[view]], jnp.asarray(views.action_to[view])[action])
        np.testing.assert_allclose(seen, latent[:, views.cell_from[view]], rtol=1e-5, atol=1e-6)
    other = move(cells, (action + 1) % 4)
    assert jnp.abs(other - latent).max(axis=(1, 2)).min() > 0.1  # the action matters


def test_grounded_reward_is_the_gain_of_the_score(rng: np.random.Generator) -> None:
    """With u_k = k - 1 the potential is the score, so the reward of every true move equals that of the rules."""
    model = random_model(small_config("grounded"), seed=0)
    model.potential_steps[...] = jnp.full(10, 1 / REWARD_SCALE).at[0].set(-1 / REWARD_SCALE)
    moves = [
        (board, rules.afterstate(board, action))
        for board in (positions.random_board(rng, 2, 3, largest=7) for _ in range(50))
        for action in rules.ACTIONS
    ]
    tiles = jnp.array([rules.cells(board) for board, _ in moves])
    moved = jnp.array([rules.cells(after) for _, (after, _) in moves])
    reward = jnp.array([reward for _, (_, reward) in moves], jnp.float32)
    assert jnp.unique(reward).size > 5
    np.testing.assert_allclose(model.reward(DecodedMove(tiles, moved)), reward, atol=1e-3)
    np.testing.assert_allclose(model.reward_loss(DecodedMove(tiles, moved), reward), 0.0, atol=1e-6)
    # A move that changes the sum of the tiles is wrong: its reward and its loss are 0.
    wrong = moved.at[:, 0].add(1)
    assert not model.reward(DecodedMove(tiles, wrong)).any()
    assert not model.reward_loss(DecodedMove(tiles, wrong), reward).any()


def test_grounded_code_writes_one_place() -> None:
    """g changes a cell only through its gate: a closed gate keeps the afterstate, an open gate writes the content."""
    model, (cells, _, code), _ = some_outputs("grounded")
    latent = model.representation(cells)
    model = nnx.clone(model)
    model.code_gate.kernel[...] = jnp.zeros_like(model.code_gate.kernel[...])
    model.code_gate.bias[...] = jnp.where(jnp.arange(6) == 2, 100.0, -100.0)
    found = model.dynamics(latent, code)
    np.testing.assert_allclose(found[:, jnp.array([0, 1, 3, 4, 5])], latent[:, jnp.array([0, 1, 3, 4, 5])], atol=1e-6)
    np.testing.assert_allclose(found[:, 2], model.code_content(code), rtol=1e-6)


@pytest.mark.parametrize("kind", ["residual_mlp", "se_resnet"])
def test_outer_actions_have_weights_of_their_own(kind: str) -> None:
    """The stem of phi computes W_a x: only the rows of W that belong to the action a have an effect."""
    config = small_config(kind)
    network = configured(config.network, action_input="outer")
    model = random_model(dataclasses.replace(config, network=network), seed=3)
    cells, action = jnp.arange(24, dtype=jnp.uint8).reshape(4, 6) % 9, jnp.arange(4)
    state = model.representation(cells)
    before, _ = model.afterstate_dynamics(state, action)
    assert isinstance(model, LatentModel)
    width, kernel = network.width, model.phi.stem.kernel
    kernel[...] = kernel[...].at[..., width : 2 * width, :].multiply(-1.0)
    after, _ = model.afterstate_dynamics(state, action)
    changed = jnp.abs(after - before).reshape(4, -1).max(axis=-1)
    np.testing.assert_array_equal(changed > 0.0, [False, True, False, False])


def test_planes() -> None:
    found = planes(jnp.array([[0, 3, 17, 30]], jnp.uint8), 18)
    assert found.shape == (1, 4, 18)
    assert found.argmax(axis=-1).tolist() == [[0, 3, 17, 17]]
    assert (found.sum(axis=-1) == 1).all()


def test_the_seed_makes_the_parameters() -> None:
    one, same, other = (jax.tree.leaves(nnx.state(make_model(small_config(), seed))) for seed in (0, 0, 1))
    assert all(np.array_equal(a, b) for a, b in zip(one, same, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
