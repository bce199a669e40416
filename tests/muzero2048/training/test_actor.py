"""Test of the actor's first games. The self-play tests of both learners check that its moves obey the rules."""

import dataclasses

import jax
import numpy as np

from muzero2048.game.config import StartConfig
from muzero2048.game.env import Game2048
from muzero2048.training.actor import init_actor
from tests.muzero2048.toy_model import small_config
from tests.settings import configured


def test_the_first_games_begin_where_the_rule_says() -> None:
    config = dataclasses.replace(
        small_config(), num_envs=1024,
        start=configured(StartConfig, kind="jump_start", jump_tiles="64 32", jump_fraction=0.25),
        replay=dataclasses.replace(small_config().replay, capacity=1024 * 32),
    )  # fmt: skip
    actor = init_actor(Game2048(2, 3), jax.random.key(0), config)
    largest = np.asarray(Game2048(2, 3).to_cells(actor.board)).max(axis=(1, 2))
    np.testing.assert_array_equal(actor.normal, largest < 5)
    assert 0.7 < actor.normal.mean() < 0.8
