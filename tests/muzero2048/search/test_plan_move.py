"""Tests of the search of depth 1 against the tree and mctx, of root noise, and of boards with no or one legal move."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from muzero2048.game.env import Board
from muzero2048.models.base import Model
from muzero2048.search import plan_move as plan_module
from muzero2048.search.base import ILLEGAL, Plan, Root
from muzero2048.search.config import SearchConfig
from muzero2048.search.dynamics import SimulatorDynamics
from muzero2048.search.plan_move import make_root, plan, plan_one_step
from muzero2048.search.root_rules import ROOT_RULES, add_dirichlet_noise, read_out
from muzero2048.search.tree import root_statistics
from muzero2048.search.tree_search import grow_tree
from tests.muzero2048.toy_model import (
    GAME,
    PlainEvaluator,
    ToyModel,
    boards_with,
    network_dynamics,
    plain_plans,
    random_model,
    random_tables,
    roots_of,
    small_config,
    toy_dynamics,
)
from tests.settings import configured

TOY = ToyModel(random_tables(0))
DISCOUNT = 0.97


@functools.partial(jax.jit, static_argnums=(2, 3))
def both_plans(model: Model | None, board: Board, config: SearchConfig, simulator: bool) -> tuple[Plan, Plan]:
    dynamics = network_dynamics(model, simulator) if model else SimulatorDynamics(GAME, PlainEvaluator())
    root = make_root(dynamics, GAME, board, jnp.zeros(board[0].shape, jnp.uint32), jax.random.key(4), config)
    tree = grow_tree(dynamics, root, config, DISCOUNT)
    found = root_statistics(tree, config, DISCOUNT)
    return plan_one_step(dynamics, root, config, DISCOUNT), read_out(root, found, config)


@pytest.mark.parametrize(
    ("n", "kind", "simulator", "normalization"),
    [
        (2, "residual_mlp", False, "node"),
        pytest.param(3, None, True, "tree", marks=pytest.mark.slow),
        pytest.param(4, None, True, "fixed", marks=pytest.mark.slow),
    ],
)
def test_depth_1_equals_the_tree(n: int, kind: str | None, simulator: bool, normalization: str) -> None:
    model = random_model(small_config(kind), seed=1) if kind else None
    boards = boards_with(range(n, 5), count=48)
    config = configured(SearchConfig, simulations=n, considered_actions=n, normalization=normalization)
    one_step, tree = jax.device_get(both_plans(model, boards.words, config, simulator))
    np.testing.assert_array_equal(one_step.action, tree.action)
    np.testing.assert_array_equal(one_step.visits, tree.visits)
    np.testing.assert_array_equal(np.sort(one_step.visits, axis=-1), [[0] * (4 - n) + [1] * n] * 48)
    # Without a network: 1e-6. Matrix products of another batch size round differently, and sigma(q) amplifies this.
    rtol, atol = (2e-6, 1e-5) if kind else (1e-6, 1e-6)
    np.testing.assert_allclose(one_step.policy_target, tree.policy_target, rtol=1e-4 if kind else rtol, atol=1e-6)
    np.testing.assert_allclose(one_step.q_values, tree.q_values, rtol=rtol, atol=atol)
    np.testing.assert_allclose(one_step.value, tree.value, rtol=rtol, atol=atol)
    assert len(np.unique(one_step.action)) > 1


@pytest.mark.parametrize("normalization", ["node", "tree", "fixed"])
def test_depth_1_equals_the_plain_search(normalization: str) -> None:
    """Compare boards with four legal moves, whose value is often outside the range of their four Q."""
    config = configured(SearchConfig, simulations=4, normalization=normalization, value_scale=10.0)
    tables = random_tables(2)
    root = roots_of(tables)
    found = jax.jit(lambda model, root: plan_one_step(toy_dynamics(model), root, config, DISCOUNT))(
        ToyModel(tables), root
    )
    rows = np.flatnonzero(np.asarray(root.legal).all(axis=1))
    assert len(rows) >= 5
    found, plain = (Plan(*(x[rows] for x in p)) for p in (found, plain_plans(tables, root, config, DISCOUNT)))
    np.testing.assert_array_equal(found.action, plain.action)
    np.testing.assert_allclose(found.q_values, plain.q_values, rtol=1e-5)
    np.testing.assert_allclose(found.policy_target, plain.policy_target, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(found.value, plain.value, rtol=1e-5)
    value = np.asarray(root.value)[rows]
    assert np.sum((value < plain.q_values.min(axis=1)) | (value > plain.q_values.max(axis=1))) >= 2


def test_plan_takes_the_cheaper_of_two_equal_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    used = []

    def spy(name: str) -> None:
        original = getattr(plan_module, name)
        monkeypatch.setattr(plan_module, name, lambda *args: (used.append(name), original(*args))[1])

    for name in ("plan_one_step", "grow_tree", "search_with_mctx"):
        spy(name)
    root = roots_of(random_tables(0))
    for config, way in (
        (configured(SearchConfig, simulations=3, considered_actions=3), "plan_one_step"),
        (configured(SearchConfig, simulations=3, considered_actions=3, engine="mctx"), "plan_one_step"),
        (configured(SearchConfig, simulations=4, considered_actions=3), "grow_tree"),
        (configured(SearchConfig, simulations=3, considered_actions=3, root="puct"), "grow_tree"),
        (SearchConfig(simulations=5, engine="mctx"), "search_with_mctx"),
    ):
        jax.eval_shape(lambda config=config: plan(toy_dynamics(TOY), root, config, DISCOUNT))
        assert used.pop() == way
        assert not used


@pytest.mark.parametrize("config", [
    configured(SearchConfig, simulations=3, considered_actions=3),
    SearchConfig(simulations=16, root="puct", inside="gumbel", read_out="expectimax"),
])  # fmt: skip
def test_illegal_and_dead(config: SearchConfig) -> None:
    """Illegal actions get no visits and no target; a single legal action is chosen; a board that is over has value 0.

    The roots in test_mctx_engine.py are of all these kinds too.
    """
    boards = boards_with(range(1, 5), range(1), range(1, 2), count=16)
    legal, n = boards.legal, config.simulations

    @jax.jit
    def search(board: Board) -> Plan:
        dynamics = toy_dynamics(TOY)
        root = make_root(dynamics, GAME, board, jnp.arange(48, dtype=jnp.uint32), jax.random.key(0), config)
        return plan(dynamics, root, config, 0.9)[0]

    found = jax.device_get(search(boards.words))
    assert all(np.isfinite(field).all() for field in found)
    live = legal.any(axis=1)
    assert live.sum() == 32
    assert legal[live, found.action[live]].all()
    assert (found.policy_target[~legal] == 0).all()
    np.testing.assert_allclose(found.policy_target[live].sum(axis=1), 1.0, rtol=1e-6)
    assert (found.policy_target[~live] == 0).all()
    assert (found.value[~live] == 0).all()
    assert (found.visits[live][~legal[live]] == 0).all()
    # The one-step search visits no action twice; the tree uses all its simulations.
    one_batch = ROOT_RULES[config.root].is_one_batch(config)
    counts = np.minimum(legal.sum(axis=1), n) if one_batch else np.full(len(legal), n)
    np.testing.assert_array_equal(found.visits.sum(axis=1)[live], counts[live])
    single = legal.sum(axis=1) == 1
    np.testing.assert_array_equal(found.action[single], legal[single].argmax(axis=1))
    np.testing.assert_allclose(found.policy_target[single].max(axis=1), 1.0)


def equal_boards(count: int) -> Board:
    return tuple(jnp.repeat(word, count) for word in GAME.from_cells(jnp.array([[[1, 0, 0], [0, 0, 0]]], jnp.uint8)))


@functools.partial(jax.jit, static_argnums=(0, 2))
def roots_of_one_board(count: int, key: jax.Array | None, config: SearchConfig) -> Root:
    """Return `count` roots at row 1 of the tables; right and down are legal."""
    return make_root(toy_dynamics(TOY), GAME, equal_boards(count), jnp.zeros(count, jnp.uint32), key, config)


def test_the_noise_decides_what_is_considered() -> None:
    """Gumbel top-m samples actions without replacement; the first one is distributed as the prior policy."""
    draws, config = 20_000, configured(SearchConfig, simulations=1, considered_actions=1)
    root = roots_of_one_board(draws, jax.random.key(0), config)
    visits = jax.jit(lambda root: plan_one_step(toy_dynamics(TOY), root, config, 0.9))(root).visits
    logits = np.where([False, True, True, False], TOY.tables.policy_logits[1], ILLEGAL)
    np.testing.assert_allclose(visits.mean(axis=0), jax.nn.softmax(logits), atol=0.015)
    np.testing.assert_array_equal(root.policy_logits[0], logits)
    half = roots_of_one_board(draws, jax.random.key(0), dataclasses.replace(config, gumbel_scale=0.5))
    np.testing.assert_allclose(half.gumbel, 0.5 * root.gumbel, rtol=1e-6)
    np.testing.assert_allclose(half.gumbel.std(), 0.5 * np.pi / np.sqrt(6), rtol=0.02)


@pytest.mark.parametrize("root_rule", ["gumbel", "puct"])
def test_noise_of_the_root(root_rule: str) -> None:
    config = configured(SearchConfig, root=root_rule, dirichlet_fraction=0.5)
    quiet, noisy = (roots_of_one_board(4, key, config) for key in (None, jax.random.key(0)))
    assert not quiet.gumbel.any()
    assert len(np.unique(noisy.gumbel)) == 16
    assert len(np.unique(quiet.policy_logits[:, 1])) == 1
    assert len(np.unique(noisy.policy_logits[:, 1])) == (4 if root_rule == "puct" else 1)
    assert (noisy.policy_logits[:, 0] == ILLEGAL).all()


STEPS = ((0.005, 0.5), (0.01, 0.1), (0.015, 0.0))


@pytest.mark.parametrize(
    ("share", "temperature"),
    [(0.0, 0.8), (0.00499, 0.8), (0.005, 0.5), (0.00999, 0.5), (0.01, 0.1), (0.01499, 0.1), (0.015, 0.0), (1.0, 0.0)],
)
def test_the_temperature_falls_with_the_training(share: float, temperature: float) -> None:
    """A PUCT root draws the move with the temperature of the share; the Dirichlet noise does not depend on it."""
    puct = configured(SearchConfig, root="puct", gumbel_scale=0.8, puct={"temperature_steps": STEPS})
    plain = dataclasses.replace(configured(puct, puct={"temperature_steps": ()}), gumbel_scale=1.0)
    root = roots_of(random_tables(0))
    add_noise = jax.jit(ROOT_RULES["puct"].add_noise, static_argnums=3)
    noisy, usual = (add_noise(jax.random.key(0), root, share, config) for config in (puct, plain))
    np.testing.assert_allclose(noisy.gumbel, temperature * usual.gumbel, rtol=1e-6)
    np.testing.assert_array_equal(noisy.policy_logits, usual.policy_logits)
    assert add_noise._cache_size() == 2  # the share is traced


def test_dirichlet_noise() -> None:
    """On k legal actions, the mean is (1 - f) P + f / k, the variance f^2 (1/k) (1 - 1/k) / (k alpha + 1)."""
    draws, config = 40_000, configured(SearchConfig, root="puct", dirichlet_fraction=0.25, dirichlet_alpha=0.3)
    prior = np.array([0.5, 0.0, 0.3, 0.2])
    logits = jnp.where(jnp.asarray(prior) > 0, jnp.log(jnp.asarray(prior)), ILLEGAL)
    add_noise = jax.jit(add_dirichlet_noise, static_argnums=2)
    noisy = add_noise(jax.random.key(1), jnp.tile(logits, (draws, 1)), config)
    assert (noisy[:, 1] == ILLEGAL).all()
    found = np.exp(np.asarray(noisy, float))
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-5)
    legal = prior > 0
    np.testing.assert_allclose(found.mean(axis=0)[legal], (0.75 * prior + 0.25 / 3)[legal], atol=2e-3)
    variance = 0.25**2 * (1 / 3) * (2 / 3) / (3 * 0.3 + 1)
    np.testing.assert_allclose(found.var(axis=0)[legal], variance, rtol=0.03)
    assert (found[:, legal] > 0.75 * prior[legal] - 1e-6).all()
    # A single legal action keeps probability 1, and ILLEGAL logits stay. A tiny alpha underflows to a finite floor.
    few = jnp.array([[ILLEGAL, 0.0, ILLEGAL, ILLEGAL], [ILLEGAL] * 4])
    found = add_noise(jax.random.key(1), few, configured(config, dirichlet_alpha=1e-3))
    np.testing.assert_allclose(found, few, atol=1e-6)
