"""The loss of an unrolled model (Stochastic MuZero, eq. 1, 6 and 7, with the conventions of models/base.py).

    L = mean_{k<=K} w_v l(v^k, z_{t+k}) + w_p l(p^k, pi_{t+k})
      + mean_{k<K}  w_q l(Q^k, (z_{t+k} - r_{t+k}) / gamma) + w_c l(sigma^k, c_{t+k}) + w_r l(r^k, r_{t+k})
                 + w_b ||sg(onehot c) - c^e||^2 + w_x reconstruction (grounded)
                 + w_s d(s^{k+1}, sg h(o_{t+k+1})) + w_a d(as^k, sg h(o_{t+k+1})) (latent, cells)

l is cross-entropy, sg stops the gradient, d is 1 - the cosine similarity after a small network (`inconsistency`).

- For a grounded model the first mean is its term k = 0 alone: its dynamics learn nothing from values and policies.
- No move is made in absorbing states. The targets of value and reward are 0 there. All other terms skip these states:
  they are means over the positions that are alive.
- The loss of a sample is multiplied by its weight, which prioritised replay sets (training/replay.py).
- All means are divided by the sizes of the whole batch. So the losses and gradients of its parts, one on each device,
  add up to those of the batch.
"""

import dataclasses
import functools
from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax.scipy.special import xlogy
from jaxtyping import Array, Bool, Float

from muzero2048.models.base import Model, State
from muzero2048.models.chance_encoders import Observed
from muzero2048.muzero.batches import Batch
from muzero2048.muzero.config import MuZeroConfig
from ntuple.core.loss_terms import Diagnostic, Loss


class LossReport(NamedTuple):
    """The loss of an update, and the means of its terms by name (ntuple/core/loss_terms.py)."""

    total: Float[Array, ""]
    losses: dict[str, Float[Array, ""]]
    diagnostics: dict[str, Float[Array, ""]]


class BatchSize(NamedTuple):
    """What the losses of a batch are divided by."""

    samples: int  # B
    alive: Float[Array, "K_plus_1"]  # samples that are alive at each step, at least 1


class PartialLoss(NamedTuple):
    """What a part of a batch adds to its loss, to the means of the terms, and to the numbers of codes and spawns."""

    total: Float[Array, ""]
    losses: dict[str, Float[Array, ""]]
    diagnostics: dict[str, Float[Array, ""]]  # those that are means
    codes: Float[Array, "C spawns"]  # moves of alive samples with this code and this true spawn


class Unrolled(NamedTuple):
    """What the model predicts along the moves of a batch, time first: K+1 states or K moves."""

    states: State  # K+1
    afterstates: State  # K
    reward_heads: Any  # K
    codes: Float[Array, "K B C"]
    commitment: Float[Array, "K B"]  # distance of the chance encoder's output from its code


Terms = dict[Enum, Float[Array, ""]]
OF_CODES = Diagnostic.CODE_ENTROPY, Diagnostic.CODE_INFORMATION  # of a whole batch (`loss_report`), no sums of parts


def scale_gradient(x: Float[Array, "..."], scale: float) -> Float[Array, "..."]:
    """Return x; its gradient is multiplied by `scale`."""
    return x * scale + jax.lax.stop_gradient(x) * (1.0 - scale)


def batch_size(batch: Batch) -> BatchSize:
    """Return the sizes of a whole batch."""
    return BatchSize(len(batch.alive), jnp.maximum(jnp.sum(batch.alive, axis=0, dtype=jnp.float32), 1.0))


def unrolled_loss(
    model: Model, batch: Batch, size: BatchSize, config: MuZeroConfig
) -> tuple[Float[Array, ""], tuple[PartialLoss, Float[Array, "B"]]]:
    """Unroll the model along the K moves of a batch and sum its losses; `size` is that of the batch it is a part of.

    Returns the loss, what it consists of, and V(s^0) - z_t in points.
    """
    batch = _time_first(batch)
    unrolled = unroll(model, batch)
    terms: Terms = {term: jnp.zeros(()) for term in (*Loss, *Diagnostic)}
    of_states, values = _state_losses(model, unrolled, batch, size)
    terms |= of_states | _move_losses(model, unrolled, batch, size)
    if model.grounded:
        terms |= _reconstructions(model, unrolled, batch, size)
    elif model.predictor is not None:
        terms |= _inconsistencies(model, unrolled, batch, size)
    terms[Diagnostic.SATURATED] = jnp.sum(model.codec.saturated(batch.value)) / (size.samples * len(batch.value))

    losses = {term.name.lower(): terms[term] for term in Loss}
    diagnostics = {term.name.lower(): terms[term] for term in Diagnostic if term not in OF_CODES}
    total = sum(weight * losses[name] for name, weight in dataclasses.asdict(config.losses).items())
    loss = PartialLoss(total, losses, diagnostics, _count_codes(model, unrolled.codes, batch))
    return total, (loss, jax.lax.stop_gradient(values[0]) - batch.value[0])


