"""One round of training as pure functions: play a chunk, meanwhile update on the buffer, then add the chunk to it.

Play and updates of a round read the same parameters and do not wait for each other, so XLA may run them side by side;
what a round plays is learned from in the next one.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from flax import nnx
from jaxtyping import Array, Float, PRNGKeyArray

from muzero2048.config import MuZeroConfig, TrainingConfig
from muzero2048.env import Game2048
from muzero2048.losses import LossReport, unrolled_loss
from muzero2048.model import make_model
from muzero2048.replay import ReplayState, make_replay
from muzero2048.selfplay import ActorState, PlayStatistics, init_actor, play_chunk
from muzero2048.symmetry import symmetries
from muzero2048.targets import Sequence, make_batch, view_sequence

Params = Any  # nnx.State of the model


class LearnerState(NamedTuple):
    """All that training needs to go on, on the device."""

    params: Params
    optimizer: optax.OptState
    actor: ActorState
    replay: ReplayState
    key: PRNGKeyArray


class Report(NamedTuple):
    """Metrics of one round."""

    play: PlayStatistics
    loss: LossReport  # means over the updates
    gradient_norm: Float[Array, ""]


class Learner(NamedTuple):
    """The functions of a learner whose config is bound."""

    init: Callable[[int], LearnerState]  # of a seed; the buffer is empty
    # play one chunk into the buffer, before the first round
    fill: Callable[[LearnerState], tuple[LearnerState, PlayStatistics]]
    round: Callable[[LearnerState], tuple[LearnerState, Report]]
    graphdef: nnx.GraphDef[Any]


def make_optimizer(config: TrainingConfig) -> optax.GradientTransformation:
    """Clipped AdamW whose rate falls linearly over the planned updates."""
    optimizer = config.optimizer
    schedule = optax.linear_schedule(optimizer.learning_rate, optimizer.final_learning_rate, config.total_updates)
    return optax.chain(
        optax.clip_by_global_norm(optimizer.max_gradient_norm),
        optax.adamw(schedule, weight_decay=optimizer.weight_decay),
    )


def make_learner(config: MuZeroConfig) -> Learner:
    """Bind the config."""
    game = Game2048(config.rows, config.columns)
    views = symmetries(config.rows, config.columns)
    optimizer = make_optimizer(config)
    replay = make_replay(
        capacity=config.replay.capacity // config.num_envs,
        chunk=config.chunk,
        batch_size=config.replay.batch_size,
        sequence=config.unroll_steps + 1,
    )
    graphdef = nnx.graphdef(make_model(config, seed=0))

    def play(params: Params, key: PRNGKeyArray, actor: ActorState) -> tuple[ActorState, Sequence, PlayStatistics]:
        return play_chunk(nnx.merge(graphdef, params), key, game, actor, config)

    def init(seed: int) -> LearnerState:
        model_key, actor_key, key = jax.random.split(jax.random.key(seed), 3)
        params = nnx.state(make_model(config, model_key), nnx.Param)
        actor = init_actor(game, actor_key, config.num_envs)
        _, moves, _ = jax.eval_shape(lambda params: play(params, actor_key, actor), params)
        return LearnerState(params, optimizer.init(params), actor, replay.init(moves), key)

    def fill(state: LearnerState) -> tuple[LearnerState, PlayStatistics]:
        key, play_key = jax.random.split(state.key)
        actor, moves, statistics = play(state.params, play_key, state.actor)
        state = state._replace(actor=actor, replay=replay.add(state.replay, moves), key=key)
        return state, statistics

    def update(
        carry: tuple[Params, optax.OptState], inputs: tuple[ReplayState, PRNGKeyArray]
    ) -> tuple[tuple[Params, optax.OptState], tuple[LossReport, Array]]:
        params, optimizer_state = carry
        buffer, key = inputs
        sample_key, view_key = jax.random.split(key)
        sequence = replay.sample(sample_key, buffer)
        if config.symmetry:
            view = jax.random.randint(view_key, (config.replay.batch_size,), 0, views.num_views)
            sequence = view_sequence(views, view, sequence)
        batch = make_batch(game, sequence, config.discount)

        def loss(params: Params) -> tuple[Array, LossReport]:
            return unrolled_loss(nnx.merge(graphdef, params), batch, config)

        gradients, report = jax.grad(loss, has_aux=True)(params)
        changes, optimizer_state = optimizer.update(gradients, optimizer_state, params)
        return (optax.apply_updates(params, changes), optimizer_state), (report, optax.tree.norm(gradients))

    def round(state: LearnerState) -> tuple[LearnerState, Report]:
        key, play_key, *update_keys = jax.random.split(state.key, 2 + config.updates_per_chunk)
        actor, moves, statistics = play(state.params, play_key, state.actor)
        (params, optimizer_state), (losses, norms) = jax.lax.scan(
            lambda carry, key: update(carry, (state.replay, key)),
            (state.params, state.optimizer),
            jnp.stack(update_keys),
        )
        report = Report(statistics, jax.tree.map(jnp.mean, losses), norms.mean())
        return LearnerState(params, optimizer_state, actor, replay.add(state.replay, moves), key), report

    donating = functools.partial(jax.jit, donate_argnums=0)
    return Learner(init, donating(fill), donating(round), graphdef)
