"""Tests of the loss: terms against a plain unroll, masks, gradients, and statistics of the chance codes."""

import dataclasses
import functools
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx
from reference import positions

from muzero2048.game.env import Game2048
from muzero2048.models.base import Model
from muzero2048.models.chance_encoders import Observed, straight_through_code
from muzero2048.models.latent import LatentModel
from muzero2048.muzero.batches import Batch, Sequence, make_batch
from muzero2048.muzero.config import ChanceConfig, LossWeights, MuZeroConfig
from muzero2048.muzero.losses import LossReport, PartialLoss, batch_size, loss_report, scale_gradient, unrolled_loss
from tests.muzero2048.toy_model import random_model, small_config

SHAPE, B, K = (2, 3), 32, 2


@functools.cache
def batch() -> Batch:
    """Return a batch of sequences of random games; in many of them a game ends."""
    rng = np.random.default_rng(0)
    steps: list[positions.Step] = []
    while len(steps) < 400:
        steps += positions.random_game(rng, *SHAPE)
    ends = [i for i, step in enumerate(steps) if step.done and i >= K][: B // 2]
    starts = [*(end - rng.integers(0, K + 1) for end in ends), *rng.integers(0, 300, B - len(ends))]
    rows = [steps[start : start + K + 1] for start in starts]
    names = ("board", "action", "reward", "done", "spawn_code")
    board, action, reward, done, spawn = (np.array([[getattr(s, name) for s in row] for row in rows]) for name in names)
    sequence = Sequence(
        cells=jnp.asarray(board.reshape(B, K + 1, -1), jnp.uint8),
        action=jnp.asarray(action, jnp.int8),
        reward=jnp.asarray(reward, jnp.float32),
        done=jnp.asarray(done),
        spawn_code=jnp.asarray(spawn, jnp.int8),
        policy=jnp.asarray(rng.dirichlet(np.ones(4), (B, K + 1)), jnp.float32),
        value=jnp.asarray(reward + rng.uniform(0.0, 400.0, (B, K + 1)), jnp.float32),
    )
    made = jax.jit(make_batch, static_argnums=(0, 2))(Game2048(*SHAPE), sequence, 0.9)
    assert 5 < (~made.alive).sum() < B * K
    return made


@functools.partial(jax.jit, static_argnums=2)
def whole_loss(model: Model, batch: Batch, config: MuZeroConfig) -> tuple[jax.Array, LossReport]:
    total, (sums, _) = unrolled_loss(model, batch, batch_size(batch), config)
    return total, loss_report(sums)


def loss(model: Model, batch: Batch, config: MuZeroConfig) -> tuple[jax.Array, SimpleNamespace]:
    """Return the loss, and the numbers of its report by name."""
    total, report = whole_loss(model, batch, config)
    return total, SimpleNamespace(total=report.total, **report.losses, **report.diagnostics)


@functools.partial(jax.jit, static_argnums=2)
def gradient(model: Model, batch: Batch, config: MuZeroConfig) -> nnx.State:
    return nnx.grad(lambda model: whole_loss(model, batch, config)[0])(model)


LEARNED, GROUNDED = small_config(), small_config("grounded")
ORACLE = small_config("grounded", chance=ChanceConfig("oracle", 12))


@functools.cache
def model_of(config: MuZeroConfig) -> Model:
    return random_model(config, seed=7)


def cross_entropy(logits: np.ndarray, target: np.ndarray) -> np.ndarray:
    logits = np.asarray(logits, float)
    logits = logits - logits.max(axis=-1, keepdims=True)
    return -np.sum(target * (logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))), axis=-1)


def observed(data: Batch, k: int) -> Observed:
    boards = data.afterstate_cells[:, k], data.cells[:, k + 1]
    return Observed(data.cells[:, k], data.action[:, k], *boards, data.spawn_code[:, k])