def loss_report(whole: PartialLoss) -> LossReport:
    """Return the report of a whole batch, the sum of its parts.

    It has the entropy of the codes, and their mutual information with the true spawn (0: independent of it).
    """
    joint = whole.codes / jnp.maximum(whole.codes.sum(), 1.0)
    total, by_code, by_spawn = (jnp.sum(xlogy(p, p)) for p in (joint, joint.sum(axis=1), joint.sum(axis=0)))
    of_codes = zip(OF_CODES, (-by_code, -by_code - by_spawn + total), strict=True)
    named = {term.name.lower(): value for term, value in of_codes}
    return LossReport(whole.total, whole.losses, whole.diagnostics | named)


def _time_first(batch: Batch) -> Batch:
    """Exchange the axes of samples and of steps; the weights, which have no steps, become [1, B]."""
    return jax.tree.map(lambda x: x.swapaxes(0, 1), batch._replace(weight=batch.weight[:, None]))


def unroll(model: Model, batch: Batch) -> Unrolled:
    """Predict states, afterstates and rewards along the moves of a batch (time first, as in all functions below).

    Only the two functions of the dynamics run step by step. All others read the K or K+1 steps in one call (`at_once`).
    """
    cells = batch.cells
    observed = Observed(cells[:-1], batch.action, batch.afterstate_cells, cells[1:], batch.spawn_code)
    codes, commitment = at_once(functools.partial(model.chance_encoder.code, model), observed)

    state = model.representation(cells[0])
    states, afterstates, reward_heads = [state], [], []
    for k, action in enumerate(batch.action):
        if k > 0:  # the gradient is halved where the next step of the unroll begins (MuZero, appendix G)
            state = jax.tree.map(lambda x: scale_gradient(x, 0.5), state)
        afterstate, reward_head = model.afterstate_dynamics(state, action)
        state = model.dynamics(afterstate, codes[k])
        states.append(state)
        afterstates.append(afterstate)
        reward_heads.append(reward_head)
    return Unrolled(_stack(states), _stack(afterstates), _stack(reward_heads), codes, commitment)


def at_once(function: Callable[..., Any], *inputs: Any) -> Any:
    """Apply a function of arrays [B, ...] to arrays [K, B, ...] in one call; its outputs have the axis K again.

    A layer then multiplies its matrix once by the rows of all steps, not K times by a few rows.
    """
    num_steps, samples = jax.tree.leaves(inputs)[0].shape[:2]
    outputs = function(*jax.tree.map(lambda x: x.reshape(num_steps * samples, *x.shape[2:]), inputs))
    return jax.tree.map(lambda x: x.reshape(num_steps, samples, *x.shape[1:]), outputs)


def _stack(steps: list[Any]) -> Any:
    return jax.tree.map(lambda *x: jnp.stack(x), *steps)


def _steps(arrays: Any, which: slice) -> Any:
    return jax.tree.map(lambda x: x[which], arrays)


def _state_losses(
    model: Model, unrolled: Unrolled, batch: Batch, size: BatchSize
) -> tuple[Terms, Float[Array, "steps B"]]:
    """Return the losses of the states, and their values in points.

    The state after the last move is one of them. Of a grounded model only the first state learns.
    """
    steps = slice(1) if model.grounded else slice(None)
    target, alive, count = batch.value[steps], batch.alive[steps], size.alive[steps]
    prediction = at_once(model.prediction, _steps(unrolled.states, steps))
    value = model.codec.loss(prediction.value_logits, target)
    policy = optax.softmax_cross_entropy(prediction.policy_logits, batch.policy[steps])
    terms: Terms = {
        Loss.VALUE: jnp.sum(batch.weight * value) / (size.samples * len(target)),
        Loss.POLICY: _mean_where(alive, batch.weight * policy, count),
    }
    return terms, model.codec.decode(prediction.value_logits)


