"""The statistics of the root by hand and against mctx; the search of depth 1 against the tree search."""

import functools

import jax
import jax.numpy as jnp
import mctx
import numpy as np
import pytest
from reference import positions, rules

from muzero2048.config import SearchConfig
from muzero2048.model import Model
from muzero2048.search import ILLEGAL, Plan, Root, complete_q, make_root, plan, plan_one_step, read_out, scale_q
from muzero2048.tree import plan_tree

from .toy_model import KINDS, ToyModel, random_model, random_tables, small_config


def test_completed_q_by_hand() -> None:
    # Visited: action 0 (3 visits, q 10) and 2 (1 visit, q 30) of prior 1/2 and 1/4; weighted q (5 + 7.5) / 0.75;
    # mixed value (20 + 4 * 50/3) / 5.
    logits = jnp.log(jnp.array([0.5, 0.125, 0.25, 0.125]))
    q = complete_q(jnp.array([10.0, 99.0, 30.0, 99.0]), jnp.array([3, 0, 1, 0]), logits, jnp.array(20.0))
    mixed = (20 + 4 * 50 / 3) / 5
    np.testing.assert_allclose(q, [10.0, mixed, 30.0, mixed], rtol=1e-6)


def test_nothing_visited_is_worth_the_value() -> None:
    q = complete_q(jnp.full(4, 99.0), jnp.zeros(4, jnp.int32), jnp.zeros(4), jnp.array(7.0))
    assert q.tolist() == [7.0] * 4


def test_sigma_by_hand() -> None:
    completed, visits = jnp.array([10.0, 20.0, 15.0, 10.0]), jnp.array([3, 1, 0, 0])
    node = SearchConfig(c_visit=50.0, c_scale=0.1)
    np.testing.assert_allclose(scale_q(completed, visits, node), 5.3 * np.array([0.0, 1.0, 0.5, 0.0]), rtol=1e-6)
    floored = SearchConfig(c_visit=50.0, c_scale=0.1, range_floor=100.0)
    np.testing.assert_allclose(scale_q(completed, visits, floored), 5.3 * np.array([0, 0.1, 0.05, 0]), rtol=1e-6)
    fixed = SearchConfig(c_visit=50.0, c_scale=0.1, normalization="fixed", value_scale=10.0)
    sigma = scale_q(completed, visits, fixed)
    np.testing.assert_allclose(sigma - sigma[0], 5.3 * np.array([0.0, 1.0, 0.5, 0.0]), rtol=1e-5)


def test_sigma_equals_mctx(rng: np.random.Generator) -> None:
    """Against the transform that Gumbel MuZero's authors published, on roots with some actions visited."""
    batch, config = 64, SearchConfig(range_floor=1e-8)
    logits = jnp.asarray(rng.normal(size=(batch, 4)), jnp.float32)
    q = jnp.asarray(rng.normal(100.0, 50.0, (batch, 4)), jnp.float32)
    value = jnp.asarray(rng.normal(100.0, 50.0, batch), jnp.float32)
    visits = jnp.asarray(rng.integers(0, 3, (batch, 4)))
    ours = scale_q(complete_q(q, visits, logits, value), visits, config)

    def theirs(logits: jax.Array, q: jax.Array, value: jax.Array, visits: jax.Array) -> jax.Array:
        zeros = jnp.zeros((1, 4))
        tree = mctx.Tree(
            node_visits=jnp.ones(1), raw_values=value[None], node_values=value[None],
            parents=jnp.zeros(1, int), action_from_parent=jnp.zeros(1, int), children_index=jnp.zeros((1, 4), int),
            children_prior_logits=logits[None], children_visits=visits[None], children_rewards=q[None],
            children_discounts=zeros, children_values=zeros, embeddings=jnp.zeros(1),
            root_invalid_actions=jnp.zeros(4), extra_data=None,
        )  # fmt: skip
        return mctx.qtransform_completed_by_mix_value(tree, jnp.array(0), value_scale=0.1, maxvisit_init=50.0)

    np.testing.assert_allclose(ours, jax.vmap(theirs)(logits, q, value, visits), rtol=1e-4, atol=1e-4)