def test_terms_equal_a_plain_unroll() -> None:
    model, data = model_of(LEARNED), batch()
    codec = LEARNED.value

    @jax.jit
    def unroll(model: Model) -> list[dict[str, jax.Array]]:
        state, rows = model.representation(data.cells[:, 0]), []
        for k in range(K + 1):
            policy, value = model.prediction(state)
            row = {"policy": policy, "value": value}
            if k < K:
                afterstate, reward = model.afterstate_dynamics(state, data.action[:, k])
                chance, afterstate_value = model.afterstate_prediction(afterstate)
                encoded = model.encode(observed(data, k))
                state = model.dynamics(afterstate, straight_through_code(encoded))
                row |= {"reward": reward, "chance": chance, "afterstate_value": afterstate_value, "encoded": encoded}
            rows.append(row)
        return rows

    rows = jax.device_get(unroll(model))
    alive = np.asarray(data.alive)
    terms: dict[str, list[float]] = {}
    for k, row in enumerate(rows):
        terms.setdefault("value", []).append(cross_entropy(row["value"], codec.encode(data.value[:, k])).mean())
        terms.setdefault("policy", []).append(cross_entropy(row["policy"], data.policy[:, k])[alive[:, k]].mean())
        if k == K:
            continue
        hard = np.eye(12)[row["encoded"].argmax(axis=-1)]
        soft = np.exp(row["encoded"]) / np.exp(row["encoded"]).sum(axis=-1, keepdims=True)
        distance = ((soft - hard) ** 2).sum(axis=-1)
        for name, losses in {
            "afterstate_value": cross_entropy(row["afterstate_value"], codec.encode(data.afterstate_value[:, k])),
            "reward": cross_entropy(row["reward"], codec.encode(data.reward[:, k])),
            "chance": cross_entropy(row["chance"], hard)[alive[:, k]],
            "commitment": distance[alive[:, k]],
        }.items():
            terms.setdefault(name, []).append(losses.mean())
    total, report = loss(model, data, LEARNED)
    for name, values in terms.items():
        np.testing.assert_allclose(getattr(report, name), np.mean(values), rtol=1e-4, err_msg=name)
    weights = LEARNED.losses
    np.testing.assert_allclose(total, sum(getattr(weights, n) * np.mean(v) for n, v in terms.items()), rtol=1e-4)
    assert report.total == total


def test_losses_of_unequal_parts_add_up_to_those_of_the_batch() -> None:
    model, data = model_of(LEARNED), batch()
    size = batch_size(data)

    @jax.jit
    def losses(model: Model, part: Batch) -> tuple[nnx.State, PartialLoss]:
        found, (sums, _) = nnx.grad(lambda model: unrolled_loss(model, part, size, LEARNED), has_aux=True)(model)
        return found, sums

    cut = B // 4  # nearly all games that end are in the first half of the batch
    parts = [losses(model, jax.tree.map(lambda x, part=part: x[part], data)) for part in (slice(cut), slice(cut, B))]
    whole = losses(model, data)
    for path, expected in jax.tree.leaves_with_path(whole):
        added = sum(dict(jax.tree.leaves_with_path(part))[path] for part in parts)
        np.testing.assert_allclose(added, expected, rtol=1e-4, atol=1e-5, err_msg=jax.tree_util.keystr(path))
    assert whole[1].codes.sum() == data.alive[:, :-1].sum()


def test_the_error_of_a_value_is_that_of_the_first_position() -> None:
    """The new priority is V(s) - z of the position that replay drew, whatever the weight of the sample is."""
    model, data = model_of(LEARNED), batch()._replace(weight=jnp.full(B, 0.5))
    found = unrolled_loss(model, data, batch_size(data), LEARNED)[1][1]
    logits = model.prediction(model.representation(data.cells[:, 0])).value_logits
    np.testing.assert_allclose(found, LEARNED.value.decode(logits) - data.value[:, 0], rtol=1e-4)


def test_absorbing_states_have_no_policy_and_no_chance() -> None:
    data = batch()
    dead = ~data.alive
    shuffled = data._replace(
        policy=jnp.where(dead[..., None], data.policy[:, :, ::-1], data.policy),
        spawn_code=jnp.where(dead[:, :-1], 11 - data.spawn_code, data.spawn_code),
    )
    model = model_of(LEARNED)
    before, after = loss(model, data, LEARNED)[1], loss(model, shuffled, LEARNED)[1]
    assert vars(before) == vars(after)
    changed = data._replace(policy=data.policy[:, :, ::-1])
    assert loss(model, changed, LEARNED)[1].policy != before.policy


