"""The loss of an unrolled model (Stochastic MuZero, eq. 1 and 6, with the conventions of models/base.py).

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
from enum import Enum
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax.scipy.special import xlogy
from jaxtyping import Array, Bool, Float, UInt8

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


Samples = dict[Enum, list[Array]]  # of each term, one number for each unrolled state or move that has it


def scale_gradient(x: Float[Array, "..."], scale: float) -> Float[Array, "..."]:
    """Return x; its gradient is multiplied by `scale`."""
    return x * scale + jax.lax.stop_gradient(x) * (1.0 - scale)


def batch_size(batch: Batch) -> BatchSize:
    """Return the sizes of a whole batch."""
    return BatchSize(len(batch.alive), jnp.maximum(jnp.sum(batch.alive, axis=0, dtype=jnp.float32), 1.0))


def unrolled_loss(
    model: Model, batch: Batch, size: BatchSize, config: MuZeroConfig
) -> tuple[Float[Array, ""], PartialLoss]:
    """Unroll the model along the K moves of a batch and sum its losses; `size` is that of the batch it is a part of."""
    samples: Samples = {term: [] for term in (*Loss, *Diagnostic)}
    num_moves = batch.action.shape[1]
    state = model.representation(batch.cells[:, 0])
    codes = []
    for k in range(num_moves):
        if k == 0 or not model.grounded:
            _state_losses(model, state, batch, size, k, samples)
        if k > 0:  # the gradient is halved where the next step of the unroll begins (MuZero, appendix G)
            state = jax.tree.map(lambda x: scale_gradient(x, 0.5), state)
        state, code = _move_losses(model, state, batch, size, k, samples)
        codes.append(code)
    if not model.grounded:  # the last move also learns from the value and the policy of the state after it
        _state_losses(model, state, batch, size, num_moves, samples)
    samples[Diagnostic.SATURATED].append(jnp.sum(model.codec.saturated(batch.value)) / (size.samples * (num_moves + 1)))

    means = {term: jnp.mean(jnp.stack(numbers)) if numbers else jnp.zeros(()) for term, numbers in samples.items()}
    losses = {term.name.lower(): means[term] for term in Loss}
    diagnostics = {term.name.lower(): means[term] for term in Diagnostic}
    total = sum(weight * losses[name] for name, weight in dataclasses.asdict(config.losses).items())
    return total, PartialLoss(total, losses, diagnostics, _count_codes(model, jnp.stack(codes, axis=1), batch))


def loss_report(whole: PartialLoss) -> LossReport:
    """Return the report of a whole batch, the sum of its parts.

    It has the entropy of the codes, and their mutual information with the true spawn (0: independent of it).
    """
    joint = whole.codes / jnp.maximum(whole.codes.sum(), 1.0)
    total, by_code, by_spawn = (jnp.sum(xlogy(p, p)) for p in (joint, joint.sum(axis=1), joint.sum(axis=0)))
    of_codes = {Diagnostic.CODE_ENTROPY: -by_code, Diagnostic.CODE_INFORMATION: -by_code - by_spawn + total}
    named = {term.name.lower(): value for term, value in of_codes.items()}
    return LossReport(whole.total, whole.losses, whole.diagnostics | named)


def _state_losses(model: Model, state: State, batch: Batch, size: BatchSize, k: int, samples: Samples) -> None:
    """Append the losses of state k."""
    prediction = model.prediction(state)
    weight = batch.weight
    value = weight * model.codec.loss(prediction.value_logits, batch.value[:, k])
    samples[Loss.VALUE].append(value.sum() / size.samples)
    policy = weight * optax.softmax_cross_entropy(prediction.policy_logits, batch.policy[:, k])
    samples[Loss.POLICY].append(_mean_where(batch.alive[:, k], policy, size.alive[k]))
    if model.grounded:
        samples[Loss.RECONSTRUCTION].append(
            _reconstruction(model, state, batch.cells[:, k], batch.alive[:, k], weight, size.alive[k])[0]
        )


def _move_losses(
    model: Model, state: State, batch: Batch, size: BatchSize, k: int, samples: Samples
) -> tuple[State, Array]:
    """Append the losses of move k; return the next state and the chance code."""
    alive, count, weight = batch.alive[:, k], size.alive[k], batch.weight
    afterstate, reward_head = model.afterstate_dynamics(state, batch.action[:, k])
    reward = weight * model.reward_loss(reward_head, batch.reward[:, k])
    samples[Loss.REWARD].append(reward.sum() / size.samples)
    error = jnp.abs(model.reward(reward_head) - batch.reward[:, k])
    samples[Diagnostic.REWARD_ERROR].append(_mean_where(alive, error, count))

    predicted = model.afterstate_prediction(afterstate)
    afterstate_value = model.codec.loss(predicted.value_logits, batch.afterstate_value[:, k])
    samples[Loss.AFTERSTATE_VALUE].append((weight * afterstate_value).sum() / size.samples)
    boards = batch.afterstate_cells[:, k], batch.cells[:, k + 1]
    observed = Observed(batch.cells[:, k], batch.action[:, k], *boards, batch.spawn_code[:, k])
    code, distance = model.chance_encoder.code(model, observed)
    target = jax.lax.stop_gradient(code)
    samples[Loss.CHANCE].append(
        _mean_where(alive, weight * optax.softmax_cross_entropy(predicted.chance_logits, target), count)
    )
    samples[Loss.COMMITMENT].append(_mean_where(alive, weight * distance, count))

    state = model.dynamics(afterstate, code)
    if model.grounded:
        loss, accuracy = _reconstruction(model, afterstate, batch.afterstate_cells[:, k], alive, weight, count)
        next_loss, next_accuracy = _reconstruction(model, state, batch.cells[:, k + 1], alive, weight, count)
        samples[Loss.RECONSTRUCTION] += [loss, next_loss]
        samples[Diagnostic.AFTERSTATE_ACCURACY].append(accuracy)
        samples[Diagnostic.NEXT_STATE_ACCURACY].append(next_accuracy)
    elif model.predictor is not None:
        true_state = jax.lax.stop_gradient(model.representation(batch.cells[:, k + 1]))
        samples[Loss.CONSISTENCY].append(_mean_where(alive, weight * model.inconsistency(state, true_state), count))
        after = _mean_where(alive, weight * model.afterstate_inconsistency(afterstate, true_state), count)
        samples[Loss.AFTERSTATE_CONSISTENCY].append(after)
    return state, code


def _reconstruction(
    model: Model,
    latent: State,
    cells: UInt8[Array, "B N"],
    alive: Bool[Array, "B"],
    weight: Float[Array, "B"],
    count: Float[Array, ""],
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Return the cross-entropy of the decoded cells and the share of boards with all cells right, over alive boards."""
    logits = model.decode(latent)
    labels = jnp.minimum(cells, model.tile_levels - 1).astype(jnp.int32)
    loss = weight * optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean(axis=-1)
    all_right = jnp.all(jnp.argmax(logits, axis=-1) == labels, axis=-1)
    return _mean_where(alive, loss, count), _mean_where(alive, all_right.astype(jnp.float32), count)


def _count_codes(model: Model, codes: Float[Array, "B K C"], batch: Batch) -> Float[Array, "C spawns"]:
    """Count the moves of alive samples by code and true spawn."""
    spawns = jax.nn.one_hot(batch.spawn_code, model.spawn_codes) * batch.alive[:, :-1, None]
    return jnp.einsum("bkc,bks->cs", jax.lax.stop_gradient(codes), spawns)


def _mean_where(mask: Bool[Array, "B"], x: Float[Array, "B"], count: Float[Array, ""]) -> Float[Array, ""]:
    return jnp.sum(jnp.where(mask, x, 0.0)) / count
