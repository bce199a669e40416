"""Tests that both engines use a root rule that is defined here; by hand, of action, policy target and values."""

import dataclasses
import functools
from typing import get_args, get_type_hints

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from muzero2048.search.base import ILLEGAL, Plan, Root, Statistics
from muzero2048.search.config import SearchConfig
from muzero2048.search.plan_move import plan
from muzero2048.search.root_rules import ROOT_RULES, RootRule, bootstrap_value, read_out
from tests.muzero2048.toy_model import ToyModel, random_tables, roots_of, toy_dynamics
from tests.settings import configured


def select_in_turn(
    root: Root, found: Statistics, node_value: jax.Array, simulation: jax.Array, config: SearchConfig
) -> jax.Array:
    """Select by round-robin: simulation i follows the legal action number i modulo the number of legal actions."""
    legal = root.legal
    turn = simulation % jnp.maximum(legal.sum(axis=-1), 1)
    return jnp.argmax(legal & (jnp.cumsum(legal, axis=-1) - 1 == turn[:, None]), axis=-1)


def read_out_worst(root: Root, found: Statistics, config: SearchConfig) -> tuple[jax.Array, jax.Array]:
    """Return the visited action of least Q, and a uniform policy target."""
    worst = jnp.argmin(jnp.where(root.legal & (found.visits > 0), found.q_values, jnp.inf), axis=-1)
    return worst, root.legal / jnp.maximum(root.legal.sum(axis=-1, keepdims=True), 1)


ROUND_ROBIN = RootRule(
    add_noise=lambda key, root, share, config: root,
    select=select_in_turn,
    read_out=read_out_worst,
    is_one_batch=lambda config: False,
)


@functools.partial(jax.jit, static_argnums=2)
def plan_in_turn(model: ToyModel, root: Root, config: SearchConfig) -> Plan:
    return plan(toy_dynamics(model), root, config, 0.9)[0]


