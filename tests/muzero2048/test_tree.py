"""The tree search against the plain one, and by hand where the trees are small."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import search
from reference.search import Settings, Tables

from muzero2048.config import SearchConfig
from muzero2048.search import ILLEGAL, Plan, Root
from muzero2048.tree import largest_deficit, plan_tree, puct

from .toy_model import ToyModel, random_tables

CONFIG = SearchConfig(simulations=16)


@functools.partial(jax.jit, static_argnums=(4, 5))
def tree_plan(
    model: ToyModel, state: jax.Array, legal: jax.Array, gumbel: jax.Array, config: SearchConfig, discount: float
) -> Plan:
    prediction = model.prediction(state)
    logits = jnp.where(legal, prediction.policy_logits, ILLEGAL)
    root = Root(state, logits, prediction.value_logits[:, 0], legal, gumbel)
    return plan_tree(model, jax.random.key(0), root, config, discount)


@pytest.mark.parametrize(("simulations", "considered"), [(16, 4), (40, 3)])
def test_the_tree_equals_the_plain_search(rng: np.random.Generator, simulations: int, considered: int) -> None:
    tables = random_tables(5)
    states = len(tables.value)
    legal = rng.random((states, 4)) < 0.7
    legal[:, 0] |= ~legal.any(axis=1)
    gumbel = rng.gumbel(size=(states, 4)).astype(np.float32)
    config = SearchConfig(simulations=simulations, considered_actions=considered)
    found = jax.device_get(tree_plan(ToyModel(tables), jnp.arange(states), legal, gumbel, config, 0.9))
    settings = Settings(simulations, considered, discount=0.9)
    for i in range(states):
        moves = legal[i].tolist()
        root = search.search(tables, i, moves, gumbel[i], settings)
        assert found.visits[i].tolist() == [root.visits.get(a, 0) for a in range(4)]
        assert found.visits[i].sum() == simulations
        assert found.action[i] == search.final_action(tables, root, moves, gumbel[i], settings)
        np.testing.assert_allclose(found.q_values[i], search.completed_q(tables, root, moves, settings), rtol=1e-4)
        np.testing.assert_allclose(
            found.policy_target[i], search.policy_target(tables, root, moves, settings), rtol=1e-3, atol=1e-5
        )
        best = max(search.q_value(tables, root, a, settings) for a in root.children)
        np.testing.assert_allclose(found.value[i], best, rtol=1e-4)


def chain() -> Tables:
    """States 0, 1, 2 in a row: action 2 of state i earns 4, 8, 16 and leads to afterstate i, whose only code leads on.

    Other actions lead to afterstate 3, which is far worse and stays where it is.
    """
    afterstate = np.full((4, 4), 3, np.int32)
    afterstate[:3, 2] = [0, 1, 2]
    reward = np.zeros((4, 4), np.float32)
    reward[:3, 2] = [4.0, 8.0, 16.0]
    return Tables(
        policy_logits=np.tile(np.array([0.0, 0.0, 5.0, 0.0], np.float32), (4, 1)),
        value=np.array([1.0, 30.0, 80.0, -100.0], np.float32),
        afterstate=afterstate,
        reward=reward,
        afterstate_value=np.array([20.0, 60.0, 100.0, -100.0], np.float32),
        chance_logits=np.zeros((4, 1), np.float32),
        next_state=np.array([[1], [2], [3], [3]], np.int32),
    )


@pytest.mark.parametrize(
    ("simulations", "q"),
    [
        (1, 4 + 0.5 * 20),  # V(as_0)
        (2, 4 + 0.5 * (20 + 30) / 2),  # and V(s_1): the chance event earns and discounts nothing
        (3, 4 + 0.5 * (20 + 30 + (8 + 0.5 * 60)) / 3),  # and r_1 + gamma V(as_1)
        (4, 4 + 0.5 * (20 + 30 + (8 + 0.5 * 60) + (8 + 0.5 * 80)) / 4),  # and r_1 + gamma V(s_2)
    ],
)
def test_one_discount_a_move(simulations: int, q: float) -> None:
    legal = np.array([[False, False, True, False]])
    config = dataclasses.replace(CONFIG, simulations=simulations)
    found = tree_plan(ToyModel(chain()), jnp.array([0]), legal, np.zeros((1, 4), np.float32), config, 0.5)
    assert found.visits.tolist() == [[0, 0, simulations, 0]]
    np.testing.assert_allclose(found.q_values[0, 2], q, rtol=1e-6)
    np.testing.assert_allclose(found.value[0], q, rtol=1e-6)


def test_puct_by_hand() -> None:
    config = SearchConfig(pb_c_init=1.25, pb_c_base=19652.0, range_floor=1.0)
    prior = jnp.array([0.1, 0.2, 0.6, 0.1])
    none = jnp.zeros(4, jnp.int32)
    # Before any visit of a child the prior alone decides.
    assert int(puct(jnp.zeros(4), none, prior, jnp.array(3.0), config)) == 2
    # Node of value 15: q (10, 20, 15, 15) becomes (0, 1, 1/2, 1/2). After 3 visits and its own, sqrt(4) * 1.2502 is
    # 2.5004: 0.1 / 3 + 0, 0.2 / 2 + 1, 0.6 + 1/2, 0.1 + 1/2 in these units:
    # 0.083, 1.250, 2.000, 0.750.
    visits = jnp.array([2, 1, 0, 0])
    assert int(puct(jnp.array([10.0, 20.0, 0.0, 0.0]), visits, prior, jnp.array(15.0), config)) == 2
    # With a prior of 0.28 action 2 has 0.700 + 0.5 = 1.200 and action 1 1 + 0.250 = 1.250.
    prior = jnp.array([0.42, 0.2, 0.28, 0.1])
    assert int(puct(jnp.array([10.0, 20.0, 0.0, 0.0]), visits, prior, jnp.array(15.0), config)) == 1
    # A floor of 100 points on the range makes the difference of 10 points small: prior 0.28 wins again.
    wide = dataclasses.replace(config, range_floor=100.0)
    assert int(puct(jnp.array([10.0, 20.0, 0.0, 0.0]), visits, prior, jnp.array(15.0), wide)) == 2


def test_visits_of_codes_follow_their_probabilities(rng: np.random.Generator) -> None:
    probabilities = jnp.asarray(rng.dirichlet(np.ones(12)), jnp.float32)

    def visit(visits: jax.Array, _: None) -> tuple[jax.Array, jax.Array]:
        visits = visits.at[largest_deficit(probabilities, visits)].add(1)
        return visits, visits

    _, visits = jax.lax.scan(visit, jnp.zeros(12, jnp.int32), None, length=200)
    count = jnp.arange(1, 201)[:, None]
    assert jnp.abs(visits / count - probabilities[None]).max(axis=1)[20:].max() < 1 / 20
    # No share is more than a visit ahead, after whatever number of visits.
    assert (visits - count * probabilities[None] < 1 + 1e-4).all()
    assert jnp.abs(visits[-1] - 200 * probabilities).max() < 1.5


def test_huge_values_stay_finite() -> None:
    tables = random_tables(6, scale=1e6)
    states = len(tables.value)
    legal = np.ones((states, 4), bool)
    found = tree_plan(ToyModel(tables), jnp.arange(states), legal, np.zeros((states, 4), np.float32), CONFIG, 1.0)
    assert all(bool(jnp.isfinite(field).all()) for field in found)
