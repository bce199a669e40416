"""From the tree to the plan: Q of the root's actions, the move, the policy target, the value to bootstrap from."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from muzero2048.game.env import NUM_ACTIONS
from muzero2048.search.action_selection import argmax, best_of_considered
from muzero2048.search.base import ILLEGAL, Plan, Root, Statistics
from muzero2048.search.config import SearchConfig
from muzero2048.search.qtransforms import complete_q, scale_q
from muzero2048.search.tree import UNVISITED, Tree, expected_value


def read_out(root: Root, found: Statistics, config: SearchConfig) -> Plan:
    """Action, policy target and value from the statistics of the root.

    Root gumbel:  argmax g + logits + sigma(q) among the most visited; softmax(logits + sigma(completed q)), eq. 11
    Root puct:    an action drawn by its visits, N^(1/T) with T the scale of the noise, the most visited at 0; N / sum N
    """
    completed = complete_q(found.q_values, found.visits, root.policy_logits, root.value)
    if config.root == "gumbel":
        action = best_of_considered(root, found, found.visits.max(axis=-1), config)
        logits = root.policy_logits + scale_q(completed, found.visits, found.bounds, config)
        target = jax.nn.softmax(jnp.where(root.legal, logits, ILLEGAL), axis=-1) * root.legal
    else:
        share = found.visits * root.legal / jnp.maximum(found.visits.sum(axis=-1, keepdims=True), 1)
        # Adding Gumbel noise to logarithms and taking the largest is drawing by them.
        action = argmax(jnp.where(root.legal & (found.visits > 0), jnp.log(share) + root.gumbel, -jnp.inf))
        target = share
    best = jnp.max(jnp.where(found.visits > 0, found.q_values, -jnp.inf), axis=-1)
    value = jnp.where(root.legal.any(axis=-1), best, 0.0)  # a dead board is worth nothing
    return Plan(action.astype(jnp.int32), target, completed, found.visits, value)


def bootstrap_value(root: Root, found: Plan, rule: str) -> Float[Array, "B"]:
    """The value of the root that targets bootstrap from, in points; 0 on a dead board.

    best_child:       max of Q over the visited actions (Guei 2023, eq. 35)
    played:           Q of the action played
    improved_policy:  sum_a pi'(a) Q(a), pi' the policy target, Q completed (Gumbel MuZero, eq. 11 and 33)
    visit_mean:       sum_a N(a) Q(a) / sum_a N(a)
    network:          V(s), without the search
    """
    visits = jnp.maximum(found.visits.sum(axis=-1), 1)
    value = {
        "best_child": found.value,
        "played": jnp.take_along_axis(found.q_values, found.action[:, None], axis=-1)[:, 0],
        "improved_policy": jnp.sum(found.policy_target * found.q_values, axis=-1),
        "visit_mean": jnp.sum(found.visits * found.q_values, axis=-1) / visits,
        "network": root.value,
    }[rule]
    return jnp.where(root.legal.any(axis=-1), value, 0.0)


def root_statistics(tree: Tree, config: SearchConfig, discount: float) -> Statistics:
    """What the tree found out about the root's actions, with Q by the read-out of the config."""
    found = tree.root_statistics()
    if config.read_out == "expectimax":
        # A root whose game is over is visited, yet has no children: its q, 0, stays.
        unswept = tree.children[0, :, :NUM_ACTIONS] == UNVISITED
        found = found._replace(q_values=jnp.where(unswept, found.q_values, expectimax_q(tree, discount)))
    return found


def expectimax_q(tree: Tree, discount: float) -> Float[Array, "B A"]:
    """Q of the root's actions by a sweep from the last node to the first, over what the search has visited.

    V(s)  = max_a r(s, a) + gamma V(as)         over the visited actions
    V(as) = sum_c p(c) V(s_c) / sum_c p(c)      over the visited outcomes
    and the model's evaluation where nothing was visited. Unlike the mean over visits it leaves out what was only
    explored.
    """
    nodes, batch = tree.values.shape

    def moves(node: Int[Array, ""], values: Float[Array, "M B"]) -> Float[Array, "B A"]:
        child = tree.children[node, :, :NUM_ACTIONS]
        behind = jnp.maximum(child, 0), jnp.arange(batch)[:, None]
        q = tree.rewards[behind] + discount * values[behind]
        return jnp.where(child == UNVISITED, -jnp.inf, q)

    def sweep(i: Int[Array, ""], values: Float[Array, "M B"]) -> Float[Array, "M B"]:
        node = nodes - 1 - i
        children = tree.children[node]
        expected = expected_value(values, children, tree.prior[node])
        swept = jnp.where(tree.is_chance[node], expected, moves(node, values).max(axis=-1))
        value = jnp.where((children == UNVISITED).all(axis=-1), tree.raw_values[node], swept)
        return jax.lax.dynamic_update_index_in_dim(values, value, node, 0)

    return moves(jnp.int32(0), jax.lax.fori_loop(0, nodes - 1, sweep, jnp.zeros((nodes, batch))))
