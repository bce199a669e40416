"""Tests of the rules at root, decision and chance nodes: by hand, against mctx, and over many visits."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import mctx
import numpy as np
import pytest
from mctx._src import seq_halving

from muzero2048.game.packed_lines import mix
from muzero2048.search.config import SearchConfig
from muzero2048.search.inner_rules import (
    argmax,
    inverse_cdf,
    node_seed,
    select_code,
    select_gumbel,
    select_puct,
)
from muzero2048.search.root_rules import halving_schedule
from tests.muzero2048.toy_model import nodes_of_mctx, random_nodes
from tests.settings import configured

CHANCE = ("ratio", "deficit", "quasi_random", "sampled", "weighted")
NO_BOUNDS = jnp.zeros(2)


@pytest.mark.parametrize("simulations", [1, 2, 4, 16, 33, 100])
def test_sequential_halving_equals_mctx(simulations: int) -> None:
    table = seq_halving.get_table_of_considered_visits(4, simulations)
    assert [tuple(halving_schedule(considered, simulations)) for considered in range(5)] == list(table)


def test_puct_by_hand() -> None:
    config = configured(SearchConfig, c_init=1.25, c_base=19652.0, range_floor=1.0)
    prior = jnp.array([0.1, 0.2, 0.6, 0.1])
    none = jnp.zeros(4, jnp.int32)

    def puct(q: list[float], visits: jax.Array, prior: jax.Array, value: float, config: SearchConfig) -> int:
        return int(select_puct(jnp.array(q), visits, jnp.log(prior), jnp.array(value), NO_BOUNDS, config))

    # Before any child is visited, the action of the largest prior is selected.
    assert puct([0.0] * 4, none, prior, 3.0, config) == 2
    # The node's value is 15, so q = (10, 20, 15, 15) is normalised to (0, 1, 1/2, 1/2). With 3 visits and the
    # node's own evaluation, the factor of the prior is c = sqrt(4) * 1.2502 = 2.5004. The scores are
    # 0.1 c / 3 + 0, 0.2 c / 2 + 1, 0.6 c + 1/2, 0.1 c + 1/2 = 0.083, 1.250, 2.000, 0.750.
    q, visits = [10.0, 20.0, 0.0, 0.0], jnp.array([2, 1, 0, 0])
    assert puct(q, visits, prior, 15.0, config) == 2
    # With prior 0.28 the score of action 2 is 0.700 + 0.5 = 1.200, and that of action 1 is 1 + 0.250 = 1.250.
    prior = jnp.array([0.42, 0.2, 0.28, 0.1])
    assert puct(q, visits, prior, 15.0, config) == 1
    # If the range is at least 100 points, the difference of 10 points is small, and prior 0.28 is selected again.
    assert puct(q, visits, prior, 15.0, dataclasses.replace(config, range_floor=100.0)) == 2
    # An illegal action is never selected, even with a large Q.
    assert puct([0.0, 1e6, 0.0, 0.0], visits, jnp.array([0.9, 0.0, 0.05, 0.05]), 0.0, config) != 1


def test_unvisited_actions_at_zero_by_hand() -> None:
    """The value of the node is 15 and q = (10, 20, -, -); c = 2.5004 as above."""
    visits, value, bounds = jnp.array([2, 1, 0, 0]), jnp.array(15.0), jnp.array([10.0, 110.0])

    def puct(prior: list[float], q: list[float], normalization: str) -> int:
        config = configured(SearchConfig, normalization=normalization, puct={"unvisited": "zero"})
        return int(select_puct(jnp.array(q), visits, jnp.log(jnp.array(prior)), value, bounds, config))

    # node: 0.2 c / 2 + 1 = 1.250 against 0.45 c = 1.125 and 0.55 c = 1.375; with the node's value, 0.45 c + 1/2.
    assert puct([0.25, 0.2, 0.45, 0.1], [10.0, 20.0, 99.0, 99.0], "node") == 1
    assert puct([0.15, 0.2, 0.55, 0.1], [10.0, 20.0, 99.0, 99.0], "node") == 2
    # tree: the range is 100 points, so q = 20 is 0.1: 0.5 c / 2 + 0.1 = 0.725 against 0.28 c = 0.700 and
    # 0.30 c = 0.750; the node's value would add 0.05 to the latter two.
    assert puct([0.12, 0.5, 0.28, 0.1], [10.0, 20.0, 99.0, 99.0], "tree") == 1
    assert puct([0.1, 0.5, 0.3, 0.1], [10.0, 20.0, 99.0, 99.0], "tree") == 2
    # 0 is the least of the tree, 10, and not that of the node, 15: 0.2 c / 2 + 1 = 1.250 against 0.49 c = 1.225.
    assert puct([0.21, 0.2, 0.49, 0.1], [60.0, 110.0, 99.0, 99.0], "tree") == 1


@pytest.mark.parametrize(("least_visits", "unvisited"), [(1, "node_value"), (0, "zero")])
def test_puct_equals_mctx(least_visits: int, unvisited: str, rng: np.random.Generator) -> None:
    """For unvisited actions mctx uses the least Q, as the rule `zero`."""
    nodes = random_nodes(rng, least_visits=least_visits)
    logits, q, value, visits = nodes
    config = configured(SearchConfig, range_floor=1e-8, puct={"unvisited": unvisited})
    ours = select_puct(q, visits, logits, value, jnp.zeros((len(value), 2)), config)

    def theirs(tree: mctx.Tree) -> jax.Array:
        return mctx.muzero_action_selection(jax.random.key(0), tree, jnp.array(0), jnp.array(1))

    with jax.numpy_rank_promotion("allow"):
        np.testing.assert_array_equal(ours, jax.jit(lambda: jax.vmap(theirs)(nodes_of_mctx(nodes)))())
    assert len(np.unique(ours)) == 4


def test_gumbel_inside_equals_mctx(rng: np.random.Generator) -> None:
    nodes = random_nodes(rng, least_visits=0)
    logits, q, value, visits = nodes
    ours = select_gumbel(q, visits, logits, value, jnp.zeros((len(value), 2)), SearchConfig(range_floor=1e-8))
    transform = functools.partial(mctx.qtransform_completed_by_mix_value, value_scale=0.1, maxvisit_init=50.0)

    def theirs(tree: mctx.Tree) -> jax.Array:
        return mctx.gumbel_muzero_interior_action_selection(
            jax.random.key(0), tree, jnp.array(0), jnp.array(1), qtransform=transform
        )

    with jax.numpy_rank_promotion("allow"):
        np.testing.assert_array_equal(ours, jax.jit(lambda: jax.vmap(theirs)(nodes_of_mctx(nodes)))())
    assert len(np.unique(ours)) == 4


@functools.partial(jax.jit, static_argnums=(2, 3))
def visit_codes(probabilities: jax.Array, seed: jax.Array, chance: str, count: int) -> jax.Array:
    """Return the codes of the first `count` visits of a node."""
    config = SearchConfig(chance=chance)

    def visit(visits: jax.Array, _: None) -> tuple[jax.Array, jax.Array]:
        code = select_code(probabilities, visits, seed, config)
        return visits.at[code].add(1), code

    return jax.lax.scan(visit, jnp.zeros(probabilities.shape, jnp.int32), None, length=count)[1]


@pytest.mark.parametrize(
    ("chance", "codes"),
    [
        # p / (n + 1) before each visit:
        # .5, .312, .188; .25, .312, .188; .25, .156, .188; .167, .156, .188; .167, .156, .094; .125, .156, .094
        ("ratio", [0, 1, 0, 2, 0, 1]),
        # p (N + 1) - n before each visit:
        # .5, .312, .188; 0, .625, .375; .5, -.062, .562; 1, .25, -.25; .5, .562, -.062; 1, -.125, .125
        ("deficit", [0, 1, 2, 0, 1, 0]),
        # Each possible code once, then the code of largest p (N + 1) - n.
        ("weighted", [0, 1, 2, 0, 1, 0]),
    ],
)
def test_order_of_codes_by_hand(chance: str, codes: list[int]) -> None:
    probabilities = jnp.array([0.5, 0.3125, 0.1875, 0.0])
    assert visit_codes(probabilities, jnp.uint32(0), chance, 6).tolist() == codes


@pytest.mark.parametrize("chance", CHANCE)
def test_only_possible_codes(chance: str, rng: np.random.Generator) -> None:
    for probabilities in ([0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.5, 0.5]):
        for seed in rng.integers(0, 2**32, 3):
            codes = visit_codes(jnp.array(probabilities), jnp.uint32(seed), chance, 40)
            assert {probabilities[code] > 0 for code in codes.tolist()} == {True}


@pytest.mark.parametrize("chance", ["deficit", "quasi_random"])
def test_visits_follow_the_probabilities_closely(chance: str, rng: np.random.Generator) -> None:
    """After n visits of a node, the visits of a code differ from n p by at most a few.

    So their share converges like 1 / n. With sampling the difference is of the order of sqrt(n).
    """
    count = np.arange(1, 501)[:, None]
    for _ in range(5):
        probabilities = rng.dirichlet(np.ones(12)).astype(np.float32)
        codes = visit_codes(jnp.asarray(probabilities), jnp.uint32(rng.integers(2**32)), chance, 500)
        off = np.abs(np.cumsum(np.eye(12)[np.asarray(codes)], axis=0) - count * probabilities)
        assert off.max() < (1.9 if chance == "deficit" else 4.0)
        sampled = visit_codes(jnp.asarray(probabilities), jnp.uint32(3), "sampled", 500)
        assert np.abs(np.bincount(np.asarray(sampled), minlength=12) - 500 * probabilities).max() > 4.0


@pytest.mark.parametrize("chance", ["quasi_random", "sampled"])
def test_draws_follow_the_distribution(chance: str) -> None:
    """Over many seeds, the 1st, 2nd and 8th visit of a node are unbiased: chi-square with 5 degrees of freedom."""
    probabilities, draws = jnp.array([0.3, 0.0, 0.05, 0.25, 0.1, 0.1, 0.2]), 20_000
    seeds = node_seed(jnp.arange(draws, dtype=jnp.uint32), jnp.full(draws, 7))
    codes = jax.vmap(lambda seed: visit_codes(probabilities, seed, chance, 8))(seeds)
    possible = np.flatnonzero(probabilities)
    for visit in (0, 1, 7):
        counts = np.bincount(np.asarray(codes[:, visit]), minlength=7)
        assert counts[1] == 0
        expected = draws * np.asarray(probabilities)[possible]
        assert np.sum((counts[possible] - expected) ** 2 / expected) < 20.5  # exceeded with probability 0.001
    if chance == "sampled":  # visits are independent of each other
        joint = np.histogram2d(codes[:, 0], codes[:, 1], bins=(7, 7), range=((0, 7), (0, 7)))[0][
            np.ix_(possible, possible)
        ]
        expected = draws * np.outer(probabilities, probabilities)[np.ix_(possible, possible)]
        assert np.sum((joint - expected) ** 2 / expected) < 67  # 35 degrees of freedom, exceeded with probability 0.001


def test_inverse_cdf_at_the_ends() -> None:
    draws = jnp.array([0, 1, 2**31, 2**32 - 1], jnp.uint32)
    for probabilities, codes in (
        ([0.0, 0.25, 0.0, 0.75, 0.0], [1, 1, 3, 3]),
        ([0.0, 0.0, 1.0, 0.0, 0.0], [2] * 4),
        ([0.5, 0.0, 0.0, 0.0, 0.5], [0, 0, 4, 4]),
        ([0.1, 0.1, 0.1, 0.1, 0.1], [0, 0, 2, 4]),  # the sum need not be 1
    ):
        assert inverse_cdf(jnp.tile(jnp.array(probabilities), (4, 1)), draws).tolist() == codes


@pytest.mark.parametrize("parallel", [False, True])
def test_inverse_cdf_never_picks_the_impossible(
    parallel: bool, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Test draws next to the steps of the CDF, where rounding matters; also with prefix sums added as a tree."""
    if parallel:
        monkeypatch.setattr(jnp, "cumsum", lambda x, axis: jax.lax.associative_scan(jnp.add, x, axis=x.ndim + axis))
    probabilities = rng.random((500, 32)) * (rng.random((500, 32)) < 0.5)
    probabilities = jnp.asarray(probabilities / probabilities.sum(axis=1, keepdims=True), jnp.float32)
    steps = np.cumsum(probabilities, axis=1)[:, ::3]
    for offset in range(-2, 3):
        draws = (np.clip(steps * 2**23 + offset, 0, 2**23 - 1).astype(np.uint32) << np.uint32(9)).T
        for draw in draws:
            codes = np.asarray(inverse_cdf(probabilities, jnp.asarray(draw)))
            assert (np.asarray(probabilities)[np.arange(500), codes] > 0).all()


