"""Tests by hand of action, policy target and value, and of the expectimax back-up on a small tree."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from muzero2048.search.base import ILLEGAL, Root, Statistics
from muzero2048.search.config import SearchConfig
from muzero2048.search.policy_output import bootstrap_value, expectimax_q, read_out
from muzero2048.search.tree import UNVISITED, plant
from tests.settings import configured

GUMBEL = configured(SearchConfig, c_visit=1.0, c_scale=1.0, normalization="fixed", value_scale=1.0)
PUCT = dataclasses.replace(GUMBEL, root="puct")


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
    found = read_out(root, found_of([1.0, 3.0, 2.0, 50.0], [2, 1, 2, 0]), GUMBEL)
    # Only the most visited actions 0 and 2 compete. sigma is 3 q, so action 2 leads by 3 - 1 (sigma and noise).
    assert found.action.tolist() == [2]
    # The target is computed without the noise and over all legal actions: softmax of 3 * (1, 3, 2).
    weights = np.exp([3.0, 9.0, 6.0, -np.inf])
    np.testing.assert_allclose(found.policy_target[0], weights / weights.sum(), rtol=1e-5)
    assert found.value.tolist() == [3.0]  # the largest visited Q
    assert found.visits.tolist() == [[2, 1, 2, 0]]


def test_the_noise_decides_near_ties() -> None:
    root = root_of([True, True, True, False], [0.0, 0.0, -3.5, 9.0])
    assert read_out(root, found_of([1.0, 3.0, 2.0, 50.0], [2, 1, 2, 0]), GUMBEL).action.tolist() == [0]


def test_puct_root_by_hand() -> None:
    """The most visited action is chosen, not the best. The target is the share of visits, the value the best Q."""
    root = root_of([True, True, True, False], [0.0] * 4)
    found = read_out(root, found_of([1.0, 3.0, 2.0, 50.0], [5, 1, 2, 0]), PUCT)
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
    found = read_out(root, found_of([1.0, 3.0, 2.0, 50.0], [2, 1, 2, 0]), GUMBEL)
    value = bootstrap_value(root._replace(value=jnp.array([2.5])), found, rule)
    np.testing.assert_allclose(value, [BOOTSTRAP[rule]], rtol=1e-6)


@pytest.mark.parametrize("rule", BOOTSTRAP)
@pytest.mark.parametrize("config", [GUMBEL, PUCT])
def test_a_dead_board_is_nothing_to_bootstrap_from(rule: str, config: SearchConfig) -> None:
    root = root_of([False] * 4, [1.0] * 4)
    assert bootstrap_value(root, read_out(root, found_of([5.0] * 4, [7, 0, 0, 0]), config), rule).tolist() == [0.0]


@pytest.mark.parametrize("temperature", [0.5, 1.0])
def test_puct_root_draws_by_visits(temperature: float) -> None:
    draws, visits = 20_000, np.array([6, 3, 0, 1])
    gumbel = temperature * jax.random.gumbel(jax.random.key(0), (draws, 4))
    root = jax.tree.map(lambda x: jnp.repeat(x, draws, axis=0), root_of([True] * 4, [0.0] * 4))
    found = jax.tree.map(lambda x: jnp.repeat(x, draws, axis=0), found_of([1.0] * 4, visits.tolist()))
    action = read_out(root._replace(gumbel=gumbel), found, PUCT).action
    expected = visits ** (1 / temperature)
    shares = np.bincount(np.asarray(action), minlength=4) / draws
    np.testing.assert_allclose(shares, expected / expected.sum(), atol=0.012)


@pytest.mark.parametrize("config", [GUMBEL, PUCT])
def test_a_dead_board(config: SearchConfig) -> None:
    found = read_out(root_of([False] * 4, [1.0] * 4), found_of([0.0] * 4, [7, 0, 0, 0]), config)
    assert found.value.tolist() == [0.0]
    assert not found.policy_target.any()
    assert all(jnp.isfinite(field).all() for field in found)


def test_the_sweep_by_hand() -> None:
    """Root 0 has the afterstates 1 and 2; afterstate 1 has the states 3 (leaf) and 4; state 4 has the afterstate 5."""
    root = root_of([True] * 4, [0.0] * 4)
    tree = plant(root, simulations=5, codes=3)
    slots = jnp.full((6, 4), UNVISITED)
    children = slots.at[0, 1].set(1).at[0, 3].set(2).at[1, 0].set(3).at[1, 2].set(4).at[4, 0].set(5)
    prior = tree.prior[:, 0].at[1].set(jnp.array([0.5, 0.2, 0.3, 0.0]))
    tree = tree._replace(
        children=children[:, None].astype(tree.children.dtype),
        prior=prior[:, None],
        rewards=jnp.array([0.0, 4.0, 8.0, 0.0, 0.0, 16.0])[:, None],
        raw_values=jnp.array([1.0, 10.0, 20.0, 30.0, 40.0, 50.0])[:, None],
        values=jnp.full((6, 1), 999.0),  # means over visits, which expectimax does not use
        is_chance=jnp.array([False, True, True, False, False, True])[:, None],
    )
    # State 4: 16 + 50 / 2 = 41 by its visited move, not the model's 40. Afterstate 1: its code 1 was not visited and
    # counts with the model's 10.
    q = expectimax_q(tree, 0.5)[0]
    np.testing.assert_allclose(q[1], 4 + 0.5 * (0.5 * 30 + 0.2 * 10 + 0.3 * 41), rtol=1e-6)
    np.testing.assert_allclose(q[3], 8 + 0.5 * 20, rtol=1e-6)
