"""Tests of the actor's first games and of its draws. The tests of self-play check that its moves obey the rules."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from muzero2048.game.config import StartConfig
from muzero2048.game.env import STEP_DRAWS, Game2048
from muzero2048.game.starts import Starts
from muzero2048.training.actor import draws, init_actor, step_actor
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


def test_each_draw_has_one_reader() -> None:
    """The spawn, the opening of a new game, the mark and the rule of starts must not depend on each other.

    The first row of draws decides the spawn, the second the opening, the third the mark, the others the start.
    """
    config = dataclasses.replace(
        small_config(rows=2, columns=2), num_envs=64, replay=dataclasses.replace(small_config().replay, capacity=2048)
    )
    game, actor = Game2048(2, 2), init_actor(Game2048(2, 2), jax.random.key(0), config)
    # After a move to the left most of these games are over.
    board = game.from_cells(jnp.tile(jnp.array([[[1, 2], [3, 3]]], jnp.uint8), (64, 1, 1)))
    starts = Starts(2, lambda num_envs: jnp.zeros((2, num_envs), jnp.uint32),
                    lambda bits, state, step: (bits, step.after, jnp.zeros_like(step.done)))  # fmt: skip
    actor = actor._replace(board=board, moves=jnp.full(64, 5), starts=starts.init(64))
    bits = np.random.default_rng(0).integers(0, 2**32, (2, draws(starts), 64), np.uint32)
    assert len(bits[0]) == 5

    @jax.jit
    def outcomes(bits: jax.Array) -> list[jax.Array]:
        following, transition, outcome = step_actor(
            game, starts, bits, actor, jnp.full(64, 3), jnp.full(64, 7.0), config.discount
        )
        opening = jnp.where(transition.done[:, None, None], game.to_cells(following.board), 0)
        return [transition.spawn_code, opening, outcome.mark.value, *following.starts]

    before = outcomes(bits[0])
    np.testing.assert_array_equal(before[3:], bits[0, STEP_DRAWS + 1 :])
    for row in range(1, 5):  # row 0 also decides which games end
        changed = bits[0].copy()
        changed[row] = bits[1, row]
        after = outcomes(changed)
        assert [not np.array_equal(x, y) for x, y in zip(before, after, strict=True)] == list(np.arange(5) == row)
