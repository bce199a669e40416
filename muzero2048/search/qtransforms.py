"""Q-values made comparable: completion of the unvisited ones, normalisation, and sigma (Gumbel MuZero)."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from muzero2048.search.config import SearchConfig

Bounds = Float[Array, "*B 2"]  # the least and the greatest Q of a tree, in points


def complete_q(
    q_values: Float[Array, "*B A"],
    visits: Int[Array, "*B A"],
    prior_logits: Float[Array, "*B A"],
    value: Float[Array, "*B"],
) -> Float[Array, "*B A"]:
    """Completed Q-values: the mixed value where an action was not visited (Gumbel MuZero, eq. 33, appendix D).

    v_mix = (v + N / sum_visited pi * sum_visited pi q) / (1 + N), N the number of visits of all actions.
    """
    prior = jax.nn.softmax(prior_logits, axis=-1)
    visited = visits > 0
    # The floor only keeps 0 / 0 away; the prior of an action that search visited is never smaller.
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
    """The scaling sigma(q) = (c_visit + max_b N(b)) c_scale q (Gumbel MuZero, eq. 8), of the normalised completed q."""
    low, high = completed.min(axis=-1), completed.max(axis=-1)
    return (
        (config.gumbel.c_visit + visits.max(axis=-1, keepdims=True))
        * config.gumbel.c_scale
        * normalize(completed, low, high, bounds, config)
    )


def normalize(
    q: Float[Array, "*B A"],
    low: Float[Array, "*B"],
    high: Float[Array, "*B"],
    bounds: Bounds,
    config: SearchConfig,
) -> Float[Array, "*B A"]:
    """Q from points to the unit in which priors and exploration are weighed against it.

    node:   (q - low) / (high - low), of the range at this node: near-ties look decisive
    tree:   the same with the range of all Q-values met in the tree (MuZero, appendix B, eq. 5)
    fixed:  (q - low) / value_scale, whatever the range

    A range below `range_floor` points counts as that.
    """
    if config.normalization == "fixed":
        span = jnp.full_like(low, config.value_scale)
    else:
        if config.normalization == "tree":
            low, high = bounds[..., 0], bounds[..., 1]
        span = jnp.maximum(high - low, config.range_floor)
    return (q - low[..., None]) / span[..., None]


def widen(bounds: Bounds, q: Float[Array, "*B"], seen: Bool[Array, "*B"]) -> Bounds:
    """The bounds after another Q was met, in the rows where it was."""
    low, high = bounds[..., 0], bounds[..., 1]
    return jnp.stack([jnp.where(seen, jnp.minimum(low, q), low), jnp.where(seen, jnp.maximum(high, q), high)], axis=-1)
