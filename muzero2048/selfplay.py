"""Self-play: a chunk of moves in all environments as one jitted scan."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, UInt32

from muzero2048.config import MuZeroConfig, SearchConfig
from muzero2048.env import STEP_DRAWS, Board, Game2048, Transition
from muzero2048.model import Model
from muzero2048.search.base import Dynamics, Plan
from muzero2048.search.dynamics import make_dynamics
from muzero2048.search.plan import make_root, plan
from muzero2048.targets import Sequence, lambda_returns


class ActorState(NamedTuple):
    """E environments and the games in progress in them."""

    board: Board  # words of [E]
    score: Int[Array, "E"]
    moves: Int[Array, "E"]


class GameStatistics(NamedTuple):
    """Sums over the games that ended in a chunk."""

    games: Int[Array, ""]
    score_sum: Float[Array, ""]
    score_max: Int[Array, ""]
    moves_sum: Float[Array, ""]
    reached: Int[Array, "levels"]  # games that ended with a largest tile of at least 2^level


class PlayStatistics(NamedTuple):
    """Sums over the games that ended in a chunk, and means over its moves."""

    ended: GameStatistics
    target_entropy: Float[Array, ""]  # mean entropy of the policy targets, nats
    q_range: Float[Array, ""]  # mean of max q - min q over the visited actions, points
    late: Float[Array, ""]  # share of positions that hold a tile of 2048 or more


REACH_LEVELS = 18


class Outcome(NamedTuple):
    """The games right after a move, before a finished one is replaced."""

    score: Int[Array, "*B"]
    moves: Int[Array, "*B"]
    level: Int[Array, "*B"]  # log2 of the largest tile of the afterstate


def init_actor(game: Game2048, key: PRNGKeyArray, num_envs: int) -> ActorState:
    """All environments at the start of a game."""
    # Two arrays, not one twice: training donates them, and a buffer can be given away once.
    score, moves = (jnp.zeros((num_envs,), jnp.int32) for _ in range(2))
    return ActorState(game.init(key, (num_envs,)), score, moves)


def step_actor(
    game: Game2048, bits: UInt32[Array, "draws E"], actor: ActorState, action: Int[Array, "E"]
) -> tuple[ActorState, Transition, Outcome]:
    """One move in all environments, from STEP_DRAWS draws each; a finished game is replaced by a new one."""
    board, transition = game.step_from_bits(bits, actor.board, action)
    score, moves = actor.score + transition.reward, actor.moves + 1
    after, _ = game.afterstate(actor.board, action)  # shared with the step by the compiler
    level = game.to_cells(after).max(axis=(-2, -1)).astype(jnp.int32)
    going_on = jnp.where(transition.done, 0, 1)
    return ActorState(board, score * going_on, moves * going_on), transition, Outcome(score, moves, level)


def search_move(
    dynamics: Dynamics,
    game: Game2048,
    board: Board,
    seeds: UInt32[Array, "B"],
    key: PRNGKeyArray | None,
    config: SearchConfig,
    discount: float,
) -> Plan:
    """Plan one move on each board, with the noise of self-play drawn from `key`, or without (None)."""
    return plan(dynamics, make_root(dynamics, game, board, seeds, key, config), config, discount)


def play_chunk(
    model: Model, key: PRNGKeyArray, game: Game2048, actor: ActorState, config: MuZeroConfig
) -> tuple[ActorState, Sequence, PlayStatistics]:
    """Play `chunk` moves; the sequence is time-major [T, E, ...] and carries finished value targets."""
    dynamics = make_dynamics(model, game, config.search)

    def search(key: PRNGKeyArray, board: Board) -> Plan:
        noise_key, seed_key = jax.random.split(key)
        seeds = jax.random.bits(seed_key, (config.num_envs,), jnp.uint32)
        return search_move(dynamics, game, board, seeds, noise_key, config.search, config.discount)

    def move(actor: ActorState, key: PRNGKeyArray) -> tuple[ActorState, tuple[Sequence, Outcome, Float[Array, "E"]]]:
        search_key, step_key = jax.random.split(key)
        found = search(search_key, actor.board)
        bits = jax.random.bits(step_key, (STEP_DRAWS, *actor.score.shape), jnp.uint32)
        following, transition, outcome = step_actor(game, bits, actor, found.action)
        record = Sequence(
            cells=game.to_cells(actor.board).reshape(*actor.score.shape, game.num_cells),
            action=found.action.astype(jnp.int8),
            reward=transition.reward.astype(jnp.float32),
            done=transition.done,
            spawn_code=transition.spawn_code.astype(jnp.int8),
            policy=found.policy_target,
            value=found.value,
        )
        visited = found.visits > 0
        highest = jnp.max(found.q_values, axis=-1, where=visited, initial=0.0)
        lowest = jnp.min(found.q_values, axis=-1, where=visited, initial=jnp.inf)
        return following, (record, outcome, highest - lowest)

    keys = jax.random.split(key, config.chunk + 1)
    actor, (record, outcome, q_range) = jax.lax.scan(move, actor, keys[:-1])
    last = search(keys[-1], actor.board)
    values = jnp.concatenate([record.value, last.value[None]])
    returns = lambda_returns(record.reward, record.done, values, config.discount, config.td_lambda, config.td_steps)
    entropy = -jnp.sum(record.policy * jnp.log(jnp.maximum(record.policy, 1e-30)), axis=-1)
    statistics = PlayStatistics(
        ended=game_statistics(record.done, outcome),
        target_entropy=entropy.mean(),
        q_range=q_range.mean(),
        late=jnp.mean(outcome.level >= 11),
    )
    return actor, record._replace(value=returns), statistics


def game_statistics(done: Bool[Array, "T E"], outcome: Outcome) -> GameStatistics:
    """Sums over the moves that ended a game."""
    levels = jnp.arange(REACH_LEVELS)
    return GameStatistics(
        games=done.sum(),
        score_sum=jnp.sum(jnp.where(done, outcome.score, 0).astype(jnp.float32)),
        score_max=jnp.max(jnp.where(done, outcome.score, 0)),
        moves_sum=jnp.sum(jnp.where(done, outcome.moves, 0).astype(jnp.float32)),
        reached=jnp.sum(done[..., None] & (outcome.level[..., None] >= levels[None, None]), axis=(0, 1)),
    )
