"""The search loop: N simulations of all boards side by side, each of which adds one node to every tree.

    simulate   follow the rules from the root to a slot that nothing is behind yet
    expand     evaluate what lies behind it, once, and add it to the tree
    back_up    count the visit along the path, and move the values on it

Decision and chance nodes take turns on every path, so all boards of a batch are at nodes of one kind at a time, and a
level runs the rule of that kind alone.
"""

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from muzero2048.game.env import NUM_ACTIONS
from muzero2048.models.base import State
from muzero2048.search.action_selection import (
    node_seed,
    possible,
    select_code,
    select_gumbel,
    select_puct,
    select_root_gumbel,
)
from muzero2048.search.base import Dynamics, Root
from muzero2048.search.config import SearchConfig
from muzero2048.search.qtransforms import widen
from muzero2048.search.tree import UNVISITED, Tree, expected_value, plant

BLOCKS, LEAST_BLOCK = 4, 32  # blocks of rows in an evaluation on a CPU, and the least rows of one


class Path(NamedTuple):
    """The way of one simulation down the tree: decision nodes at even depths, chance nodes at odd ones."""

    nodes: Int[Array, "depths B"]  # the entry behind `end` is for the new node
    slots: Int[Array, "depths B"]
    end: Int[Array, "B"]  # depth of the node whose empty slot was reached


class Walk(NamedTuple):
    """Boards on their way down."""

    node: Int[Array, "B"]
    live: Bool[Array, "B"]  # not yet at an empty slot
    depth: Int[Array, ""]
    path: Path


class Leaf(NamedTuple):
    """A new node of either kind."""

    state: State
    value: Float[Array, "B"]
    reward: Float[Array, "B"]
    prior: Float[Array, "B S"]


def grow_tree(dynamics: Dynamics, root: Root, config: SearchConfig, discount: float) -> Tree:
    """The tree after all simulations."""

    def simulation(i: Int[Array, ""], tree: Tree) -> Tree:
        path = simulate(tree, root, i, config)
        tree, path = expand(dynamics, tree, path, i + 1)
        return back_up(tree, path, config, discount)

    return jax.lax.fori_loop(0, config.simulations, simulation, plant(root, config.simulations, dynamics.codes))


def simulate(tree: Tree, root: Root, simulation: Int[Array, ""], config: SearchConfig) -> Path:
    """Follow the rules until every board stands before an empty slot."""
    nodes, batch = tree.values.shape
    blank, zeros = jnp.zeros((nodes + 1, batch), jnp.int32), jnp.zeros((batch,), jnp.int32)

    def ply(walk: Walk, action: Int[Array, "B"]) -> Walk:
        walk = _follow(tree, walk, action)
        return _follow(tree, walk, _select_code(tree, walk.node, config))

    walk = Walk(zeros, jnp.ones((batch,), bool), jnp.int32(0), Path(blank, blank, zeros))
    walk = ply(walk, _select_at_root(tree, root, simulation, config))
    walk = jax.lax.while_loop(
        lambda walk: walk.live.any(), lambda walk: ply(walk, _select_inside(tree, walk.node, config)), walk
    )
    return walk.path


def _follow(tree: Tree, walk: Walk, slot: Int[Array, "B"]) -> Walk:
    """Note node and slot in the path and go on to what is behind them; boards that have arrived are ignored."""
    node, live, depth, path = walk
    path = Path(path.nodes.at[depth].set(node), path.slots.at[depth].set(slot), jnp.where(live, depth, path.end))
    child = tree.children[node, _rows(node), slot].astype(jnp.int32)
    return Walk(jnp.maximum(child, 0), live & (child != UNVISITED), depth + 1, path)


def _select_at_root(tree: Tree, root: Root, simulation: Int[Array, ""], config: SearchConfig) -> Int[Array, "B"]:
    found = tree.root_statistics()
    if config.root == "gumbel":
        return select_root_gumbel(root, found, simulation, config)
    return select_puct(found.q_values, found.visits, root.policy_logits, tree.values[0], found.bounds, config)


def _select_inside(tree: Tree, node: Int[Array, "B"], config: SearchConfig) -> Int[Array, "B"]:
    rows = _rows(node)
    select, values = (select_puct, tree.values) if config.inside == "puct" else (select_gumbel, tree.raw_values)
    visits, logits = tree.visits[node, rows, :NUM_ACTIONS], tree.prior[node, rows, :NUM_ACTIONS]
    return select(tree.q_values[node, rows], visits.astype(jnp.int32), logits, values[node, rows], tree.bounds, config)


def _select_code(tree: Tree, node: Int[Array, "B"], config: SearchConfig) -> Int[Array, "B"]:
    rows = _rows(node)
    visits = tree.visits[node, rows].astype(jnp.int32)
    return select_code(tree.prior[node, rows], visits, node_seed(tree.seeds, node), config)


