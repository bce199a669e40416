"""Rounds of training as one program: play a chunk, add it to replay, make updates on samples of replay.

All functions of a round take a `DeepTDSetup` first. `make_learner` builds it from the config, binds it and compiles.
"""

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
from muzero2048.game.symmetry import Symmetries, symmetries, view_actions, view_cells
from muzero2048.training.actor import ActorState, init_actor
from muzero2048.training.game_metrics import GameStatistics, add_games
from muzero2048.training.optimizer import make_optimizer
from muzero2048.training.replay import Replay, ReplayState, make_replay
from muzero2048.training.rounds import empty_report, run_rounds

Params = Any  # nnx.State of the network


class DeepTDState(NamedTuple):
    """Everything that training needs to continue, on the device. Field names are names of arrays in checkpoints."""

    params: Params
    optimizer: optax.OptState
    actor: ActorState
    replay: ReplayState
    rounds: Int[Array, ""]  # rounds made so far
    key: PRNGKeyArray


class DeepTDSetup(NamedTuple):
    """What the config determines: the static parts of all functions of training."""

    config: DeepTDConfig
    optimizer: optax.GradientTransformation
    replay: Replay
    graphdef: nnx.GraphDef[Any]  # the structure of the network, without its parameters
    epsilon_at: optax.Schedule  # rounds made so far -> epsilon


class ValueReport(NamedTuple):
    """Metrics of an update, their mean over the updates of a round, or the sum of these means over several rounds."""

    value: Float[Array, ""]
    error: Float[Array, ""]  # mean absolute error of the values, points
    saturated: Float[Array, ""]  # share of targets beyond the support
    gradient_norm: Float[Array, ""]
    age: Float[Array, ""]  # age of the sampled moves, counted in moves of all environments


class DeepTDReport(NamedTuple):
    """Metrics of a round, or their sum over several rounds (`add_reports`)."""

    ended: GameStatistics
    loss: ValueReport
    epsilon: Float[Array, ""]


def make_round(setup: DeepTDSetup, state: DeepTDState) -> tuple[DeepTDState, DeepTDReport]:
    """Make a round: play a chunk, add it to the buffer, make the updates."""
    key, play_key, *update_keys = jax.random.split(state.key, 2 + setup.config.updates_per_chunk)
    epsilon = jnp.asarray(setup.epsilon_at(state.rounds), jnp.float32)
    actor, moves, ended = _play(setup, state.params, play_key, state.actor, epsilon)
    # The buffer is written before it is read. In the other order XLA copies it in every round.
    buffer = setup.replay.add(state.replay, moves, jnp.zeros_like(moves.target))
    (params, optimizer), losses = jax.lax.scan(
        lambda carry, key: _update(setup, carry, key, buffer), (state.params, state.optimizer), jnp.stack(update_keys)
    )
    state = DeepTDState(params, optimizer, actor, buffer, state.rounds + 1, key)
    return state, DeepTDReport(ended, jax.tree.map(jnp.mean, losses), epsilon)


def _update(
    setup: DeepTDSetup, carry: tuple[Params, optax.OptState], key: PRNGKeyArray, buffer: ReplayState
) -> tuple[tuple[Params, optax.OptState], ValueReport]:
    """Sample a batch and move the parameters."""
    config, (params, optimizer) = setup.config, carry
    sample_key, view_key = jax.random.split(key)
    sample = setup.replay.sample(sample_key, buffer)
    batch: Experience = jax.tree.map(lambda x: x[:, 0], sample.moves)
    if config.symmetry:
        views = symmetries(config.rows, config.columns)
        view = jax.random.randint(view_key, (config.replay.batch_size,), 0, views.num_views)
        batch = view_experience(views, view, batch)

    def loss(params: Params) -> tuple[Array, tuple[Array, Array]]:
        return value_loss(nnx.merge(setup.graphdef, params), batch)

    (value, (error, saturated)), gradients = jax.value_and_grad(loss, has_aux=True)(params)
    changes, optimizer = setup.optimizer.update(gradients, optimizer, params)
    age = config.num_envs * sample.age.mean()
    report = ValueReport(value, error, saturated, optax.tree.norm(gradients), age)
    return (optax.apply_updates(params, changes), optimizer), report


