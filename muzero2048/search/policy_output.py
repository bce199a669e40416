"""From the tree to the plan: Q of the root's actions, the move, the policy target, the value to bootstrap from."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from muzero2048.game.env import NUM_ACTIONS
from muzero2048.search.base import Plan, Root, Statistics
from muzero2048.search.config import SearchConfig
from muzero2048.search.qtransforms import complete_q
from muzero2048.search.root_rules import ROOT_RULES
from muzero2048.search.tree import UNVISITED, Trees, expected_value


def read_out(root: Root, statistics: Statistics, config: SearchConfig) -> Plan:
    """Compute the plan from the statistics of the root.

    Its Q-values are completed; its value is the best visited Q, 0 if the game is over.
    """
    action, target = ROOT_RULES[config.root].read_out(root, statistics, config)
    completed = complete_q(statistics.q_values, statistics.visits, root.policy_logits, root.value, config)
    best = jnp.max(jnp.where(statistics.visits > 0, statistics.q_values, -jnp.inf), axis=-1)
    value = jnp.where(root.legal.any(axis=-1), best, 0.0)
    return Plan(action.astype(jnp.int32), target, completed, statistics.visits, value)


def bootstrap_value(root: Root, plan: Plan, rule: str) -> Float[Array, "B"]:
    """Compute the value of the root that targets bootstrap from.

    best_child:       max of Q over the visited actions (Guei 2023, eq. 35)
    played:           Q of the action played
    improved_policy:  sum_a pi'(a) Q(a), pi' the policy target, Q completed (Gumbel MuZero, eq. 11 and 33)
    visit_mean:       sum_a N(a) Q(a) / sum_a N(a)
    network:          V(s), without the search

    The value is in points; 0 if the game is over.
    """
    visits = jnp.maximum(plan.visits.sum(axis=-1), 1)
    value = {
        "best_child": plan.value,
        "played": jnp.take_along_axis(plan.q_values, plan.action[:, None], axis=-1)[:, 0],
        "improved_policy": jnp.sum(plan.policy_target * plan.q_values, axis=-1),
        "visit_mean": jnp.sum(plan.visits * plan.q_values, axis=-1) / visits,
        "network": root.value,
    }[rule]
    return jnp.where(root.legal.any(axis=-1), value, 0.0)


def root_statistics(tree: Trees, config: SearchConfig, discount: float) -> Statistics:
    """Collect the statistics of the root's actions."""
    statistics = tree.root_statistics()
    if config.read_out == "expectimax":
        # If the game is over at the root, its actions are visited but have no children: their q, 0, is kept.
        unswept = tree.children[0, :, :NUM_ACTIONS] == UNVISITED
        statistics = statistics._replace(q_values=jnp.where(unswept, statistics.q_values, expectimax_q(tree, discount)))
    return statistics


def expectimax_q(tree: Trees, discount: float) -> Float[Array, "B A"]:
    """Compute Q of the root's actions by an expectimax sweep over the visited nodes, from the last to the first.

    V(s)  = max_a r(s, a) + gamma V(as)         over the visited actions
    V(as) = sum_c p(c) V(s_c)                   outcomes that were not visited count with the model's value of as

    A state without visited moves has the model's value. Unlike the mean over visits, the sweep ignores the values of
    actions that were only explored.
    """
    nodes, batch = tree.values.shape

    def moves(node: Int[Array, ""], values: Float[Array, "M B"]) -> Float[Array, "B A"]:
        child = tree.children[node, :, :NUM_ACTIONS]
        entry = jnp.maximum(child, 0), jnp.arange(batch)[:, None]
        q = tree.rewards[entry] + discount * values[entry]
        return jnp.where(child == UNVISITED, -jnp.inf, q)

    def sweep(i: Int[Array, ""], values: Float[Array, "M B"]) -> Float[Array, "M B"]:
        node = nodes - 1 - i
        children = tree.children[node]
        expected = expected_value(values, children, tree.prior[node], tree.raw_values[node])
        swept = jnp.where(tree.is_chance[node], expected, moves(node, values).max(axis=-1))
        value = jnp.where((children == UNVISITED).all(axis=-1), tree.raw_values[node], swept)
        return jax.lax.dynamic_update_index_in_dim(values, value, node, 0)

    return moves(jnp.int32(0), jax.lax.fori_loop(0, nodes - 1, sweep, jnp.zeros((nodes, batch))))
