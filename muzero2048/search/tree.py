"""The tree of a search: arrays over boards and nodes, decision and chance nodes in one numbering.

Node 0 is the root, node i + 1 the one that simulation i added; parents come before their children. Decision nodes use
the first A slots of a node, chance nodes the first C.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, UInt32

from muzero2048.game.env import NUM_ACTIONS
from muzero2048.models.base import State
from muzero2048.search.base import Root, Statistics
from muzero2048.search.qtransforms import Bounds

UNVISITED = -1


class Tree(NamedTuple):
    """Trees of B boards, `M` = N + 1 nodes each."""

    states: State  # leaves of [M, B, ...]
    prior: Float[Array, "M B S"]  # decision nodes: logits of the policy; chance nodes: probabilities of the codes
    children: Int[Array, "M B S"]  # node behind a slot, or UNVISITED
    visits: Int[Array, "M B S"]  # visits through a slot
    q_values: Float[Array, "M B A"]  # r + gamma V(as) behind a visited action
    rewards: Float[Array, "M B"]  # of the move into the node; 0 at decision nodes
    raw_values: Float[Array, "M B"]  # the model's evaluation
    values: Float[Array, "M B"]  # of now, the backed-up visits included
    counts: Float[Array, "M B"]  # evaluations in the value: the node's own and the visits after it
    is_chance: Bool[Array, "M B"]
    is_over: Bool[Array, "M B"]  # decision nodes without a possible action
    bounds: Bounds  # [B, 2] least and greatest Q met
    seeds: UInt32[Array, "B"]

    def root_statistics(self) -> Statistics:
        """Q and visits of the root's actions."""
        return Statistics(self.q_values[0], self.visits[0, :, :NUM_ACTIONS].astype(jnp.int32), self.bounds)


def plant(root: Root, simulations: int, codes: int) -> Tree:
    """The tree of the root alone, with room for a node a simulation."""
    batch, nodes, slots = len(root.value), simulations + 1, max(NUM_ACTIONS, codes)
    count = jnp.int16 if simulations < 2**15 else jnp.int32  # half the bytes: on a CPU the loop waits for the cache

    def first(x: Array, shape: tuple[int, ...] = ()) -> Array:
        shape = shape or x.shape[1:]
        blank = jnp.zeros((nodes, batch, *shape), x.dtype)
        return jax.lax.dynamic_update_slice(blank, x[None], (0,) * blank.ndim)

    return Tree(
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


def expected_value(
    values: Float[Array, "M B"], children: Int[Array, "B C"], probabilities: Float[Array, "B C"]
) -> Float[Array, "B"]:
    """The mean sum p(c) V(c) / sum p(c) over the outcomes that have been visited, 0 where none has."""
    seen = children != UNVISITED
    mass = jnp.where(seen, probabilities, 0.0)
    behind = values[jnp.maximum(children, 0), jnp.arange(len(children))[:, None]]
    return jnp.sum(mass * behind, axis=-1) / jnp.maximum(mass.sum(axis=-1), jnp.finfo(jnp.float32).tiny)
