"""Values and policies of a network from Python equal h and f; its searches equal those of its player."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx
from reference import rules

from muzero2048.muzero.network_player import make_player, network_setting
from muzero2048.muzero.trained_network import TrainedNetwork
from tests.muzero2048.toy_model import random_model, small_config

CONFIG = small_config(rows=2, columns=2)
BOARDS = np.array([[[1, 1], [0, 0]], [[1, 2], [2, 1]], [[3, 0], [1, 2]]])  # the second is over
SEARCH = dataclasses.replace(CONFIG.search, simulations=4)


@pytest.fixture(scope="module")
def network() -> TrainedNetwork:
    graphdef, params = nnx.split(random_model(CONFIG, seed=0))
    return TrainedNetwork(CONFIG, network_setting(CONFIG, graphdef), params)


def test_values_and_policies_are_those_of_the_model(network: TrainedNetwork):
    value, policy = network.evaluate(BOARDS)
    model = network.model()
    found = model.prediction(model.representation(jnp.asarray(BOARDS.reshape(3, 4), jnp.uint8)))
    expected = np.array(model.codec.decode(found.value_logits))
    np.testing.assert_allclose(value, expected * [1, 0, 1], rtol=1e-4)
    for i, board in enumerate(BOARDS.tolist()):
        legal = np.array(rules.legal_actions(tuple(map(tuple, board))))
        weights = np.exp(np.array(found.policy_logits[i], np.float64)) * legal
        np.testing.assert_allclose(policy[i], weights / max(weights.sum(), 1e-30), atol=1e-5)


def test_a_search_is_that_of_the_player(network: TrainedNetwork):
    plan = network.search(BOARDS, SEARCH)
    config = dataclasses.replace(CONFIG, search=SEARCH)
    player = make_player(config, network.setting.graphdef, network.params)
    analysis = player.analyse(BOARDS.astype(np.uint8), np.zeros(3, np.uint32))
    live = [0, 2]
    assert plan.action[live].tolist() == analysis.action[live].tolist()
    assert (plan.visits[live] == analysis.effort[live]).all()
    seen = plan.visits > 0
    np.testing.assert_allclose(plan.q_values[live][seen[live]], analysis.value[live][seen[live]], rtol=1e-4)
    assert all(isinstance(one, np.ndarray) for one in plan)
    assert not isinstance(plan.action, jax.Array)


def test_arrays_that_are_no_boards_are_refused(network: TrainedNetwork):
    with pytest.raises(ValueError, match=r"give \[boards, 2, 2\]"):
        network.evaluate(np.zeros((1, 3, 3), int))
    with pytest.raises(ValueError, match="give levels of tiles"):
        network.search([[[1024, 2], [0, 0]]])
