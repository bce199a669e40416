"""Tests that three searches agree: ours, the one built from parts of mctx, and the plain one.

With one chance code mctx's own Gumbel MuZero policy agrees too.
"""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import mctx
import numpy as np
import pytest
from reference import search

from muzero2048.game.env import Board
from muzero2048.models.base import Model
from muzero2048.search.base import Plan, Root
from muzero2048.search.config import SearchConfig
from muzero2048.search.plan_move import make_root, plan
from tests.settings import configured

from ..toy_model import (
    GAME,
    ToyModel,
    assert_same_plan,
    boards_with,
    network_dynamics,
    plain_plans,
    random_model,
    random_tables,
    roots_of,
    small_config,
    toy_dynamics,
)

DISCOUNT = 0.9
BASE = SearchConfig(simulations=40, value_scale=10.0)
# All eight contain every pair of options of two fields; the fast ones contain all options but `deficit`.
CONFIGS = [
    ("gumbel", "puct", "ratio", "node"),
    pytest.param("gumbel", "gumbel", "deficit", "fixed", marks=pytest.mark.slow),
    ("puct", "puct", "quasi_random", "fixed"),
    ("puct", "gumbel", "sampled", "node"),
    pytest.param("puct", "gumbel", "ratio", "fixed", marks=pytest.mark.slow),
    pytest.param("puct", "puct", "deficit", "node", marks=pytest.mark.slow),
    pytest.param("gumbel", "gumbel", "quasi_random", "node", marks=pytest.mark.slow),
    pytest.param("gumbel", "puct", "sampled", "fixed", marks=pytest.mark.slow),
]


@functools.partial(jax.jit, static_argnums=(2, 3))
def plan_on_tables(model: ToyModel, root: Root, config: SearchConfig, discount: float) -> Plan:
    return plan(toy_dynamics(model), root, config, discount)[0]


@pytest.mark.parametrize(("root_rule", "inside", "chance", "normalization"), CONFIGS)
def test_own_mctx_and_plain_search_agree(root_rule: str, inside: str, chance: str, normalization: str) -> None:
    """All tables have 32 codes. The second have values of 10^6 points, illegal actions, impossible codes and ends."""
    config = configured(
        BASE, root=root_rule, inside=inside, chance=chance, normalization=normalization,
        gumbel={"completion": "value" if chance == "deficit" else "mixed"},
        puct={"unvisited": "zero" if chance == "quasi_random" else "node_value"},
    )  # fmt: skip
    for tables in (
        random_tables(3, states=20, codes=32),
        random_tables(5, states=20, codes=32, scale=1e6, knows_the_rules=True),
    ):
        model, root = ToyModel(tables), roots_of(tables)
        own, theirs = (
            jax.device_get(plan_on_tables(model, root, dataclasses.replace(config, engine=engine), DISCOUNT))
            for engine in ("own", "mctx")
        )
        plain = plain_plans(tables, root, config, DISCOUNT)
        size = np.abs(plain.q_values).max()
        live = np.asarray(root.legal).any(axis=1)
        for found in (own, theirs):
            assert all(np.isfinite(field).all() for field in found)
            assert (found.visits.sum(axis=1) == config.simulations).all()
            # The Q-values of a root that is over have no meaning.
            np.testing.assert_array_equal(found.value[~live], 0.0)
            assert not found.policy_target[~live].any()
            assert_same_plan(*(Plan(*(field[live] for field in p)) for p in (found, plain)), size)
        assert_same_plan(own, theirs, size)


@functools.partial(jax.jit, static_argnums=(3, 4))
def plan_in_simulator(model: Model, board: Board, seeds: jax.Array, config: SearchConfig, discount: float) -> Plan:
    dynamics = network_dynamics(model, simulator=True)
    root = make_root(dynamics, GAME, board, seeds, jax.random.key(1), config)
    return plan(dynamics, root, config, discount)[0]


