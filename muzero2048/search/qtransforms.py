"""Q-transforms: completion of unvisited Q-values, normalisation, and the scaling sigma (Gumbel MuZero)."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from muzero2048.search.config import SearchConfig

Bounds = Float[Array, "*B 2"]  # least and greatest Q of a tree, in points


def complete_q(
    q_values: Float[Array, "*B A"],
    visits: Int[Array, "*B A"],
    prior_logits: Float[Array, "*B A"],
    value: Float[Array, "*B"],
    config: SearchConfig,
) -> Float[Array, "*B A"]:
    """Replace the Q-values of unvisited actions.

    mixed:  v_mix = (v + N / sum_visited pi * sum_visited pi q) / (1 + N), with N the number of visits of all actions
            (Gumbel MuZero, eq. 33, appendix D)
    value:  v (Guei 2023, sec. 4.4.3)
    """
    visited = visits > 0
    if config.gumbel.completion == "value":
        return jnp.where(visited, q_values, value[..., None])
    prior = jax.nn.softmax(prior_logits, axis=-1)
    # The floor prevents 0 / 0; the prior of a visited action is never smaller.
    mass = jnp.where(visited, jnp.maximum(prior, jnp.finfo(jnp.float32).tiny), 0.0)
    total_visits = visits.sum(axis=-1)
    visited_mass = mass.sum(axis=-1)
    weighted_q = jnp.sum(mass * jnp.where(visited, q_values, 0.0), axis=-1) / jnp.where(
        visited_mass > 0, visited_mass, 1.0
    )
    mixed = (value + total_visits * weighted_q) / (1 + total_visits)
    return jnp.where(visited, q_values, mixed[..., None])


def scale_q(
    completed: Float[Array, "*B A"], visits: Int[Array, "*B A"], bounds: Bounds, config: SearchConfig
) -> Float[Array, "*B A"]:
    """Compute sigma(q) = (c_visit + max_b N(b)) c_scale q of the normalised Q-values (Gumbel MuZero, eq. 8)."""
    low, high = completed.min(axis=-1), completed.max(axis=-1)
    return (
        (config.gumbel.c_visit + visits.max(axis=-1, keepdims=True))
        * config.gumbel.c_scale
        * normalize(completed, low, high, bounds, config)
    )


def normalize(
    q: Float[Array, "*B A"], low: Float[Array, "*B"], high: Float[Array, "*B"], bounds: Bounds, config: SearchConfig
) -> Float[Array, "*B A"]:
    """Normalise Q, so that it can be compared with priors and exploration terms.

    node:   (q - low) / (high - low) with the range at this node; small differences then become decisive
    tree:   the same with the range of all Q-values of the tree (MuZero, appendix B, eq. 5)
    fixed:  (q - low) / value_scale

    A range below `range_floor` points is replaced by `range_floor`.

    `low` and `high` are the least and the greatest Q of the node.
    """
    if config.normalization == "fixed":
        span = jnp.full_like(low, config.value_scale)
    else:
        if config.normalization == "tree":
            low, high = bounds[..., 0], bounds[..., 1]
        span = jnp.maximum(high - low, config.range_floor)
    return (q - low[..., None]) / span[..., None]


def widen(bounds: Bounds, q: Float[Array, "*B"], seen: Bool[Array, "*B"]) -> Bounds:
    """Extend the bounds to further Q-values.

    Rows that are not `seen` keep their bounds.
    """
    low, high = bounds[..., 0], bounds[..., 1]
    return jnp.stack([jnp.where(seen, jnp.minimum(low, q), low), jnp.where(seen, jnp.maximum(high, q), high)], axis=-1)