class Blocks(NamedTuple):
    """The rows of a batch sorted into blocks of edges of one kind, first those of moves, then those of chance."""

    rows: Int[Array, "P"]  # row numbers; B, which is none, where the last block of a kind is not full
    moves: Int[Array, ""]  # number of blocks of moves
    total: Int[Array, ""]  # number of blocks in use
    size: int  # rows of a block

    @property
    def is_move(self) -> Bool[Array, "P"]:
        """Whether a place is in a block of moves."""
        return jnp.arange(len(self.rows)) < self.moves * self.size


def expand(dynamics: Dynamics, tree: Tree, path: Path, new: Int[Array, ""]) -> tuple[Tree, Path]:
    """Add the node behind every empty slot as number `new`.

    A CPU sorts the rows, so that a network runs on those of its kind alone. An accelerator runs both networks on all
    rows: there the host would have to wait for the number of blocks and for the kind of each, twice a simulation.
    """

    def in_blocks(tree: Tree, path: Path) -> tuple[Tree, Path]:
        blocks = sort_into_blocks(path.end % 2 == 0)
        return add_nodes(
            tree, path, new, blocks.rows, blocks.is_move, functools.partial(evaluate_blocks, dynamics, blocks)
        )

    def at_once(tree: Tree, path: Path) -> tuple[Tree, Path]:
        is_move = path.end % 2 == 0
        return add_nodes(tree, path, new, _rows(is_move), is_move, functools.partial(evaluate_both, dynamics, is_move))

    return jax.lax.platform_dependent(tree, path, cpu=in_blocks, default=at_once)


def add_nodes(
    tree: Tree,
    path: Path,
    new: Int[Array, ""],
    rows: Int[Array, "P"],
    is_chance: Bool[Array, "P"],
    behind: Callable[[State, Int[Array, "P"]], Leaf],
) -> tuple[Tree, Path]:
    """The tree with a new node in every row, and the path to it.

    Args:
        tree: to be grown.
        path: to the empty slots.
        new: number of the new nodes.
        rows: of the batch, in the order in which they are evaluated; B, which is none, may be among them.
        is_chance: whether the new node is one of chance, that is, behind a move.
        behind: (states, slots) -> what lies behind the slots.
    """
    end = path.end[rows]
    parent, slot = path.nodes[end, rows], path.slots[end, rows]
    leaf = behind(jax.tree.map(lambda x: x[parent, rows], tree.states), slot)
    # Where no action is possible the game is over: worth 0 as often as it is visited, and nothing comes after it.
    over = tree.is_over[parent, rows]
    value, reward = jnp.where(over, 0.0, leaf.value), jnp.where(over, 0.0, leaf.reward)

    def add(nodes: Array, x: Array) -> Array:
        return nodes.at[new, rows].set(x.astype(nodes.dtype), mode="drop")

    tree = tree._replace(
        states=jax.tree.map(add, tree.states, leaf.state),
        prior=add(tree.prior, leaf.prior),
        children=tree.children.at[parent, rows, slot].set(
            jnp.where(over, UNVISITED, new).astype(tree.children.dtype), mode="drop"
        ),
        rewards=add(tree.rewards, reward),
        raw_values=add(tree.raw_values, value),
        values=add(tree.values, value),
        is_chance=add(tree.is_chance, is_chance),
        is_over=add(tree.is_over, ~is_chance & ~possible(leaf.prior[:, :NUM_ACTIONS]).any(axis=-1)),
    )
    return tree, path._replace(nodes=path.nodes.at[end + 1, rows].set(new, mode="drop"))


