"""Epsilon-greedy self-play: a chunk of moves in all environments, with their value targets."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, UInt8

from muzero2048.deep_td.config import DeepTDConfig
from muzero2048.deep_td.network import ValueNetwork, q_values
from muzero2048.training.actor import DRAWS, ActorState, GameOutcome, step_actor
from muzero2048.training.game_metrics import GameStatistics, game_statistics
from muzero2048.training.returns import lambda_returns


class Experience(NamedTuple):
    """A move as replay stores it and an update learns from it."""

    cells: UInt8[Array, "*B O"]  # input of the network: the board after the move, for q_learning before it
    action: Int[Array, "*B"]
    target: Float[Array, "*B"]  # points


class Moves(NamedTuple):
    """The moves of a chunk, time-major."""

    cells: UInt8[Array, "*T E O"]  # as in Experience
    action: Int[Array, "*T E"]
    reward: Float[Array, "*T E"]
    done: Bool[Array, "*T E"]
    value: Float[Array, "*T E"]  # V(s) = max_a Q(s, a) before the move
    greedy: Bool[Array, "*T E"]  # the move is argmax_a Q(s, a)
    outcome: GameOutcome


def play_chunk(
    network: ValueNetwork,
    key: PRNGKeyArray,
    actor: ActorState,
    epsilon: Float[Array, ""],
    config: DeepTDConfig,
) -> tuple[ActorState, Experience, GameStatistics]:
    """Play `chunk` moves in every environment.

    Returns the games after the chunk, the experience [T, E, ...] and statistics of the games.
    """
    game = config.board_game

    def move(actor: ActorState, key: PRNGKeyArray) -> tuple[ActorState, Moves]:
        bits = jax.random.bits(key, (2 + DRAWS, *actor.score.shape), jnp.uint32)
        q = q_values(network, game, actor.board, config.discount)
        best = jnp.argmax(q, axis=-1)
        random = game.random_action_from_bits(bits[0], actor.board)
        uniform = (bits[1] >> 8).astype(jnp.float32) * 2.0**-24  # in [0, 1): a float32 has 24 bits
        action = jnp.where(uniform < epsilon, random, best)
        value = q.max(axis=-1)
        following, transition, outcome = step_actor(game, bits[2:], actor, action, value, config.discount)
        seen = actor.board if config.method == "q_learning" else game.afterstate(actor.board, action)[0]
        return following, Moves(
            cells=game.observe(seen),
            action=action.astype(jnp.int8),
            reward=transition.reward.astype(jnp.float32),
            done=transition.done,
            value=value,
            greedy=action == best,
            outcome=outcome,
        )

    actor, moves = jax.lax.scan(move, actor, jax.random.split(key, config.chunk))
    last_value = q_values(network, game, actor.board, config.discount).max(axis=-1)
    experience = Experience(moves.cells, moves.action, targets(moves, last_value, config))
    return actor, experience, game_statistics(moves.done, moves.outcome)


def targets(moves: Moves, last_value: Float[Array, "E"], config: DeepTDConfig) -> Float[Array, "T E"]:
    """Compute the targets of the values of the moves.

    G_t is the n-step lambda-return of move t (training/returns.py), with V(s) = max_a Q(s, a). lambda is 0 where the
    next move is not greedy, so all returns are those of greedy play (Watkins 1989, Q(lambda)).

        q_learning     target of Q(s_t, a_t):  G_t
        td_afterstate  target of V(as_t):      (G_t - r_t) / gamma

    With n = 1 these are r_t + gamma max_a Q(s_{t+1}, a) and max_a [r(s_{t+1}, a) + gamma V(as_{t+1})], 0 at the end of
    the game (Guei 2023, sec. 2.2).

    The targets are computed once, by the network that plays, as MuZero's are. There is no search and no target network;
    replay is short enough that the targets do not become outdated.
    """
    values = jnp.concatenate([moves.value, last_value[None]])
    # After the last move only the value of its state is used, so its entry of `follows` has no effect.
    follows = jnp.concatenate([moves.greedy[1:], jnp.ones_like(moves.greedy[:1])])
    td_lambda = config.td_lambda * follows.astype(jnp.float32)
    returns = lambda_returns(moves.reward, moves.done, values, config.discount, td_lambda, config.td_steps)
    return returns if config.method == "q_learning" else (returns - moves.reward) / config.discount
