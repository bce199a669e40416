"""The actor: E environments that play game after game, one move of all of them at a time.

When a game is over, `step_actor` replaces it by a new game in the same step. Both learners play with this actor; they
differ in how they choose the moves.

Shapes: `E` environments, `D` random draws, `*B` any leading axes (here [E] or [T, E], T moves of a chunk).
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, UInt32

from muzero2048.game.env import STEP_DRAWS, Board, Game2048, Transition
from muzero2048.game.starts import Starts, StartState, Step, make_starts
from muzero2048.training.calibration import Mark, follow, init_mark
from muzero2048.training.config import TrainingConfig


class ActorState(NamedTuple):
    """E environments and the games in progress in them."""

    board: Board  # words of [E]
    score: Int[Array, "E"]  # points since the start of the game, also where it did not begin with two tiles
    moves: Int[Array, "E"]  # moves since the start of the game
    normal: Bool[Array, "E"]  # the game began from a normal start
    starts: StartState
    mark: Mark


class Outcome(NamedTuple):
    """The games directly after a move, before finished games are replaced."""

    score: Int[Array, "*B"]
    moves: Int[Array, "*B"]
    normal: Bool[Array, "*B"]  # as in ActorState
    level: Int[Array, "*B"]  # log2 of the largest tile of the afterstate
    mark: Mark


def init_actor(game: Game2048, key: PRNGKeyArray, config: TrainingConfig) -> ActorState:
    """Start a game in every environment.

    The rule of starts is applied as if a game of one move had just ended in each environment.
    """
    num_envs = config.num_envs
    starts = make_starts(game, config.start)
    opening_key, start_key = jax.random.split(key)
    # Three separate arrays: training donates them, and the same buffer cannot be donated twice.
    score, moves, number = (jnp.zeros((num_envs,), jnp.int32) for _ in range(3))
    opening = game.init(opening_key, (num_envs,))
    bits = jax.random.bits(start_key, (starts.draws, num_envs), jnp.uint32)
    state, board, special = starts.step(
        bits, starts.init(num_envs), Step(opening, number, opening, jnp.ones((num_envs,), bool))
    )
    return ActorState(board, score, moves, ~special, state, init_mark(num_envs))


def draws(starts: Starts) -> int:
    """Return D, the random draws that `step_actor` needs for each environment."""
    return STEP_DRAWS + 1 + starts.draws


def step_actor(
    game: Game2048,
    starts: Starts,
    bits: UInt32[Array, "D E"],
    actor: ActorState,
    action: Int[Array, "E"],
    value: Float[Array, "E"],
    discount: float,
) -> tuple[ActorState, Transition, Outcome]:
    """Make one move in every environment and replace finished games.

    Finished games are still present in the outcome. `value` is V of the positions before the moves; calibration.py
    compares it with the returns.
    """
    board, transition = game.step_from_bits(bits[:STEP_DRAWS], actor.board, action)
    score, moves = actor.score + transition.reward, actor.moves + 1
    step = Step(actor.board, actor.moves, board, transition.done)
    start_state, board, special = starts.step(bits[STEP_DRAWS + 1 :], actor.starts, step)
    mark = follow(actor.mark, bits[STEP_DRAWS], moves, value, transition.reward, discount)
    after, _ = game.afterstate(actor.board, action)  # XLA computes it once, together with the step
    level = game.to_cells(after).max(axis=(-2, -1)).astype(jnp.int32)
    continues = jnp.where(transition.done, 0, 1)
    normal = jnp.where(transition.done, ~special, actor.normal)
    following = ActorState(board, score * continues, moves * continues, normal, start_state, mark)
    return following, transition, Outcome(score, moves, actor.normal, level, mark)
