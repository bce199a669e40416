"""The search loop: N simulations of all boards in parallel, each of which adds one node to every tree.

    simulate   follow the rules from the root to an unvisited slot
    expand     evaluate the child of this slot once, and add it to the tree (search/expansion.py)
    back_up    count the visit along the path, and update the values on it

Decision and chance nodes alternate on every path. All boards of a batch are therefore at nodes of one kind at a time,
and each level runs the rule of that kind only.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from muzero2048.game.env import NUM_ACTIONS
from muzero2048.search.base import Dynamics, Root
from muzero2048.search.config import SearchConfig
from muzero2048.search.expansion import expand
from muzero2048.search.inner_rules import CHANCE_RULES, DECISION_RULES, node_seed, select_code
from muzero2048.search.qtransforms import widen
from muzero2048.search.root_rules import ROOT_RULES
from muzero2048.search.tree import UNVISITED, Path, Trees, expected_value, plant, row_numbers


class Walk(NamedTuple):
    """The state of a simulation on its way down the trees."""

    node: Int[Array, "B"]
    live: Bool[Array, "B"]  # no unvisited slot reached yet
    depth: Int[Array, ""]
    path: Path


BackUp = tuple[Int[Array, ""], Float[Array, "B"], Trees]  # depth, value of the node there, trees


def grow_tree(dynamics: Dynamics, root: Root, config: SearchConfig, discount: float) -> Trees:
    """Run all simulations."""

    def simulation(i: Int[Array, ""], tree: Trees) -> Trees:
        path = simulate(tree, root, i, config)
        tree, path = expand(dynamics, tree, path, i + 1)
        return back_up(tree, path, config, discount)

    return jax.lax.fori_loop(0, config.simulations, simulation, plant(root, config.simulations, dynamics.codes))


def simulate(tree: Trees, root: Root, simulation: Int[Array, ""], config: SearchConfig) -> Path:
    """Follow the rules until every board has reached an unvisited slot."""
    nodes, batch = tree.values.shape
    blank, zeros = jnp.zeros((nodes + 1, batch), jnp.int32), jnp.zeros((batch,), jnp.int32)

    def ply(walk: Walk, action: Int[Array, "B"]) -> Walk:
        walk = _follow(tree, walk, action)
        return _follow(tree, walk, _select_code(tree, walk.node, config))

    walk = Walk(zeros, jnp.ones((batch,), bool), jnp.int32(0), Path(blank, blank, zeros))
    action = ROOT_RULES[config.root].select(root, tree.mean_statistics(), tree.values[0], simulation, config)
    walk = ply(walk, action)
    walk = jax.lax.while_loop(
        lambda walk: walk.live.any(), lambda walk: ply(walk, _select_action(tree, walk.node, config)), walk
    )
    return walk.path


def _follow(tree: Trees, walk: Walk, slot: Int[Array, "B"]) -> Walk:
    """Record node and slot in the path, and go on to the child; boards that have arrived are ignored."""
    node, live, depth, path = walk
    path = Path(path.nodes.at[depth].set(node), path.slots.at[depth].set(slot), jnp.where(live, depth, path.end))
    child = tree.children[node, row_numbers(node), slot].astype(jnp.int32)
    return Walk(jnp.maximum(child, 0), live & (child != UNVISITED), depth + 1, path)


def _select_action(tree: Trees, node: Int[Array, "B"], config: SearchConfig) -> Int[Array, "B"]:
    rows, rule = row_numbers(node), DECISION_RULES[config.inside]
    values = tree.raw_values if rule.reads_raw_value else tree.values
    visits, logits = tree.visits[node, rows, :NUM_ACTIONS], tree.prior[node, rows, :NUM_ACTIONS]
    q_values, value = tree.q_values[node, rows], values[node, rows]
    return rule.select(q_values, visits.astype(jnp.int32), logits, value, tree.bounds, config)


def _select_code(tree: Trees, node: Int[Array, "B"], config: SearchConfig) -> Int[Array, "B"]:
    rows = row_numbers(node)
    visits = tree.visits[node, rows].astype(jnp.int32)
    return select_code(tree.prior[node, rows], visits, node_seed(tree.seeds, node), config)


def back_up(tree: Trees, path: Path, config: SearchConfig, discount: float) -> Trees:
    """Count the visit on every node of the path and update the values, from the deepest node, two levels per step.

    The value of a node is the mean of its own evaluation and of the values of its visits. With a chance rule that backs
    up the expectation (`weighted`), the value of a chance node is the expectation over the outcomes, and this value is
    passed on to its parent (`expected_value`).
    """

    def ply(carry: BackUp) -> BackUp:
        depth, value, tree = carry
        tree, value = _back_up_chance(tree, path, depth, value, config)
        tree, value = _back_up_move(tree, path, depth - 1, value, config, discount)
        return depth - 2, value, tree

    rows = row_numbers(path.end)
    value = tree.values[path.nodes[path.end + 1, rows], rows]
    _, _, tree = jax.lax.while_loop(lambda carry: carry[0] > 0, ply, (path.end.max() | 1, value, tree))
    return tree


def _back_up_chance(
    tree: Trees, path: Path, depth: Int[Array, ""], value: Float[Array, "B"], config: SearchConfig
) -> tuple[Trees, Float[Array, "B"]]:
    node, slot, on = path.nodes[depth], path.slots[depth], depth <= path.end
    tree = _count_visit(tree, node, slot, value, on)
    if CHANCE_RULES[config.chance].backs_up_expectation:
        rows = row_numbers(node)
        arguments = tree.children[node, rows], tree.prior[node, rows], tree.raw_values[node, rows]
        expected = expected_value(tree.values, *arguments)
        tree = tree._replace(values=tree.values.at[node, _rows_on(on)].set(expected, mode="drop"))
        value = jnp.where(on, expected, value)
    return tree, value


def _back_up_move(
    tree: Trees, path: Path, depth: Int[Array, ""], value: Float[Array, "B"], config: SearchConfig, discount: float
) -> tuple[Trees, Float[Array, "B"]]:
    node, child, slot, on = path.nodes[depth], path.nodes[depth + 1], path.slots[depth], depth <= path.end
    rows = row_numbers(node)
    reward = tree.rewards[child, rows]
    value = jnp.where(on, reward + discount * value, value)
    tree = _count_visit(tree, node, slot, value, on)
    q = reward + discount * tree.values[child, rows]
    tree = tree._replace(q_values=tree.q_values.at[node, _rows_on(on), slot].set(q, mode="drop"))
    if config.normalization == "tree":
        tree = tree._replace(bounds=widen(tree.bounds, q, on & ~tree.is_over[node, rows]))
    return tree, value


def _count_visit(
    tree: Trees, node: Int[Array, "B"], slot: Int[Array, "B"], value: Float[Array, "B"], on: Bool[Array, "B"]
) -> Trees:
    """Count a visit of the node through the slot that returned `value`, in the rows that are on."""
    rows, rows_on = row_numbers(node), _rows_on(on)
    count = tree.counts[node, rows] + 1
    mean = tree.values[node, rows] + (value - tree.values[node, rows]) / count
    return tree._replace(
        values=tree.values.at[node, rows_on].set(mean, mode="drop"),
        counts=tree.counts.at[node, rows_on].set(count, mode="drop"),
        visits=tree.visits.at[node, rows_on, slot].add(1, mode="drop"),
    )


def _rows_on(on: Bool[Array, "B"]) -> Int[Array, "B"]:
    """Return row numbers to scatter to; rows that are off get B, which mode="drop" ignores."""
    return jnp.where(on, jnp.arange(len(on)), len(on))
