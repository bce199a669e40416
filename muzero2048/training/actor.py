"""The actor: E environments that play game after game, one move of all of them at a time.

When a game is over, `step_actor` replaces it by a new game in the same step. Both learners play with this actor; they
differ in how they choose the moves.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, UInt32

from muzero2048.game.env import STEP_DRAWS, Board, BoardGame, Transition
from muzero2048.training.calibration import Mark, follow, init_mark

DRAWS = STEP_DRAWS + 1  # of `step_actor` for each environment; the last one moves the mark


class ActorState(NamedTuple):
    """E environments and the games in progress in them."""

    board: Board  # words of [E]
    score: Int[Array, "E"]  # points of the game so far
    moves: Int[Array, "E"]  # moves since the start of the game
    mark: Mark


class GameOutcome(NamedTuple):
    """The games directly after a move, before finished games are replaced."""

    score: Int[Array, "*B"]
    moves: Int[Array, "*B"]
    level: Int[Array, "*B"]  # level of the largest tile of the afterstate
    mark: Mark


def init_actor(game: BoardGame, key: PRNGKeyArray, num_envs: int) -> ActorState:
    """Start a game in every environment."""
    opening_key, _ = jax.random.split(key)
    board = game.init(opening_key, (num_envs,))
    # Zeros of score and moves are separate arrays: training donates them, and no buffer can be donated twice.
    return ActorState(board, game.opening_points(board), jnp.zeros((num_envs,), jnp.int32), init_mark(num_envs))


def step_actor(
    game: BoardGame,
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
    new_score = jnp.where(transition.done, game.opening_points(board), score)
    following = ActorState(board, new_score, jnp.where(transition.done, 0, moves), mark)
    return following, transition, GameOutcome(score, moves, level, mark)
