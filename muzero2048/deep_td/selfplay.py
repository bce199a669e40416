"""Epsilon-greedy self-play: a chunk of moves in all environments, with their targets."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, UInt8, UInt32

from muzero2048.deep_td.config import DeepTDConfig
from muzero2048.deep_td.network import ValueNetwork, q_values
from muzero2048.game.env import Game2048
from muzero2048.game.starts import make_starts
from muzero2048.muzero.selfplay import ActorState, GameStatistics, Outcome, draws, game_statistics, step_actor
from muzero2048.muzero.targets import lambda_returns


class Experience(NamedTuple):
    """What replay keeps of a move, and an update learns from."""

    cells: UInt8[Array, "*B N"]  # what the network values: the board behind the move, or the one before it (q_learning)
    action: Int[Array, "*B"]
    target: Float[Array, "*B"]  # points


class Moves(NamedTuple):
    """Moves as they are made, time-major."""

    cells: UInt8[Array, "*T E N"]  # as in Experience
    action: Int[Array, "*T E"]
    reward: Float[Array, "*T E"]
    done: Bool[Array, "*T E"]
    value: Float[Array, "*T E"]  # max_a Q(s, a) before the move
    greedy: Bool[Array, "*T E"]  # the move is the best one
    outcome: Outcome


def play_chunk(
    network: ValueNetwork,
    key: PRNGKeyArray,
    game: Game2048,
    actor: ActorState,
    epsilon: Float[Array, ""],
    config: DeepTDConfig,
) -> tuple[ActorState, Experience, GameStatistics]:
    """Play `chunk` moves; the experience is [T, E, ...]."""
    starts = make_starts(game, config.start)

    def move(actor: ActorState, key: PRNGKeyArray) -> tuple[ActorState, Moves]:
        bits = jax.random.bits(key, (2 + draws(starts), *actor.score.shape), jnp.uint32)
        q = q_values(network, game, actor.board, config.discount)
        best = jnp.argmax(q, axis=-1)
        random = game.random_action_from_bits(bits[0], actor.board)
        action = jnp.where(_uniform(bits[1]) < epsilon, random, best)
        value = q.max(axis=-1)
        following, transition, outcome = step_actor(game, starts, bits[2:], actor, action, value, config.discount)
        seen = actor.board if config.method == "q_learning" else game.afterstate(actor.board, action)[0]
        return following, Moves(
            cells=game.flat_cells(seen),
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
    """What the values of the moves are trained towards.

    With G_t the lambda-return of n steps of move t (muzero/targets.py), V(s) = max_a Q(s, a), and lambda 0 before a
    move that is not the greedy one, so that all returns are those of greedy play (Watkins 1989, Q(lambda)):

        q_learning     Q(s_t, a_t)  towards  G_t
        td_afterstate  V(as_t)      towards  (G_t - r_t) / gamma

    With n = 1 these are r_t + gamma max_a Q(s_{t+1}, a) and max_a [r(s_{t+1}, a) + gamma V(as_{t+1})], 0 at the end of
    the game (Guei 2023, sec. 2.2). They are computed once, by the network that plays: neither search nor a second
    network is needed, as in MuZero's targets here, and replay is short enough for them to stay fresh.
    """
    values = jnp.concatenate([moves.value, last_value[None]])
    # Behind the last move there is nothing but its value: whether it is followed greedily makes no difference.
    follows = jnp.concatenate([moves.greedy[1:], jnp.ones_like(moves.greedy[:1])])
    td_lambda = config.td_lambda * follows.astype(jnp.float32)
    returns = lambda_returns(moves.reward, moves.done, values, config.discount, td_lambda, config.td_steps)
    return returns if config.method == "q_learning" else (returns - moves.reward) / config.discount


def _uniform(bits: UInt32[Array, "E"]) -> Float[Array, "E"]:
    return (bits >> 8).astype(jnp.float32) * 2.0**-24  # a float32 has 24 bits