@pytest.mark.parametrize("engine", ["own", "mctx"])
def test_both_engines_use_a_rule_that_is_put_into_the_table(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ROOT_RULES, "puct", ROUND_ROBIN)
    tables = random_tables(3)
    root, simulations = roots_of(tables), 11
    config = SearchConfig(root="puct", simulations=simulations, engine=engine)
    found = jax.device_get(plan_in_turn(ToyModel(tables), root, config))
    live = np.asarray(root.legal).any(axis=1)
    legal = np.asarray(root.legal)[live]
    count, rank = legal.sum(axis=1, keepdims=True), np.cumsum(legal, axis=1) - 1
    assert set(count.ravel()) >= {1, 2, 3}
    np.testing.assert_array_equal(found.visits[live], legal * (-((rank - simulations) // count)))
    np.testing.assert_allclose(found.policy_target[live], legal / count)
    np.testing.assert_array_equal(found.action[live], np.where(legal, found.q_values[live], np.inf).argmin(axis=1))


def test_every_rule_of_the_config_is_there() -> None:
    assert set(get_args(get_type_hints(SearchConfig)["root"])) == set(ROOT_RULES)


BY_GUMBEL = configured(SearchConfig, c_visit=1.0, c_scale=1.0, normalization="fixed", value_scale=1.0)
BY_PUCT = dataclasses.replace(BY_GUMBEL, root="puct")


def root_of(legal: list[bool], gumbel: list[float], value: float = 2.0) -> Root:
    mask = jnp.array([legal])
    logits = jnp.where(mask, 0.0, ILLEGAL)
    return Root(
        jnp.zeros(1, jnp.int32), logits, jnp.array([value]), mask, jnp.array([gumbel]), jnp.zeros(1, jnp.uint32)
    )


def found_of(q: list[float], visits: list[int]) -> Statistics:
    return Statistics(jnp.array([q]), jnp.array([visits]), jnp.zeros((1, 2)))


def test_gumbel_root_by_hand() -> None:
    root = root_of([True, True, True, False], [0.0, 0.0, -1.0, 0.0])
    found = read_out(root, found_of([1.0, 3.0, 2.0, 50.0], [2, 1, 2, 0]), BY_GUMBEL)
    # Only the most visited actions 0 and 2 compete. sigma is 3 q, so action 2 leads by 3 - 1 (sigma and noise).
    assert found.action.tolist() == [2]
    # The target is computed without the noise and over all legal actions: softmax of 3 * (1, 3, 2).
    weights = np.exp([3.0, 9.0, 6.0, -np.inf])
    np.testing.assert_allclose(found.policy_target[0], weights / weights.sum(), rtol=1e-5)
    assert found.value.tolist() == [3.0]  # the largest visited Q
    assert found.visits.tolist() == [[2, 1, 2, 0]]


def test_the_noise_decides_near_ties() -> None:
    root = root_of([True, True, True, False], [0.0, 0.0, -3.5, 9.0])
    assert read_out(root, found_of([1.0, 3.0, 2.0, 50.0], [2, 1, 2, 0]), BY_GUMBEL).action.tolist() == [0]


def test_puct_root_by_hand() -> None:
    """The most visited action is chosen, not the best. The target is the share of visits, the value the best Q."""
    root = root_of([True, True, True, False], [0.0] * 4)
    found = read_out(root, found_of([1.0, 3.0, 2.0, 50.0], [5, 1, 2, 0]), BY_PUCT)
    assert found.action.tolist() == [0]
    np.testing.assert_allclose(found.policy_target[0], [0.625, 0.125, 0.25, 0.0])
    assert found.value.tolist() == [3.0]


# Actions 0, 1, 2 have Q = 1, 3, 2 and 2, 1, 2 visits. Action 3 is legal and not visited; with V(s) = 2 and a uniform
# prior its Q is v_mix = (2 + 5 * 2) / 6 = 2. Action 2 is played: the better of the most visited actions, 0 and 2.
WEIGHTS = np.exp(3.0 * np.array([1.0, 3.0, 2.0, 2.0]))
BOOTSTRAP = {
    "best_child": 3.0,
    "played": 2.0,
    "improved_policy": WEIGHTS @ [1.0, 3.0, 2.0, 2.0] / WEIGHTS.sum(),
    "visit_mean": (2 * 1 + 1 * 3 + 2 * 2) / 5,
    "network": 2.5,
}


@pytest.mark.parametrize("rule", BOOTSTRAP)
def test_bootstrap_values_by_hand(rule: str) -> None:
    root = root_of([True] * 4, [0.0] * 4)
    found = read_out(root, found_of([1.0, 3.0, 2.0, 50.0], [2, 1, 2, 0]), BY_GUMBEL)
    value = bootstrap_value(root._replace(value=jnp.array([2.5])), found, rule)
    np.testing.assert_allclose(value, [BOOTSTRAP[rule]], rtol=1e-6)


@pytest.mark.parametrize("temperature", [0.5, 1.0])
def test_puct_root_draws_by_visits(temperature: float) -> None:
    draws, visits = 20_000, np.array([6, 3, 0, 1])
    gumbel = temperature * jax.random.gumbel(jax.random.key(0), (draws, 4))
    root = jax.tree.map(lambda x: jnp.repeat(x, draws, axis=0), root_of([True] * 4, [0.0] * 4))
    found = jax.tree.map(lambda x: jnp.repeat(x, draws, axis=0), found_of([1.0] * 4, visits.tolist()))
    action = read_out(root._replace(gumbel=gumbel), found, BY_PUCT).action
    expected = visits ** (1 / temperature)
    shares = np.bincount(np.asarray(action), minlength=4) / draws
    np.testing.assert_allclose(shares, expected / expected.sum(), atol=0.012)


@pytest.mark.parametrize("config", [BY_GUMBEL, BY_PUCT])
def test_a_dead_board_has_no_policy_and_is_nothing_to_bootstrap_from(config: SearchConfig) -> None:
    root = root_of([False] * 4, [1.0] * 4)
    found = read_out(root, found_of([5.0] * 4, [7, 0, 0, 0]), config)
    assert found.value.tolist() == [0.0]
    assert not found.policy_target.any()
    assert all(jnp.isfinite(field).all() for field in found)
    assert {bootstrap_value(root, found, rule).item() for rule in BOOTSTRAP} == {0.0}
