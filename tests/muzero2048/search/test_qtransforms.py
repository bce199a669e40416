"""Tests of completed Q-values, normalisation and sigma, by hand and against mctx."""

import jax
import jax.numpy as jnp
import mctx
import numpy as np
import pytest

from muzero2048.search.config import SearchConfig
from muzero2048.search.qtransforms import complete_q, normalize, scale_q, widen
from tests.muzero2048.toy_model import nodes_of_mctx, random_nodes
from tests.settings import configured

BOUNDS = jnp.array([5.0, 45.0])


def test_completed_q_by_hand() -> None:
    # Visited are action 0 (3 visits, q = 10, prior 1/2) and action 2 (1 visit, q = 30, prior 1/4). The q weighted by
    # the prior is (5 + 7.5) / 0.75 = 50 / 3, the mixed value (20 + 4 * 50 / 3) / 5.
    logits = jnp.log(jnp.array([0.5, 0.125, 0.25, 0.125]))
    visits = jnp.array([3, 0, 1, 0])
    q = complete_q(jnp.array([10.0, 99.0, 30.0, 99.0]), visits, logits, jnp.array(20.0), SearchConfig())
    mixed = (20 + 4 * 50 / 3) / 5
    np.testing.assert_allclose(q, [10.0, mixed, 30.0, mixed], rtol=1e-6)


def test_completed_by_the_value_of_the_node() -> None:
    config = configured(SearchConfig, gumbel={"completion": "value"})
    q = complete_q(jnp.array([10.0, 99.0, 30.0, 99.0]), jnp.array([3, 0, 1, 0]), jnp.zeros(4), jnp.array(7.0), config)
    assert q.tolist() == [10.0, 7.0, 30.0, 7.0]


def test_nothing_visited_is_worth_the_value() -> None:
    q = complete_q(jnp.full(4, 99.0), jnp.zeros(4, jnp.int32), jnp.zeros(4), jnp.array(7.0), SearchConfig())
    assert q.tolist() == [7.0] * 4


def test_a_visited_action_of_prior_zero() -> None:
    """If the prior underflows, as with logits 200 apart, the mixed value stays finite: here it is (4 + 8) / 2."""
    logits = jnp.array([200.0, 0, 0, 0])
    q = complete_q(jnp.array([0.0, 8.0, 0, 0]), jnp.array([0, 1, 0, 0]), logits, jnp.array(4.0), SearchConfig())
    np.testing.assert_allclose(q, [6.0, 8.0, 6.0, 6.0])


@pytest.mark.parametrize(
    ("config", "unit"),
    [
        (SearchConfig(), [0.0, 1.0, 0.5, 0.0]),
        (SearchConfig(range_floor=100.0), [0.0, 0.1, 0.05, 0.0]),
        (SearchConfig(normalization="tree"), [0.125, 0.375, 0.25, 0.125]),  # (10 - 5) / 40 ...
        (SearchConfig(normalization="tree", range_floor=50.0), [0.1, 0.3, 0.2, 0.1]),
        (SearchConfig(normalization="fixed", value_scale=20.0), [0.0, 0.5, 0.25, 0.0]),
    ],
)
def test_sigma_by_hand(config: SearchConfig, unit: list[float]) -> None:
    completed, visits = jnp.array([10.0, 20.0, 15.0, 10.0]), jnp.array([3, 1, 0, 0])
    config = configured(config, c_visit=50.0, c_scale=0.1)
    np.testing.assert_allclose(scale_q(completed, visits, BOUNDS, config), 5.3 * np.array(unit), rtol=1e-6)
    found = normalize(completed, jnp.array(10.0), jnp.array(20.0), BOUNDS, config)
    np.testing.assert_allclose(found, unit, rtol=1e-6)


def test_equal_values_have_no_range() -> None:
    for normalization in ("node", "tree", "fixed"):
        config = SearchConfig(normalization=normalization, range_floor=1e-8)
        same = jnp.array([7.0, 7.0])
        assert scale_q(jnp.full(4, 7.0), jnp.ones(4, jnp.int32), same, config).tolist() == [0.0] * 4


def test_bounds_widen_where_a_value_was_met() -> None:
    bounds = jnp.tile(BOUNDS, (4, 1))
    found = widen(bounds, jnp.array([1.0, 50.0, 20.0, 99.0]), jnp.array([True, True, True, False]))
    assert found.tolist() == [[1.0, 45.0], [5.0, 50.0], [5.0, 45.0], [5.0, 45.0]]


def test_sigma_equals_mctx(rng: np.random.Generator) -> None:
    """Compare with the transform published by the authors of Gumbel MuZero, on nodes with some actions visited."""
    config, nodes = SearchConfig(range_floor=1e-8), random_nodes(rng, least_visits=0)
    logits, q, value, visits = nodes
    bounds = jnp.zeros((len(value), 2))
    ours = scale_q(complete_q(q, visits, logits, value, config), visits, bounds, config)

    def theirs(tree: mctx.Tree) -> jax.Array:
        return mctx.qtransform_completed_by_mix_value(tree, jnp.array(0), value_scale=0.1, maxvisit_init=50.0)

    found = jax.jit(lambda: jax.vmap(theirs)(nodes_of_mctx(nodes)))()
    np.testing.assert_allclose(ours, found, rtol=1e-4, atol=1e-4)