def block_size(batch: int) -> int:
    """Rows of a block."""
    return min(batch, max(LEAST_BLOCK, -(-batch // BLOCKS)))


def sort_into_blocks(is_move: Bool[Array, "B"]) -> Blocks:
    """Blocks such that a network runs on the rows of its kind alone, rounded up to whole blocks."""
    batch = len(is_move)
    size = block_size(batch)
    count = jnp.cumsum(is_move)
    moves = -(-count[-1] // size)
    chance = -(-(batch - count[-1]) // size)
    rows = _rows(is_move)
    place = jnp.where(is_move, count - 1, moves * size + rows - count)
    room = (-(-batch // size) + 1) * size
    return Blocks(jnp.full((room,), batch).at[place].set(rows, unique_indices=True), moves, moves + chance, size)


def evaluate_blocks(dynamics: Dynamics, blocks: Blocks, states: State, slot: Int[Array, "P"]) -> Leaf:
    """What lies behind the slots, by one evaluation a board."""

    def block(i: Int[Array, ""], leaf: Leaf) -> Leaf:
        start = i * blocks.size
        inputs = jax.tree.map(lambda x: jax.lax.dynamic_slice_in_dim(x, start, blocks.size), (leaf.state, slot))
        kinds = functools.partial(after_move, dynamics), functools.partial(after_chance, dynamics)
        found = jax.lax.cond(i < blocks.moves, *kinds, *inputs)
        return jax.tree.map(lambda x, y: jax.lax.dynamic_update_slice_in_dim(x, y, start, 0), leaf, found)

    # A block's new states take the place of those that they come from.
    blank = jnp.zeros((len(slot),))
    priors = jnp.zeros((len(slot), _slots(dynamics)))
    return jax.lax.fori_loop(0, blocks.total, block, Leaf(states, blank, blank, priors))


def evaluate_both(dynamics: Dynamics, is_move: Bool[Array, "B"], states: State, slot: Int[Array, "B"]) -> Leaf:
    """The same by two evaluations a board, one of which is thrown away."""

    def choose(x: Array, y: Array) -> Array:
        return jnp.where(is_move.reshape(-1, *[1] * (x.ndim - 1)), x, y)

    return jax.tree.map(choose, after_move(dynamics, states, slot), after_chance(dynamics, states, slot))


def after_move(dynamics: Dynamics, states: State, slot: Int[Array, "P"]) -> Leaf:
    """Afterstates: what lies behind a move."""
    found = dynamics.move(states, jnp.minimum(slot, NUM_ACTIONS - 1))
    return Leaf(found.state, found.value, found.reward, _pad(found.probabilities, _slots(dynamics)))


def after_chance(dynamics: Dynamics, states: State, slot: Int[Array, "P"]) -> Leaf:
    """States: what lies behind a chance event."""
    found = dynamics.spawn(states, jnp.minimum(slot, dynamics.codes - 1))
    return Leaf(found.state, found.value, jnp.zeros_like(found.value), _pad(found.policy_logits, _slots(dynamics)))


def _slots(dynamics: Dynamics) -> int:
    return max(NUM_ACTIONS, dynamics.codes)


def back_up(tree: Tree, path: Path, config: SearchConfig, discount: float) -> Tree:
    """Count the visit on every node of the path and move their values, from the deepest, two levels a step.

    A node's value is the mean of its own evaluation and of what its visits brought; with the rule `weighted` that of
    a chance node is the expectation over the outcomes visited, and this is what its parent hears of.
    """

    def ply(carry: tuple[Int[Array, ""], Float[Array, "B"], Tree]) -> tuple[Int[Array, ""], Float[Array, "B"], Tree]:
        depth, value, tree = carry
        tree, value = _back_up_chance(tree, path, depth, value, config)
        tree, value = _back_up_move(tree, path, depth - 1, value, config, discount)
        return depth - 2, value, tree

    rows = _rows(path.end)
    value = tree.values[path.nodes[path.end + 1, rows], rows]
    _, _, tree = jax.lax.while_loop(lambda carry: carry[0] > 0, ply, (path.end.max() | 1, value, tree))
    return tree


def _back_up_chance(
    tree: Tree, path: Path, depth: Int[Array, ""], value: Float[Array, "B"], config: SearchConfig
) -> tuple[Tree, Float[Array, "B"]]:
    node, slot, on = path.nodes[depth], path.slots[depth], depth <= path.end
    tree = _count_visit(tree, node, slot, value, on)
    if config.chance == "weighted":
        rows = _rows(node)
        expected = expected_value(tree.values, tree.children[node, rows], tree.prior[node, rows])
        tree = tree._replace(values=tree.values.at[node, _kept(on)].set(expected, mode="drop"))
        value = jnp.where(on, expected, value)
    return tree, value


def _back_up_move(
    tree: Tree, path: Path, depth: Int[Array, ""], value: Float[Array, "B"], config: SearchConfig, discount: float
) -> tuple[Tree, Float[Array, "B"]]:
    node, child, slot, on = path.nodes[depth], path.nodes[depth + 1], path.slots[depth], depth <= path.end
    rows = _rows(node)
    reward = tree.rewards[child, rows]
    value = jnp.where(on, reward + discount * value, value)
    tree = _count_visit(tree, node, slot, value, on)
    q = reward + discount * tree.values[child, rows]
    tree = tree._replace(q_values=tree.q_values.at[node, _kept(on), slot].set(q, mode="drop"))
    if config.normalization == "tree":
        tree = tree._replace(bounds=widen(tree.bounds, q, on & ~tree.is_over[node, rows]))
    return tree, value


def _count_visit(
    tree: Tree, node: Int[Array, "B"], slot: Int[Array, "B"], value: Float[Array, "B"], on: Bool[Array, "B"]
) -> Tree:
    """A visit of the node through the slot that brought `value`, in the rows that are on."""
    rows, kept = _rows(node), _kept(on)
    count = tree.counts[node, rows] + 1
    mean = tree.values[node, rows] + (value - tree.values[node, rows]) / count
    return tree._replace(
        values=tree.values.at[node, kept].set(mean, mode="drop"),
        counts=tree.counts.at[node, kept].set(count, mode="drop"),
        visits=tree.visits.at[node, kept, slot].add(1, mode="drop"),
    )


def _rows(x: Array) -> Int[Array, "B"]:
    return jnp.arange(len(x))


def _kept(on: Bool[Array, "B"]) -> Int[Array, "B"]:
    """Row numbers to scatter to; rows that are off get one beyond the end, which mode="drop" leaves out."""
    return jnp.where(on, jnp.arange(len(on)), len(on))


def _pad(x: Float[Array, "B W"], slots: int) -> Float[Array, "B S"]:
    return jnp.pad(x, ((0, 0), (0, slots - x.shape[1])))
