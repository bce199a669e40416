"""Tests of the actor's draws. The tests of self-play check that its moves obey the rules."""

import jax
import jax.numpy as jnp
import numpy as np

from muzero2048.game.env import Game2048
from muzero2048.training.actor import DRAWS, init_actor, step_actor


def test_each_draw_has_one_reader() -> None:
    """The first row of draws decides the spawn, the second the opening of a new game, the third the mark."""
    game, actor = Game2048(2, 2), init_actor(Game2048(2, 2), jax.random.key(0), 64)
    # After a move to the left most of these games are over.
    board = game.from_cells(jnp.tile(jnp.array([[[1, 2], [3, 3]]], jnp.uint8), (64, 1, 1)))
    actor = actor._replace(board=board, moves=jnp.full(64, 5))
    bits = np.random.default_rng(0).integers(0, 2**32, (2, DRAWS, 64), np.uint32)

    @jax.jit
    def outcomes(bits: jax.Array) -> list[jax.Array]:
        following, transition, outcome = step_actor(game, bits, actor, jnp.full(64, 3), jnp.full(64, 7.0), 0.9)
        opening = jnp.where(transition.done[:, None, None], game.to_cells(following.board), 0)
        return [transition.spawn_code, opening, outcome.mark.value]

    before = outcomes(bits[0])
    for row in range(1, 3):  # row 0 also decides which games end
        changed = bits[0].copy()
        changed[row] = bits[1, row]
        after = outcomes(changed)
        assert [not np.array_equal(x, y) for x, y in zip(before, after, strict=True)] == list(np.arange(3) == row)