@pytest.mark.parametrize("config", [
    pytest.param(dataclasses.replace(BASE, root="gumbel", inside="puct", chance="sampled"), marks=pytest.mark.slow),
    pytest.param(dataclasses.replace(BASE, root="puct", inside="gumbel", chance="deficit", normalization="fixed"),
                 marks=pytest.mark.slow),
])  # fmt: skip
def test_they_agree_in_the_simulator(config: SearchConfig) -> None:
    """Trees contain illegal moves and ends of games; some roots are over, and some have one legal move."""
    boards = boards_with(range(1), range(1, 2), range(2, 5), count=12)
    model, seeds = random_model(small_config(), seed=1), jnp.arange(36, dtype=jnp.uint32)
    own, theirs = (
        jax.device_get(
            plan_in_simulator(model, boards.words, seeds, dataclasses.replace(config, engine=engine), DISCOUNT)
        )
        for engine in ("own", "mctx")
    )
    assert_same_plan(own, theirs, np.abs(theirs.q_values).max())
    live = boards.legal.any(axis=1)
    assert boards.legal[live, own.action[live]].all()
    assert not own.visits[live][~boards.legal[live]].any()
    assert not own.value[~live].any()


@pytest.mark.parametrize(("considered", "simulations"), [pytest.param(4, 32, marks=pytest.mark.slow), (3, 50)])
def test_one_code_makes_it_gumbel_muzero(considered: int, simulations: int) -> None:
    """With one code nothing is stochastic, and mctx's Gumbel MuZero policy searches the same tree.

    mctx has one kind of node. A chance node becomes a node with a single possible action, of reward 0 and discount 1.
    mctx's rule inside the tree gives this action the score 1 - n / (1 + n) > 0 and the impossible actions 0. So it
    always selects the possible action.
    """
    config = configured(
        SearchConfig,
        simulations=simulations,
        considered_actions=considered,
        root="gumbel",
        inside="gumbel",
        range_floor=1e-8,
    )
    key = jax.random.key(11)
    tables = random_tables(8, codes=1)
    model, root = ToyModel(tables), roots_of(tables)
    # The noise that mctx draws from this key. mctx defines no result for rows without a legal action.
    batch = len(root.value)
    legal = root.legal.at[1].set(True)
    prediction = model.prediction(root.state)
    logits = jnp.where(legal, prediction.policy_logits, search.ILLEGAL)
    gumbel = jax.random.gumbel(jax.random.split(key)[1], (batch, 4), jnp.float32)
    root = root._replace(legal=legal, policy_logits=logits, gumbel=gumbel)
    ours = jax.device_get(plan_on_tables(model, root, config, DISCOUNT))

    def recurrent(model: ToyModel, key: jax.Array, action: jax.Array, node: tuple[jax.Array, jax.Array]):
        row, is_chance = node
        after, reward = model.afterstate_dynamics(row, action)
        state = model.dynamics(row, jnp.ones((batch, 1)))
        behind, ahead = model.prediction(state), model.afterstate_prediction(after)
        only_first = jnp.where(jnp.arange(4) == 0, 0.0, -1e9)
        output = mctx.RecurrentFnOutput(
            reward=jnp.where(is_chance, 0.0, reward),
            discount=jnp.where(is_chance, 1.0, DISCOUNT),
            prior_logits=jnp.where(is_chance[:, None], behind.policy_logits, only_first),
            value=jnp.where(is_chance, behind.value_logits[:, 0], ahead.value_logits[:, 0]),
        )
        return output, (jnp.where(is_chance, state, after), ~is_chance)

    with jax.numpy_rank_promotion("allow"):
        policy = functools.partial(
            mctx.gumbel_muzero_policy,
            recurrent_fn=recurrent,
            num_simulations=simulations,
            max_num_considered_actions=considered,
            qtransform=functools.partial(mctx.qtransform_completed_by_mix_value, value_scale=0.1, maxvisit_init=50.0),
        )
        their_root = mctx.RootFnOutput(
            prior_logits=prediction.policy_logits, value=root.value, embedding=(root.state, jnp.zeros(batch, bool))
        )
        theirs = jax.device_get(jax.jit(policy)(model, key, their_root, invalid_actions=~legal))
        summary = jax.device_get(theirs.search_tree.summary())
    np.testing.assert_array_equal(ours.action, theirs.action)
    np.testing.assert_array_equal(ours.visits, summary.visit_counts)
    visited = ours.visits > 0
    np.testing.assert_allclose(ours.q_values[visited], summary.qvalues[visited], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(ours.policy_target, theirs.action_weights, rtol=1e-4, atol=1e-6)
    assert (theirs.search_tree.children_visits[:, 1:].sum(axis=-1).max(axis=-1) > 5).all()  # the trees are deep
