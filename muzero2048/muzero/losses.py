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

Shapes: `B` samples, `K` moves, `N` cells, `C` chance codes, `M` classes.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, UInt8

from muzero2048.models.base import Model, State, straight_through_code
from muzero2048.muzero.config import MuZeroConfig
from muzero2048.muzero.targets import Batch


class LossReport(NamedTuple):
    """Terms of the loss and diagnostics of one update, all scalars."""

    total: Float[Array, ""]
    value: Float[Array, ""]
    afterstate_value: Float[Array, ""]
    policy: Float[Array, ""]
    chance: Float[Array, ""]
    reward: Float[Array, ""]
    commitment: Float[Array, ""]
    reconstruction: Float[Array, ""]
    consistency: Float[Array, ""]
    afterstate_consistency: Float[Array, ""]
    reward_error: Float[Array, ""]  # mean absolute error of the predicted reward, points
    saturated: Float[Array, ""]  # share of value targets beyond the support
    code_entropy: Float[Array, ""]  # entropy of the use of the chance codes over the batch, nats
    code_information: Float[Array, ""]  # mutual information of the chance code and the true spawn, nats
    afterstate_accuracy: Float[Array, ""]  # share of afterstates with all cells decoded right (grounded; else 0)
    next_state_accuracy: Float[Array, ""]  # share of next boards with all cells decoded right (grounded; else 0)


def scale_gradient(x: Float[Array, "..."], scale: float) -> Float[Array, "..."]:
    """Return x; its gradient is multiplied by `scale`."""
    return x * scale + jax.lax.stop_gradient(x) * (1.0 - scale)


def unrolled_loss(model: Model, batch: Batch, config: MuZeroConfig) -> tuple[Float[Array, ""], LossReport]:
    """Unroll the model along the K moves of the batch and sum its losses."""
    terms: dict[str, list[Array]] = {name: [] for name in LossReport._fields}
    num_moves = batch.action.shape[1]
    state = model.representation(batch.cells[:, 0])
    codes = []
    for k in range(num_moves):
        if k == 0 or not model.grounded:
            _state_losses(model, state, batch, k, terms)
        if k > 0:  # the gradient is halved where the next step of the unroll begins (MuZero, appendix G)
            state = jax.tree.map(lambda x: scale_gradient(x, 0.5), state)
        state, code = _move_losses(model, state, batch, k, terms)
        codes.append(code)
    if not model.grounded:  # the last move also learns from the value and the policy of the state after it
        _state_losses(model, state, batch, num_moves, terms)
    _code_statistics(model, jnp.stack(codes, axis=1), batch, terms)
    terms["saturated"].append(jnp.mean(model.codec.saturated(batch.value)))

    means = {name: jnp.mean(jnp.stack(values)) if values else jnp.zeros(()) for name, values in terms.items()}
    weights = config.losses
    total = sum(getattr(weights, name) * means[name] for name in weights.__dataclass_fields__)
    return total, LossReport(**{**means, "total": total})


Terms = dict[str, list[Array]]


def _state_losses(model: Model, state: State, batch: Batch, k: int, terms: Terms) -> None:
    """Append the losses of state k to the terms."""
    prediction = model.prediction(state)
    weight = batch.weight
    terms["value"].append((weight * model.codec.loss(prediction.value_logits, batch.value[:, k])).mean())
    policy = weight * _cross_entropy(prediction.policy_logits, batch.policy[:, k])
    terms["policy"].append(_mean_where(batch.alive[:, k], policy))
    if model.grounded:
        terms["reconstruction"].append(_reconstruction(model, state, batch.cells[:, k], batch.alive[:, k], weight)[0])