def test_seeds_of_nodes_differ() -> None:
    words = np.asarray(mix(jnp.arange(2**16, dtype=jnp.uint32) * np.uint32(65537)))
    assert len(np.unique(words)) == 2**16  # a bijection
    assert abs(np.unpackbits(words.view(np.uint8)).mean() - 0.5) < 0.01
    seeds, nodes = np.meshgrid(np.arange(64, dtype=np.uint32), np.arange(64), indexing="ij")
    assert len(np.unique(node_seed(jnp.asarray(seeds.ravel()), jnp.asarray(nodes.ravel())))) == 64 * 64


def test_argmax_equals_numpy(rng: np.random.Generator) -> None:
    scores = rng.normal(size=(500, 7)).astype(np.float32)
    scores[:100] = scores[:100].round()  # ties, and zeros of both signs
    scores[100:200] = -np.abs(scores[100:200])
    scores[200:300][rng.random((100, 7)) < 0.5] = -np.inf
    scores[300:310] = -np.inf
    scores[310:320, 3] = np.inf
    scores[320:330] = -(10.0 ** rng.uniform(-40, 38, (10, 7)))
    scores[scores == 0] = 0.0  # zeros of one sign: +0 and -0 differ as integers
    np.testing.assert_array_equal(argmax(jnp.asarray(scores)), scores.argmax(axis=1))
    np.testing.assert_array_equal(argmax(jnp.asarray(scores.reshape(5, 100, 7))), scores.argmax(axis=1).reshape(5, 100))