def root_of(legal: list[bool], gumbel: list[float], logits: list[float], value: float = 0.0) -> Root:
    masked = jnp.where(jnp.array([legal]), jnp.array([logits]), ILLEGAL)
    return Root(jnp.zeros(1, jnp.int32), masked, jnp.array([value]), jnp.array([legal]), jnp.array([gumbel]))


def test_read_out_by_hand() -> None:
    config = SearchConfig(c_visit=1.0, c_scale=1.0, normalization="fixed", value_scale=1.0)
    q, visits = jnp.array([[1.0, 3.0, 2.0, 50.0]]), jnp.array([[2, 1, 2, 0]])
    root = root_of([True, True, True, False], [0.0, 0.0, -1.0, 0.0], [0.0] * 4, value=2.0)
    found = read_out(root, q, visits, config)
    # Only the most visited actions 0 and 2 compete: sigma is 3 q, so 2 leads by 3 - 1.
    assert found.action.tolist() == [2]
    # The target is free of the noise and ranges over all legal actions: softmax of 3 * (1, 3, 2).
    weights = np.exp([3.0, 9.0, 6.0, -np.inf])
    np.testing.assert_allclose(found.policy_target[0], weights / weights.sum(), rtol=1e-5)
    assert found.value.tolist() == [3.0]  # the best visited


def boards(shape: tuple[int, int], legal_moves: range, count: int) -> np.ndarray:
    rng = np.random.default_rng(3)
    found: list[rules.Board] = []
    while len(found) < count:
        board = positions.random_board(rng, *shape, largest=6)
        if sum(rules.legal_actions(board)) in legal_moves:
            found.append(board)
    return np.array(found, np.uint8).reshape(count, -1)


