"""Tests of reanalysis, with targets of a search on the stored boards, and of fresh values of the network of now."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import positions, targets

from muzero2048.game.env import Game2048
from muzero2048.models.base import Model
from muzero2048.muzero.batches import Sequence
from muzero2048.muzero.new_targets import fresh_values, reanalyse
from muzero2048.search.base import Plan, Root
from muzero2048.search.config import SearchConfig
from muzero2048.search.dynamics import make_dynamics
from muzero2048.search.plan_move import make_root, plan
from muzero2048.training.devices import make_shardings
from tests.muzero2048.toy_model import random_model, small_config
from tests.settings import configured

B, K = 16, 3
GAME = Game2048(2, 3)


def random_sequence(moves: int) -> Sequence:
    rng, shape = np.random.default_rng(0), (B, moves)
    boards = np.array([positions.random_board(rng, 2, 3, largest=6) for _ in range(B * moves)], np.uint8)
    return Sequence(
        cells=jnp.asarray(boards.reshape(B, moves, 6)),
        action=jnp.zeros(shape, jnp.int8),
        reward=jnp.asarray(rng.integers(0, 9, shape), jnp.float32),
        done=jnp.asarray(rng.random(shape) < 0.3),
        spawn_code=jnp.zeros(shape, jnp.int8),
        policy=jnp.asarray(rng.dirichlet(np.ones(4), shape), jnp.float32),
        value=jnp.asarray(rng.normal(size=shape), jnp.float32),
    )


@pytest.mark.parametrize(
    ("share", "renewed", "visited", "bootstrap", "td_lambda", "td_steps"),
    [
        pytest.param(0.25, range(0, B, 4), 4, "best_child", 0.5, 10, marks=pytest.mark.slow),
        (0.5, range(0, B, 2), 2, "visit_mean", 0.5, 2),
        pytest.param(1.0, range(B), 4, "network", 1.0, 10, marks=pytest.mark.slow),
    ],
)
def test_targets_of_the_share_are_searched_anew(
    share: float, renewed: range, visited: int, bootstrap: str, td_lambda: float, td_steps: int
) -> None:
    """The search has no noise: with two visited moves, noise would change which ones these are. n is that of play."""
    search = configured(SearchConfig, simulations=visited, considered_actions=visited)
    config = small_config(
        search=search, bootstrap=bootstrap, td_lambda=td_lambda, td_steps=td_steps, self_play_simulations=1
    )
    config = dataclasses.replace(config, replay=dataclasses.replace(config.replay, batch_size=B, reanalyse=share))
    model, sequence = random_model(config, seed=1), random_sequence(K + 1)
    boards, reward, done = sequence.cells.reshape(-1, 2, 3), np.asarray(sequence.reward), np.asarray(sequence.done)
    rows = make_shardings(config).cut
    found = jax.jit(lambda model, key: reanalyse(model, key, sequence, config, rows))(model, jax.random.key(0))

    @jax.jit
    def search_all(model: Model) -> tuple[Root, Plan]:
        dynamics = make_dynamics(model, GAME, config.search)
        seeds = jnp.zeros(len(boards), jnp.uint32)  # a search of depth 1 uses no random numbers
        root = make_root(dynamics, GAME, GAME.from_cells(boards), seeds, None, config.search)
        return root, plan(dynamics, root, config.search, config.discount)[0]

    root, expected = jax.device_get(search_all(model))
    policy, value = np.array(sequence.policy), np.array(sequence.value)
    policy[renewed] = expected.policy_target.reshape(B, K + 1, 4)[np.array(renewed)]
    visits, q = np.asarray(expected.visits), np.asarray(expected.q_values, float)
    values = {
        "best_child": np.where(visits > 0, q, -np.inf).max(axis=1),
        "visit_mean": (visits * q).sum(axis=1) / np.maximum(visits.sum(axis=1), 1),
        "network": np.asarray(root.value),
    }
    searched = np.where(np.asarray(root.legal).any(axis=1), values[bootstrap], 0.0).reshape(B, K + 1)
    for row in renewed:
        moves = reward[row, :K], done[row, :K], searched[row]  # K moves and the K+1 values around them
        for k in range(K + 1):
            value[row, k] = targets.lambda_return(k, *moves, config.discount, td_lambda, td_steps)
    np.testing.assert_allclose(found.policy, policy, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(found.value, value, rtol=1e-4, atol=1e-4)
    jax.tree.map(
        np.testing.assert_array_equal,
        found._replace(policy=policy, value=value),
        sequence._replace(policy=policy, value=value),
    )


@pytest.mark.parametrize(("steps", "long_steps"), [(1, 0), (4, 0), (2, 5)])
def test_fresh_values_equal_a_plain_loop(steps: int, long_steps: int) -> None:
    """They are n-step returns, or means of two; the last moves of a sequence give values alone."""
    config = small_config(discount=0.9, unroll_steps=K, report_env_steps=300)
    fresh = {"fresh_steps": steps, "fresh_long_steps": long_steps, "fresh_long_weight": 0.3}
    config = dataclasses.replace(config, replay=dataclasses.replace(config.replay, **fresh))
    assert config.sequence == K + 1 + max(steps, long_steps)
    model, sequence = random_model(config, seed=1), random_sequence(config.sequence)

    @jax.jit
    def both(model: Model) -> tuple[Sequence, jax.Array]:
        logits = model.prediction(model.representation(sequence.cells.reshape(-1, 6))).value_logits
        return fresh_values(model, sequence, config), model.codec.decode(logits)

    found, values = both(model)
    value = np.asarray(values, float).reshape(B, -1)
    reward, done = (np.asarray(x)[:, :-1] for x in (sequence.reward, sequence.done))
    for row in range(B):

        def returns(n: int, row: int = row) -> np.ndarray:
            moves = reward[row], done[row], value[row]
            return np.array([targets.lambda_return(k, *moves, 0.9, 1.0, n) for k in range(K + 1)])

        expected = 0.7 * returns(steps) + 0.3 * returns(long_steps) if long_steps else returns(steps)
        np.testing.assert_allclose(found.value[row], expected, rtol=1e-4)
    first = jax.tree.map(lambda x: x[:, : K + 1], sequence)
    jax.tree.map(np.testing.assert_array_equal, found._replace(value=first.value), first)
    assert done.any()
