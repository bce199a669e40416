"""Planning: Gumbel MuZero at the root, the decision and chance nodes of Stochastic MuZero inside.

    sigma(q)  = (c_visit + max_b N(b)) c_scale q                        Gumbel MuZero (ICLR 2022), eq. 8
    action    = argmax g + logits + sigma(q) among the most visited     sec. 3
    target    = softmax(logits + sigma(completed q))                    eq. 11

`plan` chooses by itself: with simulations <= considered_actions every considered action is visited at most once, the
tree has depth 1 and the search is one batched evaluation of afterstates (`plan_one_step`); else mctx builds the tree
(`plan_tree`, in tree.py). Both give the same result at positions with at least n legal moves; with fewer, mctx visits
some of them again, one level deeper, where the batch leaves its spare evaluations unused.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, UInt8

from muzero2048.config import SearchConfig
from muzero2048.model import Model, State

ILLEGAL = -1e9  # finite: a softmax over no legal action must not be NaN


class Root(NamedTuple):
    """A batch of positions to plan from."""

    state: State
    policy_logits: Float[Array, "B A"]
    value: Float[Array, "B"]
    legal: Bool[Array, "B A"]
    gumbel: Float[Array, "B A"]  # noise of the root, already scaled; zeros for the deterministic choice


class Plan(NamedTuple):
    """What a search returns."""

    action: Int[Array, "B"]
    policy_target: Float[Array, "B A"]  # improved policy, zero on illegal actions
    q_values: Float[Array, "B A"]  # r + gamma V(as), in points; completed where not visited
    visits: Int[Array, "B A"]
    value: Float[Array, "B"]  # the best visited Q, the value that targets bootstrap from (Guei 2023, eq. 35)


def make_root(
    model: Model,
    key: PRNGKeyArray,
    cells: UInt8[Array, "B N"],
    legal: Bool[Array, "B A"],
    gumbel_scale: float,
) -> Root:
    """Evaluate the boards and draw the noise."""
    state = model.representation(cells)
    prediction = model.prediction(state)
    logits = jnp.where(legal, prediction.policy_logits, ILLEGAL)
    gumbel = gumbel_scale * jax.random.gumbel(key, logits.shape)
    return Root(state, logits, model.codec.decode(prediction.value_logits), legal, gumbel)


def plan(model: Model, key: PRNGKeyArray, root: Root, config: SearchConfig, discount: float) -> Plan:
    """Search from the root by the cheaper of the two equal ways."""
    if config.simulations <= config.considered_actions:
        return plan_one_step(model, root, config, discount)
    from muzero2048.tree import plan_tree

    return plan_tree(model, key, root, config, discount)


def plan_one_step(model: Model, root: Root, config: SearchConfig, discount: float) -> Plan:
    """The search of depth 1: every action's afterstate in one batch.

    All four are evaluated whatever n: a batch of static shape costs less than gathering the considered ones.
    """
    batch = root.legal.shape[0]
    states = jax.tree.map(lambda x: jnp.repeat(x, 4, axis=0), root.state)
    actions = jnp.tile(jnp.arange(4), batch)
    afterstates, reward_head = model.afterstate_dynamics(states, actions)
    values = model.codec.decode(model.afterstate_prediction(afterstates).value_logits)
    q_values = (model.reward(reward_head) + discount * values).reshape(batch, 4)

    scores = jnp.where(root.legal, root.gumbel + root.policy_logits, -jnp.inf)
    rank = jnp.argsort(jnp.argsort(-scores, axis=-1), axis=-1)
    visits = (root.legal & (rank < config.simulations)).astype(jnp.int32)
    return read_out(root, q_values, visits, config)


def read_out(root: Root, q_values: Float[Array, "B A"], visits: Int[Array, "B A"], config: SearchConfig) -> Plan:
    """Action, policy target and value from the statistics of the root."""
    completed = complete_q(q_values, visits, root.policy_logits, root.value)
    sigma = scale_q(completed, visits, config)
    considered = root.legal & (visits == visits.max(axis=-1, keepdims=True))
    action = jnp.argmax(jnp.where(considered, root.gumbel + root.policy_logits + sigma, -jnp.inf), axis=-1)
    target = jax.nn.softmax(jnp.where(root.legal, root.policy_logits + sigma, ILLEGAL), axis=-1)
    best = jnp.max(jnp.where(visits > 0, q_values, -jnp.inf), axis=-1)
    value = jnp.where(root.legal.any(axis=-1), best, 0.0)  # a dead board is worth nothing
    return Plan(action.astype(jnp.int32), target * root.legal, completed, visits, value)


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


def scale_q(completed: Float[Array, "*B A"], visits: Int[Array, "*B A"], config: SearchConfig) -> Float[Array, "*B A"]:
    """sigma(q): monotone in q, growing with the visits (Gumbel MuZero, eq. 8), of q in the units that config names."""
    if config.normalization == "node":
        low = completed.min(axis=-1, keepdims=True)
        span = completed.max(axis=-1, keepdims=True) - low
        unit = (completed - low) / jnp.maximum(span, config.range_floor)
    else:
        unit = (completed - completed.mean(axis=-1, keepdims=True)) / config.value_scale
    return (config.c_visit + visits.max(axis=-1, keepdims=True)) * config.c_scale * unit
