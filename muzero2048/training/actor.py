"""The actor: E environments that play game after game, one move of all of them at a time.

When a game is over, `step_actor` replaces it by a new game in the same step. Both learners play with this actor; they
differ in how they choose the moves.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, UInt32

from muzero2048.game.env import STEP_DRAWS, Board, Game2048, Transition
from muzero2048.training.calibration import Mark, follow, init_mark

DRAWS = STEP_DRAWS + 1  # of `step_actor` for each environment; the last one moves the mark


class ActorState(NamedTuple):
    """E environments and the games in progress in them."""

    board: Board  # words of [E]
    score: Int[Array, "E"]  # points since the start of the game
    moves: Int[Array, "E"]  # moves since the start of the game
    mark: Mark


class GameOutcome(NamedTuple):
    """The games directly after a move, before finished games are replaced."""

    score: Int[Array, "*B"]
    moves: Int[Array, "*B"]
    level: Int[Array, "*B"]  # log2 of the largest tile of the afterstate
    mark: Mark


def init_actor(game: Game2048, key: PRNGKeyArray, num_envs: int) -> ActorState:
    """Start a game in every environment."""
    opening_key, _ = jax.random.split(key)
    # Two separate arrays: training donates them, and the same buffer cannot be donated twice.
    score, moves = (jnp.zeros((num_envs,), jnp.int32) for _ in range(2))
    return ActorState(game.init(opening_key, (num_envs,)), score, moves, init_mark(num_envs))


def step_actor(
    game: Game2048,
    bits: UInt32[Array, "draws E"],
    actor: ActorState,
    action: Int[Array, "E"],
    value: Float[Array, "E"],
    discount: float,
) -> tuple[ActorState, Transition, GameOutcome]:
    """Make one move in every environment and replace finished games.

    Finished games are still present in the outcome. `bits` are DRAWS draws per environment. `value` is V of the
    positions before the moves; calibration.py compares it with the returns.
    """
    board, transition = game.step_from_bits(bits[:STEP_DRAWS], actor.board, action)
    score, moves = actor.score + transition.reward, actor.moves + 1
    mark = follow(actor.mark, bits[STEP_DRAWS], moves, value, transition.reward, discount)
    after, _ = game.afterstate(actor.board, action)  # XLA computes it once, together with the step
    level = game.to_cells(after).max(axis=(-2, -1)).astype(jnp.int32)
    continues = jnp.where(transition.done, 0, 1)
    following = ActorState(board, score * continues, moves * continues, mark)
    return following, transition, GameOutcome(score, moves, level, mark)
