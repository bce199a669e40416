"""The value tables of a model in training: they learn beside the optimizer, by TC (networks/value_tables.py)."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Bool

from muzero2048.models.base import Model
from muzero2048.muzero.config import MuZeroConfig
from muzero2048.muzero.losses import LossReport
from muzero2048.muzero.targets import Batch
from muzero2048.networks.value_tables import Coherence, Table, init_coherence, learn

Params = Any  # nnx.State of the model, its value tables apart

MODEL_IS_RIGHT = 0.99  # share of a batch's afterstates that a model decodes whole before its tables learn


class Tables(NamedTuple):
    """The value tables of a model, which are not learned by gradients."""

    weights: Any  # nnx.State
    coherence: Coherence


def init_tables(model: Model) -> Tables | None:
    """The value tables of a new model, if it has some."""
    if model.value_tables is None:
        return None
    return Tables(nnx.state(model, Table), init_coherence(model.value_tables.weights[...]))


def with_tables(params: Params, tables: Tables | None) -> Any:
    """The whole state of the model."""
    return params if tables is None else nnx.merge_state(params, tables.weights)


def model_is_right(report: LossReport) -> Bool[Array, ""]:
    """The tables wait until the model decodes MODEL_IS_RIGHT of the afterstates of a batch whole.

    What a wrong model says of the next move is no target, and TC remembers errors that cancel, so that the rates of the
    first entries would be spent on them.
    """
    return report.afterstate_accuracy >= MODEL_IS_RIGHT


def learn_tables(
    model: Model, tables: Tables | None, batch: Batch, allowed: Bool[Array, ""], config: MuZeroConfig
) -> Tables | None:
    """Move the value tables by their errors on the true first afterstates of the batch, if that is allowed."""
    if tables is None or model.value_tables is None:
        return None
    cells = batch.afterstate_cells[:, 0]
    delta = model.codec.to_centre(batch.afterstate_value[:, 0]) - model.value_tables(cells)
    delta = jnp.where(allowed, delta * batch.weight, 0.0)
    entries = model.value_tables.entries(cells)
    weights, coherence = learn(
        model.value_tables.weights[...], tables.coherence, entries, delta, config.optimizer.table_learning_rate
    )
    return Tables(jax.tree.map(lambda _: weights, tables.weights), coherence)
