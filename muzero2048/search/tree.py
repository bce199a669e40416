"""The tree of a search: arrays over nodes and boards, with decision and chance nodes in one numbering.

Node 0 is the root, node i + 1 was added by simulation i. Parents have smaller numbers than their children. Decision
nodes use the first A slots of a node, chance nodes the first C.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, UInt32

from muzero2048.game.env import NUM_ACTIONS
from muzero2048.models.base import State
from muzero2048.search.base import Root, Statistics
from muzero2048.search.config import SearchConfig
from muzero2048.search.qtransforms import Bounds

UNVISITED = -1


class Trees(NamedTuple):
    """Trees of B boards, with `M` = N + 1 nodes each."""

    states: State  # leaves of [M, B, ...]
    prior: Float[Array, "M B S"]  # decision nodes: logits of the policy; chance nodes: probabilities of the codes
    children: Int[Array, "M B S"]  # child node of a slot, or UNVISITED
    visits: Int[Array, "M B S"]  # visits through a slot
    q_values: Float[Array, "M B A"]  # r + gamma V(as) of a visited action
    rewards: Float[Array, "M B"]  # of the move into the node; 0 at decision nodes
    raw_values: Float[Array, "M B"]  # the model's evaluation
    values: Float[Array, "M B"]  # backed-up values
    counts: Float[Array, "M B"]  # evaluations in the value: the node's own and those of its visits
    is_chance: Bool[Array, "M B"]
    is_over: Bool[Array, "M B"]  # decision nodes without a possible action
    bounds: Bounds  # [B, 2] least and greatest Q so far
    seeds: UInt32[Array, "B"]

    def mean_statistics(self) -> Statistics:
        """Return Q, the mean over visits, and visits of the root's actions."""
        return Statistics(self.q_values[0], self.visits[0, :, :NUM_ACTIONS].astype(jnp.int32), self.bounds)


class Path(NamedTuple):
    """The path of one simulation from the root: decision nodes at even depths, chance nodes at odd depths."""

    nodes: Int[Array, "depths B"]  # the entry at depth end + 1 is for the new node
    slots: Int[Array, "depths B"]
    end: Int[Array, "B"]  # depth of the node whose unvisited slot was reached


def plant(root: Root, simulations: int, codes: int) -> Trees:
    """Make a tree that contains the root only, with room for one node per simulation."""
    batch, nodes, slots = len(root.value), simulations + 1, max(NUM_ACTIONS, codes)
    # Half the bytes where they suffice: on a CPU the loop is bound by the cache.
    count = jnp.int16 if simulations < 2**15 else jnp.int32

    def first(x: Array, shape: tuple[int, ...] = ()) -> Array:
        shape = shape or x.shape[1:]
        blank = jnp.zeros((nodes, batch, *shape), x.dtype)
        return jax.lax.dynamic_update_slice(blank, x[None], (0,) * blank.ndim)

    return Trees(
        states=jax.tree.map(first, root.state),
        prior=first(root.policy_logits, (slots,)),
        children=jnp.full((nodes, batch, slots), UNVISITED, count),
        visits=jnp.zeros((nodes, batch, slots), count),
        q_values=jnp.zeros((nodes, batch, NUM_ACTIONS)),
        rewards=jnp.zeros((nodes, batch)),
        raw_values=first(root.value),
        values=first(root.value),
        counts=jnp.ones((nodes, batch)),
        is_chance=jnp.zeros((nodes, batch), bool),
        is_over=first(~root.legal.any(axis=-1)),
        bounds=jnp.stack([root.value, root.value], axis=-1),
        seeds=root.seeds,
    )


def row_numbers(x: Array) -> Int[Array, "B"]:
    """Return 0 .. B - 1, the numbers of the rows of `x`."""
    return jnp.arange(len(x))


def expected_value(
    values: Float[Array, "M B"],
    children: Int[Array, "B C"],
    probabilities: Float[Array, "B C"],
    own_value: Float[Array, "B"],
) -> Float[Array, "B"]:
    """Compute V(as) + sum over the visited outcomes of p(c) (V(c) - V(as)), V(as) the model's value of the afterstate.

    An outcome that was not visited counts with V(as). If it were left out, the outcomes visited first would count for
    all, and an afterstate would be worth what its luckiest or unluckiest spawn is.

    Where no outcome was visited, this is V(as).
    """
    seen = children != UNVISITED
    mass = jnp.where(seen, probabilities, 0.0)
    outcomes = values[jnp.maximum(children, 0), jnp.arange(len(children))[:, None]]
    return own_value + jnp.sum(mass * (outcomes - own_value[:, None]), axis=-1)


def root_statistics(tree: Trees, config: SearchConfig, discount: float) -> Statistics:
    """Collect the statistics of the root's actions, with Q as `search.read_out` names it."""
    statistics = tree.mean_statistics()
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