def legal_of(cells: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    return np.array([rules.legal_actions(positions.as_board(board.reshape(shape))) for board in cells])


@functools.partial(jax.jit, static_argnums=3)
def both_plans(model: Model, cells: jax.Array, legal: jax.Array, config: SearchConfig) -> tuple[Plan, Plan]:
    root = make_root(model, jax.random.key(4), cells, legal, 1.0)
    return plan_one_step(model, root, config, 0.97), plan_tree(model, jax.random.key(5), root, config, 0.97)


@pytest.mark.parametrize(("kind", "n"), [(KINDS[0], 2), *((kind, 4) for kind in KINDS)])
def test_depth_1_equals_the_tree(kind: str, n: int) -> None:
    model = random_model(small_config(kind), seed=1)
    cells = boards((2, 3), range(4, 5), 32)
    config = SearchConfig(simulations=n, considered_actions=n)
    one_step, tree = jax.device_get(both_plans(model, cells, legal_of(cells, (2, 3)), config))
    np.testing.assert_array_equal(one_step.action, tree.action)
    np.testing.assert_array_equal(one_step.visits, tree.visits)
    np.testing.assert_array_equal(np.sort(one_step.visits, axis=-1), [[0] * (4 - n) + [1] * n] * 32)
    # sigma(q) magnifies the rounding of q fivefold.
    np.testing.assert_allclose(one_step.policy_target, tree.policy_target, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(one_step.q_values, tree.q_values, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(one_step.value, tree.value, rtol=1e-5, atol=1e-6)
    assert len(np.unique(one_step.action)) == 4


TOY = ToyModel(random_tables(0))


@pytest.mark.parametrize("n", [3, 4])
def test_depth_1_equals_mctx(n: int) -> None:
    """Gumbel MuZero by its authors, to which an afterstate is just the next state; roots of 4 and 3 legal moves."""
    batch = 30
    key, config = jax.random.key(11), SearchConfig(simulations=n, considered_actions=n, range_floor=1e-8)
    state = jnp.arange(batch)
    legal = jnp.ones((batch, 4), bool).at[::2, 1].set(n == 4)
    # The noise that mctx draws from this key.
    gumbel = jax.random.gumbel(jax.random.split(key)[1], (batch, 4), jnp.float32)
    prediction = TOY.prediction(state)
    logits = jnp.where(legal, prediction.policy_logits, ILLEGAL)
    root = Root(state, logits, prediction.value_logits[:, 0], legal, gumbel)
    ours = plan_one_step(TOY, root, config, 0.9)

    def recurrent(params: None, key: jax.Array, action: jax.Array, state: jax.Array):
        afterstate, reward = TOY.afterstate_dynamics(state, action)
        value = TOY.afterstate_prediction(afterstate).value_logits[:, 0]
        return mctx.RecurrentFnOutput(
            reward=reward, discount=jnp.full(batch, 0.9), prior_logits=jnp.zeros((batch, 4)), value=value
        ), afterstate

    with jax.numpy_rank_promotion("allow"):
        policy = functools.partial(
            mctx.gumbel_muzero_policy,
            recurrent_fn=recurrent,
            num_simulations=n,
            max_num_considered_actions=n,
            qtransform=functools.partial(mctx.qtransform_completed_by_mix_value, value_scale=0.1, maxvisit_init=50.0),
        )
        their_root = mctx.RootFnOutput(prior_logits=prediction.policy_logits, value=root.value, embedding=state)
        theirs = jax.jit(policy)(None, key, their_root, invalid_actions=~legal)
    np.testing.assert_array_equal(ours.action, theirs.action)
    np.testing.assert_array_equal(ours.visits, theirs.search_tree.summary().visit_counts)
    np.testing.assert_allclose(ours.policy_target, theirs.action_weights, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("n", [3, 16])
def test_illegal_and_dead(n: int) -> None:
    """Illegal actions get neither visits nor target; the only legal one is chosen; a dead board is worth 0."""
    cells = np.concatenate([boards((2, 3), moves, 16) for moves in (range(1, 5), range(1), range(1, 2))])
    legal = legal_of(cells, (2, 3))
    config = SearchConfig(simulations=n, considered_actions=3)

    @jax.jit
    def search(cells: jax.Array, legal: jax.Array) -> Plan:
        return plan(TOY, jax.random.key(1), make_root(TOY, jax.random.key(0), cells, legal, 1.0), config, 0.9)

    found = jax.device_get(search(cells, legal))
    assert all(np.isfinite(field).all() for field in found)
    live = legal.any(axis=1)
    assert live.sum() == 32
    assert legal[live, found.action[live]].all()
    assert (found.policy_target[~legal] == 0).all()
    np.testing.assert_allclose(found.policy_target[live].sum(axis=1), 1.0, rtol=1e-6)
    assert (found.policy_target[~live] == 0).all()
    assert (found.value[~live] == 0).all()
    assert (found.visits[live][~legal[live]] == 0).all()
    # n <= m: no action is visited twice; else the tree spends all its simulations.
    counts = np.minimum(legal.sum(axis=1), n) if n <= 3 else np.full(len(legal), n)
    np.testing.assert_array_equal(found.visits.sum(axis=1)[live], counts[live])
    single = legal.sum(axis=1) == 1
    np.testing.assert_array_equal(found.action[single], legal[single].argmax(axis=1))
    np.testing.assert_allclose(found.policy_target[single].max(axis=1), 1.0)


def test_the_noise_decides_what_is_considered() -> None:
    """Gumbel top-m samples actions by their prior without replacement: the first place follows the policy itself."""
    draws = 20_000

    @jax.jit
    def search() -> Plan:
        cells, legal = jnp.zeros((draws, 6), jnp.uint8), jnp.ones((draws, 4), bool)
        root = make_root(TOY, jax.random.key(0), cells, legal, gumbel_scale=1.0)
        return plan_one_step(TOY, root, SearchConfig(simulations=1, considered_actions=1), 0.9)

    visits = search().visits
    np.testing.assert_allclose(visits.mean(axis=0), jax.nn.softmax(TOY.tables.policy_logits[0]), atol=0.015)
    quiet = make_root(TOY, jax.random.key(0), jnp.zeros((3, 6), jnp.uint8), jnp.ones((3, 4), bool), gumbel_scale=0.0)
    assert not quiet.gumbel.any()
