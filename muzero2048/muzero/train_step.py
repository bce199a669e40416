"""Rounds of training as one program: a round, an update of it, a sample of it; then what binds and compiles them.

A round plays a chunk, makes updates on samples of the replay buffer, and then adds the chunk to the buffer. Play and
updates begin with the same parameters and do not depend on each other, so XLA may run them in parallel. What a round
plays is sampled from the next round on.
"""

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from flax import nnx
from jaxtyping import Array, Float, PRNGKeyArray

from muzero2048.game.symmetry import symmetries
from muzero2048.models.make import make_model
from muzero2048.muzero.batches import Batch, Sequence, make_batch, view_sequence
from muzero2048.muzero.config import MuZeroConfig
from muzero2048.muzero.learner_state import Average, MuZeroState, acting_params, extend_average, state_shardings
from muzero2048.muzero.losses import BatchSize, LossReport, PartialLoss, batch_size, loss_report, unrolled_loss
from muzero2048.muzero.new_targets import fresh_values, reanalyse
from muzero2048.muzero.selfplay import PlayStatistics, add_play, play_chunk
from muzero2048.muzero.table_learning import (
    Params,
    Tables,
    init_tables,
    learn_tables,
    model_is_right,
    with_tables,
)
from muzero2048.search.base import Share
from muzero2048.training.actor import ActorState, init_actor
from muzero2048.training.devices import Devices, Shardings, make_shardings, sum_by_device
from muzero2048.training.optimizer import make_optimizer
from muzero2048.training.replay import Replay, Sample, make_replay
from muzero2048.training.rounds import empty_report, run_rounds


class MuZeroSetup(NamedTuple):
    """What the config determines: the static parts of all functions of training."""

    config: MuZeroConfig
    optimizer: optax.GradientTransformation
    replay: Replay
    graphdef: nnx.GraphDef[Any]  # the structure of the model, without its parameters
    shardings: Shardings


class UpdateReport(NamedTuple):
    """Metrics of an update."""

    loss: LossReport
    gradient_norm: Float[Array, ""]
    part_norms: dict[str, Float[Array, ""]]  # gradient norm of each part of the model
    age: Float[Array, ""]  # age of the sampled positions, counted in moves of all environments


class MuZeroReport(NamedTuple):
    """Metrics of a round, or their sum over several rounds (`add_reports`)."""

    play: PlayStatistics
    update: UpdateReport  # mean over the updates of a round


def make_round(setup: MuZeroSetup, state: MuZeroState) -> tuple[MuZeroState, MuZeroReport]:
    """Make a round: play a chunk, make the updates on the buffer, add the chunk to the buffer."""
    key, play_key, update_key = jax.random.split(state.key, 3)
    share = training_share(state.optimizer, setup.config)
    actor, moves, error, statistics = _play(setup, acting_params(state), play_key, state.actor, share)
    state, report = _updates(setup, state, update_key)
    state = state._replace(actor=actor, replay=setup.replay.add(state.replay, moves, error), key=key)
    return state, MuZeroReport(statistics, report)


def _updates(setup: MuZeroSetup, state: MuZeroState, key: PRNGKeyArray) -> tuple[MuZeroState, UpdateReport]:
    """Make the updates of a round; the report is their mean."""
    keys = jax.random.split(key, setup.config.updates_per_chunk)
    state, reports = jax.lax.scan(functools.partial(_update, setup), state, keys)
    return state, jax.tree.map(jnp.mean, reports)


