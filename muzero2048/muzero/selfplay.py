"""Self-play: a chunk of moves in all environments, as one scan."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from flax import nnx
from jax.sharding import NamedSharding
from jaxtyping import Array, Float, PRNGKeyArray, UInt32

from muzero2048.game.env import Board
from muzero2048.models.base import Model
from muzero2048.muzero.batches import Sequence
from muzero2048.muzero.config import MuZeroConfig
from muzero2048.search.base import Plan, Root, Share
from muzero2048.search.dynamics import make_dynamics
from muzero2048.search.plan_move import make_root, plan
from muzero2048.search.root_rules import bootstrap_value
from muzero2048.training.actor import DRAWS, ActorState, GameOutcome, step_actor
from muzero2048.training.devices import by_device
from muzero2048.training.game_metrics import GameStatistics, add_games, game_statistics
from muzero2048.training.returns import lambda_returns

LATE_LEVEL = 11  # a board with a tile of 2048 or more is late in the game


class PlayStatistics(NamedTuple):
    """Statistics of a chunk: of the games that ended in it, and means over its moves."""

    ended: GameStatistics
    target_entropy: Float[Array, ""]  # mean entropy of the policy targets, nats
    q_range: Float[Array, ""]  # mean of max q - min q over the visited actions, points
    late: Float[Array, ""]  # share of positions with a tile of 2048 or more


def play_chunk(
    model: Model,
    key: PRNGKeyArray,
    actor: ActorState,
    config: MuZeroConfig,
    rows: NamedSharding,
    share: Share = 0.0,
) -> tuple[ActorState, Sequence, Float[Array, "T E"], PlayStatistics]:
    """Play `chunk` moves in every environment.

    Returns the games after the chunk; the moves [T, E, ...] with finished value targets; the errors of the search (its
    value - target, in points); and statistics. `share` is the share of the training that is made.
    """
    game = config.board_game

    def move(
        actor: ActorState, key: PRNGKeyArray
    ) -> tuple[ActorState, tuple[Sequence, GameOutcome, Float[Array, "E"]]]:
        search_key, step_key = jax.random.split(key)
        plan, value = _search(model, search_key, actor.board, config, rows, share)
        bits = jax.random.bits(step_key, (DRAWS, *actor.score.shape), jnp.uint32)
        following, transition, outcome = step_actor(game, bits, actor, plan.action, value, config.discount)
        record = Sequence(
            cells=game.observe(actor.board),
            action=plan.action.astype(jnp.int8),
            reward=transition.reward.astype(jnp.float32),
            done=transition.done,
            spawn_code=transition.spawn_code.astype(jnp.int8 if game.num_spawn_codes <= 128 else jnp.int16),
            policy=plan.policy_target,
            value=value,
        )
        return following, (record, outcome, _q_range(plan))

    keys = jax.random.split(key, config.chunk + 1)
    actor, (record, outcome, q_range) = jax.lax.scan(move, actor, keys[:-1])
    _, last = _search(model, keys[-1], actor.board, config, rows, share)
    values = jnp.concatenate([record.value, last[None]])
    returns = lambda_returns(record.reward, record.done, values, config.discount, config.td_lambda, config.td_steps)
    entropy = -jnp.sum(record.policy * jnp.log(jnp.maximum(record.policy, 1e-30)), axis=-1)
    statistics = PlayStatistics(
        ended=game_statistics(record.done, outcome),
        target_entropy=entropy.mean(),
        q_range=q_range.mean(),
        late=jnp.mean(outcome.level >= LATE_LEVEL),
    )
    return actor, record._replace(value=returns), record.value - returns, statistics


def add_play(first: PlayStatistics, second: PlayStatistics) -> PlayStatistics:
    """Add the statistics of two periods; the means of chunks are summed."""
    return jax.tree.map(jnp.add, first, second)._replace(ended=add_games(first.ended, second.ended))


def search_by_device(
    model: Model,
    board: Board,
    seeds: UInt32[Array, "B"],
    key: PRNGKeyArray | None,
    config: MuZeroConfig,
    rows: NamedSharding,
    share: Share = 0.0,
) -> tuple[Root, Plan]:
    """Plan one move on each board; each device searches its own boards.

    Noise of self-play is drawn from `key`; None: no noise.
    """
    game, (graphdef, params) = config.board_game, nnx.split(model)

    def search(params: Any, root: Root) -> Plan:
        dynamics = make_dynamics(nnx.merge(graphdef, params), game, config.search)
        return plan(dynamics, root, config.search, config.discount)[0]

    root = make_root(make_dynamics(model, game, config.search), game, board, seeds, key, config.search, share)
    return root, by_device(search, rows)(params, root)


def _search(
    model: Model,
    key: PRNGKeyArray,
    board: Board,
    config: MuZeroConfig,
    rows: NamedSharding,
    share: Share,
) -> tuple[Plan, Float[Array, "E"]]:
    """Plan with noise; return the plans and the values that targets bootstrap from."""
    noise_key, seed_key = jax.random.split(key)
    seeds = jax.random.bits(seed_key, (config.num_envs,), jnp.uint32)
    root, result = search_by_device(model, board, seeds, noise_key, config.in_self_play, rows, share)
    return result, bootstrap_value(root, result, config.bootstrap)


def _q_range(result: Plan) -> Float[Array, "E"]:
    """Compute max q - min q over the visited actions."""
    visited = result.visits > 0
    highest = jnp.max(result.q_values, axis=-1, where=visited, initial=-jnp.inf)
    lowest = jnp.min(result.q_values, axis=-1, where=visited, initial=jnp.inf)
    return highest - lowest
