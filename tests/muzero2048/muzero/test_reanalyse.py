"""Tests of reanalysis: new targets are those of a search on the stored boards; other sequences do not change."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import positions, targets

from muzero2048.game.env import Game2048
from muzero2048.muzero.batches import Sequence
from muzero2048.muzero.new_targets import reanalyse
from muzero2048.search.config import SearchConfig
from muzero2048.search.dynamics import make_dynamics
from muzero2048.search.policies import make_root, plan
from muzero2048.training.devices import make_shardings
from tests.muzero2048.toy_model import random_model, small_config
from tests.settings import configured

B, K = 16, 3
GAME = Game2048(2, 3)


@pytest.mark.parametrize(
    ("share", "renewed", "visited", "bootstrap", "td_lambda", "td_steps"),
    [
        (0.25, range(0, B, 4), 4, "best_child", 0.5, 10),
        (0.5, range(0, B, 2), 2, "visit_mean", 0.5, 2),
        (1.0, range(B), 4, "network", 1.0, 10),
        (1.0, range(B), 4, "best_child", 0.0, 10),
        (1.0, range(B), 4, "best_child", 0.9, 1),
    ],
)
def test_targets_of_the_share_are_searched_anew(
    share: float, renewed: range, visited: int, bootstrap: str, td_lambda: float, td_steps: int
) -> None:
    """The search has no noise: with two visited moves, noise would change which ones these are."""
    search = configured(SearchConfig, simulations=visited, considered_actions=visited)
    config = small_config(search=search, bootstrap=bootstrap, td_lambda=td_lambda, td_steps=td_steps)
    config = dataclasses.replace(config, replay=dataclasses.replace(config.replay, batch_size=B, reanalyse=share))
    rng, model = np.random.default_rng(0), random_model(config, seed=1)
    boards = np.array([positions.random_board(rng, 2, 3, largest=6) for _ in range(B * (K + 1))], np.uint8)
    zeros = jnp.zeros((B, K + 1))
    reward, done = rng.integers(0, 9, (B, K + 1)).astype(np.float32), rng.random((B, K + 1)) < 0.3
    sequence = Sequence(
        cells=jnp.asarray(boards.reshape(B, K + 1, 6)),
        action=zeros.astype(jnp.int8),
        reward=jnp.asarray(reward),
        done=jnp.asarray(done),
        spawn_code=zeros.astype(jnp.int8),
        policy=jnp.asarray(rng.dirichlet(np.ones(4), (B, K + 1)), jnp.float32),
        value=jnp.asarray(rng.normal(size=(B, K + 1)), jnp.float32),
    )
    rows = make_shardings(config).cut
    found = jax.jit(lambda model, key: reanalyse(model, key, GAME, sequence, config, rows))(model, jax.random.key(0))

    dynamics = make_dynamics(model, GAME, config.search)
    seeds = jnp.zeros(len(boards), jnp.uint32)  # a search of depth 1 uses no random numbers
    root = make_root(dynamics, GAME, GAME.from_cells(jnp.asarray(boards)), seeds, None, config.search)
    expected = plan(dynamics, root, config.search, config.discount)[0]
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
