"""What the functions of training share: the static parts that the config determines, and their reports."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from flax import nnx
from jaxtyping import Array, Float

from muzero2048.game.env import BoardGame
from muzero2048.models.make import make_model
from muzero2048.muzero.config import MuZeroConfig
from muzero2048.muzero.losses import LossReport
from muzero2048.muzero.selfplay import PlayStatistics, add_play
from muzero2048.training.devices import Devices, Shardings, make_shardings
from muzero2048.training.make_game import make_game
from muzero2048.training.optimizer import make_optimizer
from muzero2048.training.replay import Replay, make_replay


class MuZeroSetup(NamedTuple):
    """What the config determines: the static parts of all functions of training."""

    config: MuZeroConfig
    game: BoardGame
    optimizer: optax.GradientTransformation
    replay: Replay
    graphdef: nnx.GraphDef[Any]  # the structure of the model, without its parameters
    shardings: Shardings


def make_setup(config: MuZeroConfig, devices: Devices | None) -> MuZeroSetup:
    """Make the static parts; `devices` as in `make_learner`."""
    return MuZeroSetup(
        config=config,
        game=make_game(config),
        optimizer=make_optimizer(config),
        replay=make_replay(config, config.sequence),
        graphdef=nnx.split(nnx.eval_shape(lambda: make_model(config, seed=0)))[0],
        shardings=make_shardings(config, devices),
    )


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


def add_reports(first: MuZeroReport, second: MuZeroReport) -> MuZeroReport:
    """Add the reports of two periods."""
    return MuZeroReport(add_play(first.play, second.play), jax.tree.map(jnp.add, first.update, second.update))
