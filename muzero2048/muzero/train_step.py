"""Rounds of training as one program: play a chunk, meanwhile update on the buffer, then add the chunk to it.

Play and updates of a round begin with the same parameters and do not wait for each other, so XLA may run them side by
side; what a round plays is learned from in the next one. A call to the device makes any number of rounds and adds their
report to that of the calls before: the state and the sums have the same bits for any division of rounds into calls.
"""

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from flax import nnx
from jaxtyping import Array, Float, Int, PRNGKeyArray

from muzero2048.game.env import Game2048
from muzero2048.game.symmetry import symmetries
from muzero2048.models.base import Model
from muzero2048.models.make import make_model
from muzero2048.muzero.config import MuZeroConfig
from muzero2048.muzero.losses import LossReport, unrolled_loss
from muzero2048.muzero.reanalyse import reanalyse
from muzero2048.muzero.selfplay import ActorState, PlayStatistics, add_play, init_actor, play_chunk
from muzero2048.muzero.table_learning import Params, Tables, init_tables, learn_tables, model_is_right, with_tables
from muzero2048.muzero.targets import Batch, Sequence, make_batch, view_sequence
from muzero2048.networks.value_tables import Table
from muzero2048.training.config import TrainingConfig
from muzero2048.training.devices import Devices, make_shardings
from muzero2048.training.replay import ReplayState, Sample, make_replay


class Average(NamedTuple):
    """Averaged parameters e <- d e + (1 - d) p, with d = min(decay, (1 + t) / (10 + t)) after update t = 0, 1, ...

    They begin at the first parameters, and the rising d forgets these.
    """

    params: Params
    updates: Int[Array, ""]


class LearnerState(NamedTuple):
    """All that training needs to go on, on the devices."""

    params: Params  # what the optimizer moves
    tables: Tables | None  # None: the model has no value tables
    average: Average | None  # of params; None: ema_decay is 0
    optimizer: optax.OptState
    actor: ActorState
    replay: ReplayState
    key: PRNGKeyArray


class UpdateReport(NamedTuple):
    """Metrics of an update."""

    loss: LossReport
    gradient_norm: Float[Array, ""]
    part_norms: dict[str, Float[Array, ""]]  # by the parts of the model
    age: Float[Array, ""]  # of the sampled positions, in moves of all environments


class Report(NamedTuple):
    """Metrics of some rounds, added up."""

    play: PlayStatistics  # added up by `add_play`
    update: UpdateReport  # sum over the rounds of the mean over the updates of a round


class Learner(NamedTuple):
    """The functions of a learner whose config is bound."""

    init: Callable[[int], LearnerState]  # of a seed; the buffer is empty
    shapes: Callable[[], LearnerState]  # of the state and where its parts lie, with nothing allocated
    # play one chunk into the buffer, before the first round
    fill: Callable[[LearnerState], tuple[LearnerState, PlayStatistics]]
    learn: Callable[[LearnerState], tuple[LearnerState, UpdateReport]]  # the updates of a round without its play
    empty: Callable[[], Report]  # of no rounds
    # so many rounds; the report is that of earlier rounds with these added
    rounds: Callable[[LearnerState, Report, int], tuple[LearnerState, Report]]
    graphdef: nnx.GraphDef[Any]


def acting_params(state: LearnerState) -> Any:
    """All that plays, reanalyses and is evaluated: parameters, the averaged ones where there are any, and tables."""
    return with_tables(state.params if state.average is None else state.average.params, state.tables)


def with_acting_params(state: LearnerState, params: Any) -> LearnerState:
    """The state with others, or with nothing (None), in their place."""
    if state.tables is not None:
        params, weights = (None, None) if params is None else nnx.split_state(params, nnx.Param, Table)
        state = state._replace(tables=state.tables._replace(weights=weights))
    if state.average is None:
        return state._replace(params=params)
    return state._replace(average=state.average._replace(params=params))


