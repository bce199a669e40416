"""Rounds of training as one program: play a chunk, add it to replay, update on samples of it."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from flax import nnx
from jaxtyping import Array, Float, Int, PRNGKeyArray

from muzero2048.deep_td.config import DeepTDConfig
from muzero2048.deep_td.network import ValueNetwork, make_network
from muzero2048.deep_td.selfplay import Experience, play_chunk
from muzero2048.game.env import Game2048
from muzero2048.game.symmetry import Symmetries, symmetries, view_actions, view_cells
from muzero2048.muzero.selfplay import ActorState, GameStatistics, add_games, init_actor
from muzero2048.muzero.train_step import make_optimizer
from muzero2048.training.replay import ReplayState, make_replay

Params = Any  # nnx.State of the network


class LearnerState(NamedTuple):
    """All that training needs to go on, on the device."""

    params: Params
    optimizer: optax.OptState
    actor: ActorState
    replay: ReplayState
    rounds: Int[Array, ""]  # done so far
    key: PRNGKeyArray


class LossReport(NamedTuple):
    """Of one update, the mean over those of a round, or the sum of these means over some rounds."""

    value: Float[Array, ""]
    error: Float[Array, ""]  # mean absolute error of the values, points
    saturated: Float[Array, ""]  # share of targets beyond the support
    gradient_norm: Float[Array, ""]
    age: Float[Array, ""]  # of the sampled moves, in moves of all environments


class Report(NamedTuple):
    """Metrics of some rounds, added up."""

    ended: GameStatistics
    loss: LossReport
    epsilon: Float[Array, ""]


class Learner(NamedTuple):
    """The functions of a learner whose config is bound."""

    init: Callable[[int], LearnerState]  # of a seed; the buffer is empty
    empty: Callable[[], Report]  # of no rounds
    # by a number of rounds; the report is that of earlier rounds with these added
    advance: Callable[[LearnerState, Report, int], tuple[LearnerState, Report]]
    graphdef: nnx.GraphDef[Any]


def value_loss(network: ValueNetwork, batch: Experience) -> tuple[Float[Array, ""], tuple[Array, Array]]:
    """Mean loss of the values of the moves made; their mean absolute error in points, the share beyond the support."""
    logits = network(batch.cells)
    if network.outputs == 1:
        logits = logits[:, 0]
    else:
        logits = jnp.take_along_axis(logits, batch.action[:, None, None].astype(jnp.int32), axis=1)[:, 0]
    error = jnp.abs(network.codec.decode(logits) - batch.target).mean()
    return network.codec.loss(logits, batch.target).mean(), (error, network.codec.saturated(batch.target).mean())


def view_experience(views: Symmetries, view: Int[Array, "B"], batch: Experience) -> Experience:
    """Each move seen in its own view of the board."""
    action = view_actions(views, view, batch.action[:, None].astype(jnp.int32))[:, 0]
    return batch._replace(cells=view_cells(views, view, batch.cells), action=action)


def make_learner(config: DeepTDConfig) -> Learner:
    """Bind the config."""
    game = Game2048(config.rows, config.columns)
    views = symmetries(config.rows, config.columns)
    optimizer = make_optimizer(config)
    replay = make_replay(
        capacity=config.replay.capacity // config.num_envs,
        chunk=config.chunk,
        batch_size=config.replay.batch_size,
        sequence=1,
    )
    graphdef = nnx.graphdef(make_network(config, seed=0))
    exploration = config.exploration
    falling = max(1, int(exploration.decay * config.env_steps) // config.chunk_moves)  # rounds
    epsilon_at = optax.linear_schedule(exploration.epsilon, exploration.final_epsilon, falling)

    def play(
        params: Params, key: PRNGKeyArray, actor: ActorState, epsilon: Float[Array, ""]
    ) -> tuple[ActorState, Experience, GameStatistics]:
        return play_chunk(nnx.merge(graphdef, params), key, game, actor, epsilon, config)

    def init(seed: int) -> LearnerState:
        network_key, actor_key, key = jax.random.split(jax.random.key(seed), 3)
        params = nnx.state(make_network(config, network_key), nnx.Param)
        actor = init_actor(game, actor_key, config)
        moves = jax.eval_shape(lambda params: play(params, actor_key, actor, jnp.zeros(()))[1], params)
        return LearnerState(
            params=params,
            optimizer=optimizer.init(params),
            actor=actor,
            replay=replay.init(moves),
            rounds=jnp.zeros((), jnp.int32),
            key=key,
        )

    def update(
        carry: tuple[Params, optax.OptState], key: PRNGKeyArray, buffer: ReplayState
    ) -> tuple[tuple[Params, optax.OptState], LossReport]:
        params, optimizer_state = carry
        sample_key, view_key = jax.random.split(key)
        sample = replay.sample(sample_key, buffer)
        batch: Experience = jax.tree.map(lambda x: x[:, 0], sample.moves)
        if config.symmetry:
            view = jax.random.randint(view_key, (config.replay.batch_size,), 0, views.num_views)
            batch = view_experience(views, view, batch)

        def loss(params: Params) -> tuple[Array, tuple[Array, Array]]:
            return value_loss(nnx.merge(graphdef, params), batch)

        (value, (error, saturated)), gradients = jax.value_and_grad(loss, has_aux=True)(params)
        changes, optimizer_state = optimizer.update(gradients, optimizer_state, params)
        age = config.num_envs * sample.age.mean()
        report = LossReport(value, error, saturated, optax.tree.norm(gradients), age)
        return (optax.apply_updates(params, changes), optimizer_state), report

    def round(state: LearnerState) -> tuple[LearnerState, Report]:
        key, play_key, *update_keys = jax.random.split(state.key, 2 + config.updates_per_chunk)
        epsilon = jnp.asarray(epsilon_at(state.rounds), jnp.float32)
        actor, moves, ended = play(state.params, play_key, state.actor, epsilon)
        # Written before it is read: the other way round XLA copies the buffer in every round.
        buffer = replay.add(state.replay, moves, jnp.zeros_like(moves.target))
        (params, optimizer_state), losses = jax.lax.scan(
            lambda carry, key: update(carry, key, buffer), (state.params, state.optimizer), jnp.stack(update_keys)
        )
        state = LearnerState(params, optimizer_state, actor, buffer, state.rounds + 1, key)
        return state, Report(ended, jax.tree.map(jnp.mean, losses), epsilon)

    def advance(state: LearnerState, report: Report, rounds: Int[Array, ""]) -> tuple[LearnerState, Report]:
        def body(_: Array, carry: tuple[LearnerState, Report]) -> tuple[LearnerState, Report]:
            state, total = carry
            state, report = round(state)
            return state, _add(total, report)

        return jax.lax.fori_loop(0, rounds, body, (state, report))

    @jax.jit
    def empty() -> Report:
        report = jax.eval_shape(lambda: round(init(0)))[1]
        return jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), report)

    return Learner(init, empty, functools.partial(jax.jit, donate_argnums=0)(advance), graphdef)


def _add(one: Report, other: Report) -> Report:
    total: Report = jax.tree.map(jnp.add, one, other)
    return total._replace(ended=add_games(one.ended, other.ended))