def _move_losses(model: Model, state: State, batch: Batch, k: int, terms: Terms) -> tuple[State, Array]:
    """Append the losses of move k to the terms; return the next state and the chance code."""
    alive, weight = batch.alive[:, k], batch.weight
    afterstate, reward_head = model.afterstate_dynamics(state, batch.action[:, k])
    terms["reward"].append((weight * model.reward_loss(reward_head, batch.reward[:, k])).mean())
    terms["reward_error"].append(_mean_where(alive, jnp.abs(model.reward(reward_head) - batch.reward[:, k])))

    predicted = model.afterstate_prediction(afterstate)
    afterstate_value = model.codec.loss(predicted.value_logits, batch.afterstate_value[:, k])
    terms["afterstate_value"].append((weight * afterstate_value).mean())
    code, distance = _chance_code(model, batch, k)
    target = jax.lax.stop_gradient(code)
    terms["chance"].append(_mean_where(alive, weight * _cross_entropy(predicted.chance_logits, target)))
    terms["commitment"].append(_mean_where(alive, weight * distance))

    state = model.dynamics(afterstate, code)
    if model.grounded:
        loss, accuracy = _reconstruction(model, afterstate, batch.afterstate_cells[:, k], alive, weight)
        next_loss, next_accuracy = _reconstruction(model, state, batch.cells[:, k + 1], alive, weight)
        terms["reconstruction"] += [loss, next_loss]
        terms["afterstate_accuracy"].append(accuracy)
        terms["next_state_accuracy"].append(next_accuracy)
    elif model.predictor is not None:
        true_state = jax.lax.stop_gradient(model.representation(batch.cells[:, k + 1]))
        terms["consistency"].append(_mean_where(alive, weight * model.inconsistency(state, true_state)))
        after = _mean_where(alive, weight * model.afterstate_inconsistency(afterstate, true_state))
        terms["afterstate_consistency"].append(after)
    return state, code


def _chance_code(model: Model, batch: Batch, k: int) -> tuple[Float[Array, "B C"], Float[Array, "B"]]:
    """Return the straight-through code of move k, and the distance of the encoder's output from it."""
    if model.oracle:
        code = jax.nn.one_hot(batch.spawn_code[:, k], model.codes)
        return code, jnp.zeros(len(code))
    logits = model.encode(batch.cells[:, k], batch.action[:, k], batch.afterstate_cells[:, k], batch.cells[:, k + 1])
    if model.by_surprise:
        return jax.nn.one_hot(jnp.argmax(logits, axis=-1), model.codes), jnp.zeros(len(logits))
    code = straight_through_code(logits)
    distance = jnp.sum((jax.nn.softmax(logits) - jax.lax.stop_gradient(code)) ** 2, axis=-1)
    return code, distance


def _reconstruction(
    model: Model, latent: State, cells: UInt8[Array, "B N"], alive: Bool[Array, "B"], weight: Float[Array, "B"]
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Return the cross-entropy of the decoded cells and the share of boards with all cells right, over alive boards."""
    logits = model.decode(latent)
    labels = jnp.minimum(cells, model.tile_levels - 1).astype(jnp.int32)
    loss = weight * optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean(axis=-1)
    whole = jnp.all(jnp.argmax(logits, axis=-1) == labels, axis=-1)
    return _mean_where(alive, loss), _mean_where(alive, whole.astype(jnp.float32))


def _code_statistics(model: Model, codes: Float[Array, "B K C"], batch: Batch, terms: Terms) -> None:
    """Append the entropy of the codes and their mutual information with the true spawn (0: independent of it)."""
    spawns = jax.nn.one_hot(batch.spawn_code, 2 * batch.cells.shape[-1]) * batch.alive[:, :-1, None]
    joint = jnp.einsum("bkc,bks->cs", jax.lax.stop_gradient(codes), spawns)
    joint = joint / jnp.maximum(joint.sum(), 1.0)
    entropy = -jnp.sum(xlogx(joint.sum(axis=1)))
    terms["code_entropy"].append(entropy)
    terms["code_information"].append(entropy - jnp.sum(xlogx(joint.sum(axis=0))) + jnp.sum(xlogx(joint)))


def xlogx(p: Float[Array, "..."]) -> Float[Array, "..."]:
    """Compute p log p elementwise, defined as 0 at p = 0."""
    return jnp.where(p > 0, p * jnp.log(jnp.where(p > 0, p, 1.0)), 0.0)


def _cross_entropy(logits: Float[Array, "B M"], target: Float[Array, "B M"]) -> Float[Array, "B"]:
    return -jnp.sum(target * jax.nn.log_softmax(logits.astype(jnp.float32), axis=-1), axis=-1)


def _mean_where(mask: Bool[Array, "B"], x: Float[Array, "B"]) -> Float[Array, ""]:
    return jnp.sum(jnp.where(mask, x, 0.0)) / jnp.maximum(jnp.sum(mask), 1)