def make_optimizer(config: TrainingConfig) -> optax.GradientTransformation:
    """Clipped AdamW whose rate falls linearly over the planned updates."""
    optimizer = config.optimizer
    schedule = optax.linear_schedule(optimizer.learning_rate, optimizer.final_learning_rate, config.total_updates)
    return optax.chain(
        optax.clip_by_global_norm(optimizer.max_gradient_norm),
        optax.adamw(schedule, weight_decay=optimizer.weight_decay),
    )


def make_learner(config: MuZeroConfig, devices: Devices | None = None) -> Learner:
    """Bind the config.

    Args:
        config: what to learn and how.
        devices: that train together; None: all of all processes.

    Raises:
        ValueError: if environments or batch cannot be divided among the devices.
    """
    game = Game2048(config.rows, config.columns)
    views = symmetries(config.rows, config.columns)
    optimizer = make_optimizer(config)
    replay = make_replay(
        capacity=config.replay.capacity // config.num_envs,
        chunk=config.chunk,
        batch_size=config.replay.batch_size,
        sequence=config.unroll_steps + 1,
        priority_exponent=config.replay.priority_exponent,
        importance_exponent=config.replay.importance_exponent,
    )
    graphdef, initial = nnx.split(nnx.eval_shape(lambda: make_model(config, seed=0)))
    parts = nnx.merge(graphdef, initial).parts
    copied, cut = make_shardings(config, devices)
    places = {
        # What a rule of starts keeps is shared by all environments.
        "actor": ActorState._make(copied if name == "starts" else cut for name in ActorState._fields),
        "replay": ReplayState._make((cut, cut, copied, copied)),
    }
    shardings = LearnerState._make(places.get(name, copied) for name in LearnerState._fields)

    def play(
        params: Params, key: PRNGKeyArray, actor: ActorState
    ) -> tuple[ActorState, Sequence, Array, PlayStatistics]:
        return play_chunk(nnx.merge(graphdef, params), key, game, actor, config, cut)

    def init(key: PRNGKeyArray) -> LearnerState:
        model_key, actor_key, key = jax.random.split(key, 3)
        model = make_model(config, model_key)
        params, tables = nnx.state(model, nnx.Param), init_tables(model)
        average = Average(params, jnp.zeros((), jnp.int32)) if config.ema_decay else None
        actor = init_actor(game, actor_key, config)
        moves = jax.eval_shape(play, with_tables(params, tables), actor_key, actor)[1]
        return LearnerState(params, tables, average, optimizer.init(params), actor, replay.init(moves), key)

    def fill(state: LearnerState) -> tuple[LearnerState, PlayStatistics]:
        key, play_key = jax.random.split(state.key)
        actor, moves, error, statistics = play(acting_params(state), play_key, state.actor)
        return state._replace(actor=actor, replay=replay.add(state.replay, moves, error), key=key), statistics

    def sample_batch(key: PRNGKeyArray, state: LearnerState) -> tuple[Batch, Sample]:
        sample_key, search_key, view_key = jax.random.split(key, 3)
        sample = replay.sample(sample_key, state.replay)
        sequence = sample.moves
        if config.replay.reanalysed:
            model = nnx.merge(graphdef, acting_params(state))
            sequence = reanalyse(model, search_key, game, sequence, config, cut)
        if config.symmetry:
            view = jax.random.randint(view_key, (config.replay.batch_size,), 0, views.num_views)
            sequence = view_sequence(views, view, sequence)
        return make_batch(game, sequence, config.discount)._replace(weight=sample.weight), sample

    def update(state: LearnerState, key: PRNGKeyArray) -> tuple[LearnerState, UpdateReport]:
        batch, sample = sample_batch(key, state)

        def loss(params: Params) -> tuple[Array, tuple[LossReport, Array]]:
            model = nnx.merge(graphdef, with_tables(params, state.tables))
            total, report = unrolled_loss(model, batch, config)
            return total, (report, value_error(model, batch))

        gradients, (report, error) = jax.grad(loss, has_aux=True)(state.params)
        norm = optax.tree.norm(gradients)
        model = nnx.merge(graphdef, with_tables(state.params, state.tables))
        # Through `sound` the tables are written behind all that reads them here: else XLA would copy them first.
        sound = jnp.isfinite(report.total + norm + error.sum())
        # Each device learns the whole batch: else what they learn apart would be added up, table by table.
        whole = jax.lax.with_sharding_constraint(batch, copied)
        tables = learn_tables(model, state.tables, whole, sound & model_is_right(report), config)
        changes, optimizer_state = optimizer.update(gradients, state.optimizer, state.params)
        params = optax.apply_updates(state.params, changes)
        state = state._replace(
            params=params,
            tables=tables,
            average=None if state.average is None else extend_average(state.average, params, config.ema_decay),
            optimizer=optimizer_state,
            replay=replay.prioritize(state.replay, sample.place, error),
        )
        age = config.num_envs * sample.age.mean()
        return state, UpdateReport(report, norm, norms_by_part(gradients, parts), age)

    def updates(state: LearnerState, key: PRNGKeyArray) -> tuple[LearnerState, UpdateReport]:
        state, reports = jax.lax.scan(update, state, jax.random.split(key, config.updates_per_chunk))
        return state, jax.tree.map(jnp.mean, reports)

    def learn(state: LearnerState) -> tuple[LearnerState, UpdateReport]:
        key, update_key = jax.random.split(state.key)
        state, report = updates(state, update_key)
        return state._replace(key=key), report

    @jax.jit
    def round(state: LearnerState) -> tuple[LearnerState, Report]:
        key, play_key, update_key = jax.random.split(state.key, 3)
        actor, moves, error, statistics = play(acting_params(state), play_key, state.actor)
        state, report = updates(state, update_key)
        state = state._replace(actor=actor, replay=replay.add(state.replay, moves, error), key=key)
        return state, Report(statistics, report)

    def rounds(state: LearnerState, report: Report, count: Int[Array, ""]) -> tuple[LearnerState, Report]:
        def another(_: Array, carry: tuple[LearnerState, Report]) -> tuple[LearnerState, Report]:
            state, total = carry
            state, report = round(state)
            return state, Report(add_play(total.play, report.play), jax.tree.map(jnp.add, total.update, report.update))

        return jax.lax.fori_loop(0, count, another, (state, report))

    def empty() -> Report:
        report = jax.eval_shape(round, begin.eval_shape(jax.random.key(0)))[1]
        return jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), report)

    donating = functools.partial(jax.jit, donate_argnums=0, out_shardings=(shardings, copied))
    begin = jax.jit(init, out_shardings=shardings)
    return Learner(
        init=lambda seed: begin(jax.random.key(seed)),
        shapes=lambda: begin.eval_shape(jax.random.key(0)),
        fill=donating(fill),
        learn=donating(learn),
        empty=jax.jit(empty, out_shardings=copied),
        rounds=donating(rounds),
        graphdef=graphdef,
    )


def extend_average(average: Average, params: Params, decay: float) -> Average:
    """The average after an update that led to `params`."""
    t = average.updates.astype(jnp.float32)
    share = jnp.minimum(decay, (1.0 + t) / (10.0 + t))
    mixed = jax.tree.map(lambda e, p: share * e + (1.0 - share) * p, average.params, params)
    return Average(mixed, average.updates + 1)


def value_error(model: Model, batch: Batch) -> Float[Array, "B"]:
    """V(s) less its target at the first positions, in points; the compiler shares V with the loss."""
    value = model.codec.decode(model.prediction(model.representation(batch.cells[:, 0])).value_logits)
    return jax.lax.stop_gradient(value) - batch.value[:, 0]


def norms_by_part(gradients: Params, parts: Mapping[str, tuple[str, ...]]) -> dict[str, Float[Array, ""]]:
    """The norm of the gradient of each part of the model that has parameters."""
    found = {part: [gradients[name] for name in names if name in gradients] for part, names in parts.items()}
    return {part: optax.tree.norm(leaves) for part, leaves in found.items() if leaves}