def _update(setup: MuZeroSetup, state: MuZeroState, key: PRNGKeyArray) -> tuple[MuZeroState, UpdateReport]:
    """Sample a batch and move parameters, tables, average and priorities."""
    config = setup.config
    batch, sample = _sample_batch(setup, key, state)

    gradients, report, error = _gradients(setup, state, batch)
    norm = optax.tree.norm(gradients)
    before = nnx.merge(setup.graphdef, with_tables(state.params, state.tables))
    # Because of `sound` the tables are written after everything that reads them here. Else XLA would copy them first.
    sound = jnp.isfinite(report.total + norm + error.sum())
    # Each device learns from the whole batch. Else each would learn from its part, and XLA would sum whole tables.
    gathered = jax.lax.with_sharding_constraint(batch, setup.shardings.copied)
    tables = learn_tables(before, state.tables, gathered, sound & model_is_right(report), config)
    changes, optimizer = setup.optimizer.update(gradients, state.optimizer, state.params)
    params = optax.apply_updates(state.params, changes)
    state = state._replace(
        params=params,
        tables=tables,
        average=None if state.average is None else extend_average(state.average, params, config.ema_decay),
        optimizer=optimizer,
        replay=setup.replay.prioritize(state.replay, sample.place, error),
    )
    age = config.num_envs * sample.age.mean()
    return state, UpdateReport(report, norm, norms_by_part(gradients, before.parts), age)


def _gradients(setup: MuZeroSetup, state: MuZeroState, batch: Batch) -> tuple[Params, LossReport, Float[Array, "B"]]:
    """Return the gradients of the loss, its report and the errors of V; each device has its part of the batch."""

    def of_part(
        inputs: tuple[Params, Tables | None, BatchSize], part: Batch
    ) -> tuple[tuple[Params, PartialLoss], Float[Array, "B"]]:
        params, tables, size = inputs

        def loss(params: Params) -> tuple[Array, tuple[PartialLoss, Array]]:
            trained = nnx.merge(setup.graphdef, with_tables(params, tables))
            return unrolled_loss(trained, part, size, setup.config)

        gradients, (losses, error) = jax.grad(loss, has_aux=True)(params)
        return (gradients, losses), error

    inputs = state.params, state.tables, batch_size(batch)
    (gradients, losses), error = sum_by_device(of_part, setup.shardings.cut)(inputs, batch)
    return gradients, loss_report(losses), error


