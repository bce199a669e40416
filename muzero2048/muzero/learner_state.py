"""The training state of the MuZero learner. Its field names are the names of the arrays in checkpoints."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from flax import nnx
from jaxtyping import Array, Int, PRNGKeyArray

from muzero2048.muzero.table_learning import Params, Tables, with_tables
from muzero2048.networks.value_tables import ValueTable
from muzero2048.training.actor import ActorState
from muzero2048.training.devices import Shardings
from muzero2048.training.replay import ReplayState


class Average(NamedTuple):
    """Averaged parameters e <- d e + (1 - d) p, with d = min(decay, (1 + t) / (10 + t)) after update t = 0, 1, ...

    The average starts at the initial parameters; the small d of the first updates makes it forget them.
    """

    params: Params
    updates: Int[Array, ""]  # t


class MuZeroState(NamedTuple):
    """Everything that training needs to continue, on the devices."""

    params: Params  # moved by the optimizer
    tables: Tables | None  # None: the model has no value tables
    average: Average | None  # average of params; None: ema_decay is 0
    optimizer: optax.OptState
    actor: ActorState
    replay: ReplayState
    key: PRNGKeyArray


def acting_params(state: MuZeroState) -> Any:
    """Return the parameters that play, reanalyse, give fresh values and are evaluated, with the tables.

    They are the averaged ones if there are any.
    """
    return with_tables(state.params if state.average is None else state.average.params, state.tables)


def with_acting_params(state: MuZeroState, params: Any) -> MuZeroState:
    """Return `state` with the acting parameters replaced, or removed if `params` is None."""
    if state.tables is not None:
        params, weights = (None, None) if params is None else nnx.split_state(params, nnx.Param, ValueTable)
        state = state._replace(tables=state.tables._replace(weights=weights))
    if state.average is None:
        return state._replace(params=params)
    return state._replace(average=state.average._replace(params=params))


def beginning_with(state: MuZeroState, params: Any) -> MuZeroState:
    """Return a new state that begins with the acting parameters of another: the moved ones and their average."""
    state = with_acting_params(state, params)
    if state.average is None:
        return state
    # A copy: the first update donates, and so deletes, both.
    return state._replace(params=jax.tree.map(jnp.copy, state.average.params))


def extend_average(average: Average, params: Params, decay: float) -> Average:
    """Return the average after one more update."""
    t = average.updates.astype(jnp.float32)
    share = jnp.minimum(decay, (1.0 + t) / (10.0 + t))
    mixed = jax.tree.map(lambda e, p: share * e + (1.0 - share) * p, average.params, params)
    return Average(mixed, average.updates + 1)


def state_shardings(shardings: Shardings) -> MuZeroState:
    """Return where the parts of the state lie: games and replay are cut among the devices, the rest is copied."""
    copied, cut = shardings
    places = {"actor": cut, "replay": ReplayState._make((cut, cut, copied, copied))}
    return MuZeroState._make(places.get(name, copied) for name in MuZeroState._fields)
