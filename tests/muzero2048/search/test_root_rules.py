"""Tests that both engines use a root rule that is defined here, and of the rules that plan in one batch."""

import functools
from typing import get_args, get_type_hints

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from muzero2048.search.base import Plan, Root, Statistics
from muzero2048.search.config import SearchConfig
from muzero2048.search.plan_move import plan
from muzero2048.search.root_rules import GUMBEL, PUCT, ROOT_RULES, RootRule
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


def test_which_rules_plan_in_one_batch() -> None:
    three_of_three = configured(SearchConfig, simulations=3, considered_actions=3)
    assert GUMBEL.is_one_batch(three_of_three)
    assert not GUMBEL.is_one_batch(configured(SearchConfig, simulations=4, considered_actions=3))
    assert not PUCT.is_one_batch(three_of_three)  # PUCT selects by visits; it has no top-m actions


def test_every_rule_of_the_config_is_there() -> None:
    assert set(get_args(get_type_hints(SearchConfig)["root"])) == set(ROOT_RULES)