def test_absorbing_states_teach_no_boards() -> None:
    """The spawn code of a move of the next game does not change the last board of this game."""
    config, data, model = ORACLE, batch(), model_of(ORACLE)
    shuffled = data._replace(spawn_code=jnp.where(data.alive[:, :-1], data.spawn_code, 11 - data.spawn_code))
    before, after = loss(model, data, config)[1], loss(model, shuffled, config)[1]
    for name in ("reconstruction", "afterstate_accuracy", "next_state_accuracy"):
        assert getattr(before, name) == getattr(after, name), name
    changed = data._replace(spawn_code=11 - data.spawn_code)
    assert loss(model, changed, config)[1].reconstruction != before.reconstruction


def test_consistency_by_hand() -> None:
    """The loss is 1 - cos(q(s^{k+1}), h(o_{k+1})), with q the predictor, as a mean over the moves made."""
    config = small_config(losses=LossWeights(consistency=2.0))
    data, model = batch(), model_of(config)
    assert isinstance(model, LatentModel)

    @jax.jit
    def guesses(model: LatentModel) -> list[tuple[jax.Array, jax.Array]]:
        state, pairs = model.representation(data.cells[:, 0]), []
        for k in range(K):
            after, _ = model.afterstate_dynamics(state, data.action[:, k])
            code = model.encode(observed(data, k))
            state = model.dynamics(after, straight_through_code(code))
            pairs.append((model.predictor(state), model.representation(data.cells[:, k + 1])))
        return pairs

    terms = []
    for k, (guess, truth) in enumerate(jax.device_get(guesses(model))):
        lengths = np.linalg.norm(guess, axis=-1) * np.linalg.norm(truth, axis=-1)
        apart = 1.0 - (guess * truth).sum(axis=-1) / lengths
        terms.append(apart[np.asarray(data.alive[:, k])].mean())
    total, report = loss(model, data, config)
    np.testing.assert_allclose(report.consistency, np.mean(terms), rtol=1e-4)
    np.testing.assert_allclose(total, loss(model, data, LEARNED)[0] + 2.0 * np.mean(terms), rtol=1e-4)


@pytest.mark.parametrize(
    "config", [LEARNED, pytest.param(GROUNDED, marks=pytest.mark.slow)], ids=["residual_mlp", "grounded"]
)
def test_gradients_are_finite_and_reach_everything(config: MuZeroConfig) -> None:
    found = gradient(model_of(config), batch(), config)
    for path, leaf in jax.tree.leaves_with_path(found):
        assert jnp.isfinite(leaf).all(), path
        # Moves of a random grounded model change the sum of the tiles, so the loss of their reward is 0.
        assert jnp.any(leaf) or "potential_steps" in jax.tree_util.keystr(path), path


def test_only_dead_boards() -> None:
    data = batch()
    data = data._replace(alive=jnp.zeros_like(data.alive), value=jnp.zeros_like(data.value))
    total, report = loss(model_of(LEARNED), data, LEARNED)
    assert jnp.isfinite(total)
    assert report.policy == report.chance == report.commitment == report.code_information == 0


def test_grounded_dynamics_learn_from_boards_alone() -> None:
    """Value, policy and chance losses give no gradient to h, phi, g and the decoder."""
    weights = LossWeights(reward=0.0, reconstruction=0.0, commitment=0.0)
    config = dataclasses.replace(GROUNDED, losses=weights)
    found = gradient(model_of(GROUNDED), batch(), config)
    dynamics = {"embedding", "successor", "line_hidden", "line_out", "code_gate", "code_content"}
    for name in dynamics:
        assert all(not jnp.any(leaf) for leaf in jax.tree.leaves(found[name])), name
    for name in ("policy_head", "value_head", "chance_head", "afterstate_value_head", "trunk"):
        assert any(jnp.any(leaf) for leaf in jax.tree.leaves(found[name])), name


