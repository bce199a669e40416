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


Samples = dict[Enum, list[Array]]  # of each term, one number for each unrolled state or move that has it


def scale_gradient(x: Float[Array, "..."], scale: float) -> Float[Array, "..."]:
    """Return x; its gradient is multiplied by `scale`."""
    return x * scale + jax.lax.stop_gradient(x) * (1.0 - scale)


def unrolled_loss(model: Model, batch: Batch, config: MuZeroConfig) -> tuple[Float[Array, ""], LossReport]:
    """Unroll the model along the K moves of the batch and sum its losses."""
    samples: Samples = {term: [] for term in (*Loss, *Diagnostic)}
    num_moves = batch.action.shape[1]
    state = model.representation(batch.cells[:, 0])
    codes = []
    for k in range(num_moves):
        if k == 0 or not model.grounded:
            _state_losses(model, state, batch, k, samples)
        if k > 0:  # the gradient is halved where the next step of the unroll begins (MuZero, appendix G)
            state = jax.tree.map(lambda x: scale_gradient(x, 0.5), state)
        state, code = _move_losses(model, state, batch, k, samples)
        codes.append(code)
    if not model.grounded:  # the last move also learns from the value and the policy of the state after it
        _state_losses(model, state, batch, num_moves, samples)
    _code_statistics(model, jnp.stack(codes, axis=1), batch, samples)
    samples[Diagnostic.SATURATED].append(jnp.mean(model.codec.saturated(batch.value)))

    means = {term: jnp.mean(jnp.stack(numbers)) if numbers else jnp.zeros(()) for term, numbers in samples.items()}
    losses = {term.name.lower(): means[term] for term in Loss}
    diagnostics = {term.name.lower(): means[term] for term in Diagnostic}
    total = sum(weight * losses[name] for name, weight in dataclasses.asdict(config.losses).items())
    return total, LossReport(total, losses, diagnostics)


def _state_losses(model: Model, state: State, batch: Batch, k: int, samples: Samples) -> None:
    """Append the losses of state k."""
    prediction = model.prediction(state)
    weight = batch.weight
    samples[Loss.VALUE].append((weight * model.codec.loss(prediction.value_logits, batch.value[:, k])).mean())
    policy = weight * optax.softmax_cross_entropy(prediction.policy_logits, batch.policy[:, k])
    samples[Loss.POLICY].append(_mean_where(batch.alive[:, k], policy))
    if model.grounded:
        samples[Loss.RECONSTRUCTION].append(
            _reconstruction(model, state, batch.cells[:, k], batch.alive[:, k], weight)[0]
        )


def _move_losses(model: Model, state: State, batch: Batch, k: int, samples: Samples) -> tuple[State, Array]:
    """Append the losses of move k; return the next state and the chance code."""
    alive, weight = batch.alive[:, k], batch.weight
    afterstate, reward_head = model.afterstate_dynamics(state, batch.action[:, k])
    samples[Loss.REWARD].append((weight * model.reward_loss(reward_head, batch.reward[:, k])).mean())
    samples[Diagnostic.REWARD_ERROR].append(_mean_where(alive, jnp.abs(model.reward(reward_head) - batch.reward[:, k])))

    predicted = model.afterstate_prediction(afterstate)
    afterstate_value = model.codec.loss(predicted.value_logits, batch.afterstate_value[:, k])
    samples[Loss.AFTERSTATE_VALUE].append((weight * afterstate_value).mean())
    boards = batch.afterstate_cells[:, k], batch.cells[:, k + 1]
    observed = Observed(batch.cells[:, k], batch.action[:, k], *boards, batch.spawn_code[:, k])
    code, distance = model.chance_encoder.code(model, observed)
    target = jax.lax.stop_gradient(code)
    samples[Loss.CHANCE].append(
        _mean_where(alive, weight * optax.softmax_cross_entropy(predicted.chance_logits, target))
    )
    samples[Loss.COMMITMENT].append(_mean_where(alive, weight * distance))

    state = model.dynamics(afterstate, code)
    if model.grounded:
        loss, accuracy = _reconstruction(model, afterstate, batch.afterstate_cells[:, k], alive, weight)
        next_loss, next_accuracy = _reconstruction(model, state, batch.cells[:, k + 1], alive, weight)
        samples[Loss.RECONSTRUCTION] += [loss, next_loss]
        samples[Diagnostic.AFTERSTATE_ACCURACY].append(accuracy)
        samples[Diagnostic.NEXT_STATE_ACCURACY].append(next_accuracy)
    elif model.predictor is not None:
        true_state = jax.lax.stop_gradient(model.representation(batch.cells[:, k + 1]))
        samples[Loss.CONSISTENCY].append(_mean_where(alive, weight * model.inconsistency(state, true_state)))
        after = _mean_where(alive, weight * model.afterstate_inconsistency(afterstate, true_state))
        samples[Loss.AFTERSTATE_CONSISTENCY].append(after)
    return state, code


def _reconstruction(
    model: Model, latent: State, cells: UInt8[Array, "B N"], alive: Bool[Array, "B"], weight: Float[Array, "B"]
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Return the cross-entropy of the decoded cells and the share of boards with all cells right, over alive boards."""
    logits = model.decode(latent)
    labels = jnp.minimum(cells, model.tile_levels - 1).astype(jnp.int32)
    loss = weight * optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean(axis=-1)
    all_right = jnp.all(jnp.argmax(logits, axis=-1) == labels, axis=-1)
    return _mean_where(alive, loss), _mean_where(alive, all_right.astype(jnp.float32))


def _code_statistics(model: Model, codes: Float[Array, "B K C"], batch: Batch, samples: Samples) -> None:
    """Append the entropy of the codes and their mutual information with the true spawn (0: independent of it)."""
    spawns = jax.nn.one_hot(batch.spawn_code, model.spawn_codes) * batch.alive[:, :-1, None]
    joint = jnp.einsum("bkc,bks->cs", jax.lax.stop_gradient(codes), spawns)
    joint = joint / jnp.maximum(joint.sum(), 1.0)
    total, by_code, by_spawn = (jnp.sum(xlogy(p, p)) for p in (joint, joint.sum(axis=1), joint.sum(axis=0)))
    samples[Diagnostic.CODE_ENTROPY].append(-by_code)
    samples[Diagnostic.CODE_INFORMATION].append(-by_code - by_spawn + total)


def _mean_where(mask: Bool[Array, "B"], x: Float[Array, "B"]) -> Float[Array, ""]:
    return jnp.sum(jnp.where(mask, x, 0.0)) / jnp.maximum(jnp.sum(mask), 1)
