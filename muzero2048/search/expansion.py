"""Expansion: evaluate the new node of every tree, and add it.

The new node of a board is an afterstate (after a move) or a state (after a chance event), and the two kinds need
different networks. On a CPU the rows of a batch are sorted into blocks of one kind (`sort_into_blocks`), so a network
runs on the rows of its kind only. An accelerator runs both networks on all rows (`evaluate_both`): with blocks the host
would have to wait for the number of blocks and for the kind of each, twice per simulation.
"""

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from muzero2048.game.env import NUM_ACTIONS
from muzero2048.models.base import State
from muzero2048.search.base import Dynamics
from muzero2048.search.inner_rules import possible
from muzero2048.search.tree import UNVISITED, Path, Trees, row_numbers

BLOCKS, LEAST_BLOCK = 4, 32  # on a CPU: blocks of rows per evaluation, and the least number of rows in a block


class Leaf(NamedTuple):
    """A new node of either kind."""

    state: State
    value: Float[Array, "B"]
    reward: Float[Array, "B"]
    prior: Float[Array, "B S"]


class Blocks(NamedTuple):
    """The rows of a batch sorted into blocks of one kind: first the blocks of moves, then those of chance events."""

    rows: Int[Array, "P"]  # row numbers; B (no row) where the last block of a kind is not full
    moves: Int[Array, ""]  # number of blocks of moves
    total: Int[Array, ""]  # number of blocks in use
    size: int  # rows of a block

    @property
    def is_move(self) -> Bool[Array, "P"]:
        """Whether a place is in a block of moves."""
        return jnp.arange(len(self.rows)) < self.moves * self.size


def expand(dynamics: Dynamics, tree: Trees, path: Path, new: Int[Array, ""]) -> tuple[Trees, Path]:
    """Add the child of the unvisited slot at the end of every path."""

    def in_blocks(tree: Trees, path: Path) -> tuple[Trees, Path]:
        blocks = sort_into_blocks(path.end % 2 == 0)
        return add_nodes(
            tree, path, new, blocks.rows, blocks.is_move, functools.partial(evaluate_blocks, dynamics, blocks)
        )

    def at_once(tree: Trees, path: Path) -> tuple[Trees, Path]:
        is_move = path.end % 2 == 0
        evaluate = functools.partial(evaluate_both, dynamics, is_move)
        return add_nodes(tree, path, new, row_numbers(is_move), is_move, evaluate)

    return jax.lax.platform_dependent(tree, path, cpu=in_blocks, default=at_once)


def add_nodes(
    tree: Trees,
    path: Path,
    new: Int[Array, ""],
    rows: Int[Array, "P"],
    is_chance: Bool[Array, "P"],
    evaluate: Callable[[State, Int[Array, "P"]], Leaf],
) -> tuple[Trees, Path]:
    """Add one new node in every row.

    `rows` gives the row numbers in the order of evaluation; entries of B (no row) are ignored. `evaluate` maps the
    states of the parents and the slots to the children.
    """
    end = path.end[rows]
    parent, slot = path.nodes[end, rows], path.slots[end, rows]
    leaf = evaluate(jax.tree.map(lambda x: x[parent, rows], tree.states), slot)
    # Where no action is possible the game is over: every visit is worth 0, and no child is added.
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
    """Return the number of rows in a block."""
    return min(batch, max(LEAST_BLOCK, -(-batch // BLOCKS)))


def sort_into_blocks(is_move: Bool[Array, "B"]) -> Blocks:
    """Sort the rows of a batch into blocks of one kind; the rows of a kind are rounded up to whole blocks."""
    batch = len(is_move)
    size = block_size(batch)
    count = jnp.cumsum(is_move)
    moves = -(-count[-1] // size)
    chance = -(-(batch - count[-1]) // size)
    rows = row_numbers(is_move)
    place = jnp.where(is_move, count - 1, moves * size + rows - count)
    room = (-(-batch // size) + 1) * size
    return Blocks(jnp.full((room,), batch).at[place].set(rows, unique_indices=True), moves, moves + chance, size)


def evaluate_blocks(dynamics: Dynamics, blocks: Blocks, states: State, slot: Int[Array, "P"]) -> Leaf:
    """Evaluate the children block by block, with one network per row.

    States of the parents and slots are in the order of the blocks, and so are the children.
    """

    def block(i: Int[Array, ""], leaf: Leaf) -> Leaf:
        start = i * blocks.size
        inputs = jax.tree.map(lambda x: jax.lax.dynamic_slice_in_dim(x, start, blocks.size), (leaf.state, slot))
        kinds = functools.partial(after_move, dynamics), functools.partial(after_chance, dynamics)
        evaluated = jax.lax.cond(i < blocks.moves, *kinds, *inputs)
        return jax.tree.map(lambda x, y: jax.lax.dynamic_update_slice_in_dim(x, y, start, 0), leaf, evaluated)

    # The new states of a block replace the states of the parents in the same array.
    blank = jnp.zeros((len(slot),))
    priors = jnp.zeros((len(slot), _slots(dynamics)))
    return jax.lax.fori_loop(0, blocks.total, block, Leaf(states, blank, blank, priors))


def evaluate_both(dynamics: Dynamics, is_move: Bool[Array, "B"], states: State, slot: Int[Array, "B"]) -> Leaf:
    """Evaluate the children with both networks on every row, and keep the one of the row's kind."""

    def choose(x: Array, y: Array) -> Array:
        return jnp.where(is_move.reshape(-1, *[1] * (x.ndim - 1)), x, y)

    return jax.tree.map(choose, after_move(dynamics, states, slot), after_chance(dynamics, states, slot))


def after_move(dynamics: Dynamics, states: State, slot: Int[Array, "P"]) -> Leaf:
    """Compute the afterstates of moves; their prior is the probabilities of the chance codes."""
    after = dynamics.move(states, jnp.minimum(slot, NUM_ACTIONS - 1))
    return Leaf(after.state, after.value, after.reward, _pad(after.probabilities, _slots(dynamics)))


def after_chance(dynamics: Dynamics, states: State, slot: Int[Array, "P"]) -> Leaf:
    """Compute the states after chance events; their prior is the policy logits."""
    decision = dynamics.spawn(states, jnp.minimum(slot, dynamics.codes - 1))
    return Leaf(
        decision.state, decision.value, jnp.zeros_like(decision.value), _pad(decision.policy_logits, _slots(dynamics))
    )


def _slots(dynamics: Dynamics) -> int:
    return max(NUM_ACTIONS, dynamics.codes)


def _pad(x: Float[Array, "B W"], slots: int) -> Float[Array, "B S"]:
    return jnp.pad(x, ((0, 0), (0, slots - x.shape[1])))