def test_reconstruction_and_accuracy() -> None:
    """Accuracy is in [0, 1]; with equal embeddings, loss and accuracies are computed by hand."""
    model, data = model_of(GROUNDED), batch()
    report = loss(model, data, GROUNDED)[1]
    assert 0 <= report.afterstate_accuracy <= 1
    # All embeddings are equal: the cross-entropy of every cell is the log of the number of levels, 10.
    flat = nnx.clone(model)
    flat.embedding.embedding[...] *= 0.0
    report = loss(flat, data, GROUNDED)[1]
    np.testing.assert_allclose(report.reconstruction, np.log(10), rtol=1e-5)
    # Every cell is decoded as empty (argmax takes the first of equal logits), and no board of the game is empty.
    assert report.afterstate_accuracy == report.next_state_accuracy == 0


def test_information_of_perfect_codes() -> None:
    data = batch()
    uniform = jnp.arange(B * K).reshape(B, K) % 8  # eight spawns, equally frequent
    data = data._replace(alive=jnp.ones_like(data.alive), spawn_code=uniform)
    report = loss(model_of(ORACLE), data, ORACLE)[1]
    np.testing.assert_allclose(report.code_entropy, np.log(8), rtol=1e-5)
    np.testing.assert_allclose(report.code_information, np.log(8), rtol=1e-5)


def test_information_of_a_constant_code() -> None:
    model = nnx.clone(model_of(LEARNED))
    last = model.encoder.layers[-1]
    last.kernel[...] *= 0.0
    last.bias[...] = jax.nn.one_hot(3, 12)
    report = loss(model, batch(), LEARNED)[1]
    np.testing.assert_allclose(report.code_entropy, 0.0, atol=1e-6)
    np.testing.assert_allclose(report.code_information, 0.0, atol=1e-6)


@pytest.mark.parametrize(
    "config", [LEARNED, pytest.param(GROUNDED, marks=pytest.mark.slow)], ids=["residual_mlp", "grounded"]
)
def test_weights_multiply_the_losses_of_samples(config: MuZeroConfig) -> None:
    """If all other samples have weight 0, the loss of a sample of weight w is w / B times its loss alone."""
    model, data = model_of(config), batch()
    whole = np.flatnonzero(np.asarray(data.alive).all(axis=1))  # no position is masked in these samples
    living = jax.tree.map(lambda x: x[whole], data)
    alone = loss(model, jax.tree.map(lambda x: x[:1], living), config)[1]
    found = loss(model, living._replace(weight=jnp.zeros(len(whole)).at[0].set(0.5)), config)[1]
    for name in ("value", "policy", "chance", "reward", "afterstate_value", "reconstruction"):
        expected = 0.5 * getattr(alone, name) / len(whole)
        np.testing.assert_allclose(getattr(found, name), expected, rtol=1e-4, err_msg=name)
    plain, double = (loss(model, data._replace(weight=jnp.full(B, w)), config)[1] for w in (1.0, 2.0))
    for name in ("value", "policy", "chance", "commitment", "reward", "afterstate_value", "reconstruction", "total"):
        np.testing.assert_allclose(getattr(double, name), 2 * getattr(plain, name), rtol=1e-5, err_msg=name)
    assert double.reward_error == plain.reward_error
    assert double.next_state_accuracy == plain.next_state_accuracy


def test_the_error_of_rewards_is_a_mean_over_the_moves_of_games() -> None:
    """No move is made after the end of a game, so what stands there as its reward does not count."""
    model, data = model_of(LEARNED), batch()
    over = ~data.alive[:, :-1]
    assert over.any()
    assert not over.all()
    expected = loss(model, data, LEARNED)[1].reward_error
    found = loss(model, data._replace(reward=jnp.where(over, 1e3, data.reward)), LEARNED)[1].reward_error
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_saturated_targets_are_counted() -> None:
    data = batch()
    data = data._replace(value=jnp.where(jnp.arange(B)[:, None] < 8, 1e5, 1.0) * jnp.ones_like(data.value))
    np.testing.assert_allclose(loss(model_of(LEARNED), data, LEARNED)[1].saturated, 0.25)


def test_scale_gradient() -> None:
    assert scale_gradient(jnp.array(3.0), 0.5) == 3.0
    assert jax.grad(lambda x: scale_gradient(x, 0.5) ** 2)(3.0) == 3.0  # half of 6