def _sample_batch(setup: MuZeroSetup, key: PRNGKeyArray, state: MuZeroState) -> tuple[Batch, Sample]:
    """Sample sequences, give them fresh values, reanalyse a share, turn each into a random view, make the batch."""
    config, game = setup.config, setup.config.board_game
    sample_key, search_key, view_key = jax.random.split(key, 3)
    sample = setup.replay.sample(sample_key, state.replay)
    sequence = sample.moves
    model = nnx.merge(setup.graphdef, acting_params(state))
    if config.replay.fresh_returns:
        sequence = fresh_values(model, sequence, config)
    if config.replay.reanalysed:
        sequence = reanalyse(model, search_key, sequence, config, setup.shardings.cut)
    if config.symmetry:
        views = symmetries(config.rows, config.columns)
        view = jax.random.randint(view_key, (config.replay.batch_size,), 0, views.num_views)
        sequence = view_sequence(views, view, sequence, game.num_spawn_codes // game.num_cells)
    return make_batch(game, sequence, config.discount)._replace(weight=sample.weight), sample


def norms_by_part(gradients: Params, parts: Mapping[str, tuple[str, ...]]) -> dict[str, Float[Array, ""]]:
    """Compute the gradient norm of each part of the model that has parameters."""
    gradients_of = {part: [gradients[name] for name in names if name in gradients] for part, names in parts.items()}
    return {part: optax.tree.norm(leaves) for part, leaves in gradients_of.items() if leaves}


def _play(
    setup: MuZeroSetup, params: Params, key: PRNGKeyArray, actor: ActorState, share: Share
) -> tuple[ActorState, Sequence, Array, PlayStatistics]:
    model = nnx.merge(setup.graphdef, params)
    return play_chunk(model, key, actor, setup.config, setup.shardings.cut, share)


def training_share(optimizer: optax.OptState, config: MuZeroConfig) -> Float[Array, ""]:
    """Return the share of the planned updates that is made; the optimizer's state, which checkpoints hold, counts."""
    _, count = optax.tree.get_all_with_path(optimizer, "count")[0]
    return count / config.total_updates


def _fill(setup: MuZeroSetup, state: MuZeroState) -> tuple[MuZeroState, PlayStatistics]:
    """Play a chunk and add it to the buffer."""
    key, play_key = jax.random.split(state.key)
    share = training_share(state.optimizer, setup.config)
    actor, moves, error, statistics = _play(setup, acting_params(state), play_key, state.actor, share)
    return state._replace(actor=actor, replay=setup.replay.add(state.replay, moves, error), key=key), statistics


def _learn(setup: MuZeroSetup, state: MuZeroState) -> tuple[MuZeroState, UpdateReport]:
    """Make the updates of a round without its play."""
    key, update_key = jax.random.split(state.key)
    state, report = _updates(setup, state, update_key)
    return state._replace(key=key), report


def make_setup(config: MuZeroConfig, devices: Devices | None) -> MuZeroSetup:
    """Make the static parts; `devices` as in `make_learner`."""
    return MuZeroSetup(
        config=config,
        optimizer=make_optimizer(config),
        replay=make_replay(config, config.sequence),
        graphdef=nnx.split(nnx.eval_shape(lambda: make_model(config, seed=0)))[0],
        shardings=make_shardings(config, devices),
    )


def _init_state(setup: MuZeroSetup, key: PRNGKeyArray) -> MuZeroState:
    model_key, actor_key, key = jax.random.split(key, 3)
    model = make_model(setup.config, model_key)
    params, tables = nnx.state(model, nnx.Param), init_tables(model)
    average = Average(params, jnp.zeros((), jnp.int32)) if setup.config.ema_decay else None
    actor = init_actor(setup.config.board_game, actor_key, setup.config.num_envs)
    moves = jax.eval_shape(functools.partial(_play, setup), with_tables(params, tables), actor_key, actor, 0.0)[1]
    optimizer = setup.optimizer.init(params)
    return MuZeroState(params, tables, average, optimizer, actor, setup.replay.init(moves), key)


def add_reports(first: MuZeroReport, second: MuZeroReport) -> MuZeroReport:
    """Add the reports of two periods."""
    return MuZeroReport(add_play(first.play, second.play), jax.tree.map(jnp.add, first.update, second.update))


class MuZeroPrograms(NamedTuple):
    """The functions of a learner with its config bound. Those that take a state donate it."""

    init: Callable[[int], MuZeroState]  # argument: a seed; the buffer is empty
    shapes: Callable[[], MuZeroState]  # shapes and shardings of the state; allocates nothing
    # play one chunk into the buffer, before the first round
    fill: Callable[[MuZeroState], tuple[MuZeroState, PlayStatistics]]
    learn: Callable[[MuZeroState], tuple[MuZeroState, UpdateReport]]  # the updates of a round without its play
    empty: Callable[[], MuZeroReport]  # the report of no rounds
    # make a number of rounds; the report of earlier rounds is an argument, and their reports are added to it
    rounds: Callable[[MuZeroState, MuZeroReport, int], tuple[MuZeroState, MuZeroReport]]
    graphdef: nnx.GraphDef[Any]


def make_learner(config: MuZeroConfig, devices: Devices | None = None) -> MuZeroPrograms:
    """Bind the config.

    `devices` train together; None: all devices of all processes. Programs are compiled when they are first called.
    Errors as `make_shardings`.
    """
    setup = make_setup(config, devices)
    copied = setup.shardings.copied
    state_places = state_shardings(setup.shardings)
    donating = functools.partial(jax.jit, donate_argnums=0, out_shardings=(state_places, copied))
    begin = jax.jit(functools.partial(_init_state, setup), out_shardings=state_places)
    one_round = jax.jit(functools.partial(make_round, setup))  # jitted: `rounds` and `empty` share one trace
    return MuZeroPrograms(
        init=lambda seed: begin(jax.random.key(seed)),
        shapes=lambda: begin.eval_shape(jax.random.key(0)),
        fill=donating(functools.partial(_fill, setup)),
        learn=donating(functools.partial(_learn, setup)),
        empty=jax.jit(lambda: empty_report(one_round, begin.eval_shape(jax.random.key(0))), out_shardings=copied),
        rounds=donating(functools.partial(run_rounds, one_round, add_reports)),
        graphdef=setup.graphdef,
    )