def value_loss(network: ValueNetwork, batch: Experience) -> tuple[Float[Array, ""], tuple[Array, Array]]:
    """Compute the mean loss of the values of the moves made.

    Returned with it: the mean absolute error in points, and the share of targets beyond the support.
    """
    logits = network(batch.cells)
    if network.outputs == 1:
        logits = logits[:, 0]
    else:
        logits = jnp.take_along_axis(logits, batch.action[:, None, None].astype(jnp.int32), axis=1)[:, 0]
    error = jnp.abs(network.codec.decode(logits) - batch.target).mean()
    return network.codec.loss(logits, batch.target).mean(), (error, network.codec.saturated(batch.target).mean())


def view_experience(views: Symmetries, view: Int[Array, "B"], batch: Experience) -> Experience:
    """Transform each move into its own view of the board."""
    action = view_actions(views, view, batch.action[:, None].astype(jnp.int32))[:, 0]
    return batch._replace(cells=view_cells(views, view, batch.cells), action=action)


def _play(
    setup: DeepTDSetup, params: Params, key: PRNGKeyArray, actor: ActorState, epsilon: Float[Array, ""]
) -> tuple[ActorState, Experience, GameStatistics]:
    return play_chunk(nnx.merge(setup.graphdef, params), key, actor, epsilon, setup.config)


def _init_state(setup: DeepTDSetup, seed: int) -> DeepTDState:
    network_key, actor_key, key = jax.random.split(jax.random.key(seed), 3)
    params = nnx.state(make_network(setup.config, network_key), nnx.Param)
    actor = init_actor(setup.config.board_game, actor_key, setup.config.num_envs)
    moves = jax.eval_shape(lambda params: _play(setup, params, actor_key, actor, jnp.zeros(()))[1], params)
    return DeepTDState(
        params=params,
        optimizer=setup.optimizer.init(params),
        actor=actor,
        replay=setup.replay.init(moves),
        rounds=jnp.zeros((), jnp.int32),
        key=key,
    )


def _make_setup(config: DeepTDConfig) -> DeepTDSetup:
    exploration = config.exploration
    falling = max(1, int(exploration.decay * config.env_steps) // config.chunk_moves)  # rounds
    return DeepTDSetup(
        config=config,
        optimizer=make_optimizer(config),
        replay=make_replay(config, sequence=1),
        graphdef=nnx.graphdef(make_network(config, seed=0)),
        epsilon_at=optax.linear_schedule(exploration.epsilon, exploration.final_epsilon, falling),
    )


def add_reports(first: DeepTDReport, second: DeepTDReport) -> DeepTDReport:
    """Add the reports of two periods."""
    total: DeepTDReport = jax.tree.map(jnp.add, first, second)
    return total._replace(ended=add_games(first.ended, second.ended))


class DeepTDPrograms(NamedTuple):
    """The functions of a learner with its config bound."""

    init: Callable[[int], DeepTDState]  # argument: a seed; the buffer is empty
    empty: Callable[[], DeepTDReport]  # the report of no rounds
    # make a number of rounds; the report of earlier rounds is an argument, and their reports are added to it
    advance: Callable[[DeepTDState, DeepTDReport, int], tuple[DeepTDState, DeepTDReport]]
    graphdef: nnx.GraphDef[Any]


def make_learner(config: DeepTDConfig) -> DeepTDPrograms:
    """Bind the config."""
    setup = _make_setup(config)
    init_state = functools.partial(_init_state, setup)
    one_round = functools.partial(make_round, setup)
    return DeepTDPrograms(
        init=init_state,
        empty=jax.jit(lambda: empty_report(one_round, jax.eval_shape(lambda: init_state(0)))),
        advance=jax.jit(functools.partial(run_rounds, one_round, add_reports), donate_argnums=0),
        graphdef=setup.graphdef,
    )