def _move_losses(model: Model, unrolled: Unrolled, batch: Batch, size: BatchSize) -> Terms:
    """Return the losses of the moves: of rewards, and of the values and chance distributions of afterstates."""
    alive, count, reward = batch.alive[:-1], size.alive[:-1], batch.reward
    predicted = at_once(model.afterstate_prediction, unrolled.afterstates)
    value = model.codec.loss(predicted.value_logits, batch.afterstate_value)
    chance = optax.softmax_cross_entropy(predicted.chance_logits, jax.lax.stop_gradient(unrolled.codes))
    of_reward = at_once(model.reward_loss, unrolled.reward_heads, reward)
    error = jnp.abs(at_once(model.reward, unrolled.reward_heads) - reward)
    moves = size.samples * len(reward)
    return {
        Loss.REWARD: jnp.sum(batch.weight * of_reward) / moves,
        Loss.AFTERSTATE_VALUE: jnp.sum(batch.weight * value) / moves,
        Loss.CHANCE: _mean_where(alive, batch.weight * chance, count),
        Loss.COMMITMENT: _mean_where(alive, batch.weight * unrolled.commitment, count),
        Diagnostic.REWARD_ERROR: _mean_where(alive, error, count),
    }


def _inconsistencies(model: Model, unrolled: Unrolled, batch: Batch, size: BatchSize) -> Terms:
    """Return the consistency losses of a latent model."""
    alive, count = batch.alive[:-1], size.alive[:-1]
    true = jax.lax.stop_gradient(at_once(model.representation, batch.cells[1:]))
    following = at_once(model.inconsistency, _steps(unrolled.states, slice(1, None)), true)
    after = at_once(model.afterstate_inconsistency, unrolled.afterstates, true)
    return {
        Loss.CONSISTENCY: _mean_where(alive, batch.weight * following, count),
        Loss.AFTERSTATE_CONSISTENCY: _mean_where(alive, batch.weight * after, count),
    }


def _reconstructions(model: Model, unrolled: Unrolled, batch: Batch, size: BatchSize) -> Terms:
    """Return the loss of the decoded states and afterstates of a grounded model, and how many are right after a move.

    A state after a move counts if the move was made.
    """
    num_moves = len(batch.action)
    cells = jnp.concatenate([batch.cells, batch.afterstate_cells])
    alive, count = (jnp.concatenate([x[:1], x[:-1], x[:-1]]) for x in (batch.alive, size.alive))
    logits = at_once(model.decode, jax.tree.map(lambda *x: jnp.concatenate(x), unrolled.states, unrolled.afterstates))
    labels = jnp.minimum(cells, model.tile_levels - 1).astype(jnp.int32)
    loss = batch.weight * optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean(axis=-1)
    all_right = jnp.all(jnp.argmax(logits, axis=-1) == labels, axis=-1).astype(jnp.float32)

    def accuracy(steps: slice) -> Float[Array, ""]:
        return _mean_where(alive[steps], all_right[steps], count[steps])

    return {
        Loss.RECONSTRUCTION: _mean_where(alive, loss, count),
        Diagnostic.NEXT_STATE_ACCURACY: accuracy(slice(1, num_moves + 1)),
        Diagnostic.AFTERSTATE_ACCURACY: accuracy(slice(num_moves + 1, None)),
    }


def _count_codes(model: Model, codes: Float[Array, "K B C"], batch: Batch) -> Float[Array, "C spawns"]:
    """Count the moves of alive samples by code and true spawn."""
    spawns = jax.nn.one_hot(batch.spawn_code, model.spawn_codes) * batch.alive[:-1, :, None]
    return jnp.einsum("kbc,kbs->cs", jax.lax.stop_gradient(codes), spawns)


def _mean_where(
    mask: Bool[Array, "steps B"], x: Float[Array, "steps B"], count: Float[Array, "steps"]
) -> Float[Array, ""]:
    """Return the mean over the steps of the means over the samples, of which `count` are in the mask."""
    return jnp.mean(jnp.sum(jnp.where(mask, x, 0.0), axis=1) / count)
