"""Training of a model's value tables: by TC (networks/value_tables.py), not by the optimizer."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Bool

from muzero2048.models.base import Model
from muzero2048.muzero.batches import Batch
from muzero2048.muzero.config import MuZeroConfig
from muzero2048.muzero.losses import LossReport
from muzero2048.networks.value_tables import Coherence, ValueTable, init_coherence, learn

Params = Any  # nnx.State of the model without its value tables

MODEL_IS_RIGHT = 0.99  # share of a batch's afterstates with all cells decoded right, from which on the tables learn


class Tables(NamedTuple):
    """The value tables of a model and the state of TC; gradients do not reach them."""

    weights: Any  # nnx.State
    coherence: Coherence


def init_tables(model: Model) -> Tables | None:
    """Return the value tables of a new model; None if it has none."""
    if model.value_tables is None:
        return None
    return Tables(nnx.state(model, ValueTable), init_coherence(model.value_tables.weights[...]))


def with_tables(params: Params, tables: Tables | None) -> Any:
    """Return the whole state of the model: parameters and tables."""
    return params if tables is None else nnx.merge_state(params, tables.weights)


def model_is_right(report: LossReport) -> Bool[Array, ""]:
    """Check that the model decodes enough of the batch's afterstates right for the tables to learn.

    Values bootstrapped from a wrong model are wrong targets. TC accumulates errors, and where they cancel the rate
    of the entry stays low afterwards. So learning from wrong targets would use up the rates of the first entries.
    """
    return report.diagnostics["afterstate_accuracy"] >= MODEL_IS_RIGHT


def learn_tables(
    model: Model, tables: Tables | None, batch: Batch, allowed: Bool[Array, ""], config: MuZeroConfig
) -> Tables | None:
    """Move the value tables by their errors at the true first afterstates of the batch.

    `allowed` = False leaves the tables as they are.
    """
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
