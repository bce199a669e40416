"""What a tree holds below the chosen move: the outcomes of the chance event, and the line that the search expects.

For people who look at a search; no training reads it.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from muzero2048.game.env import NUM_ACTIONS
from muzero2048.search.tree import UNVISITED, Trees, row_numbers

VARIATION = 16  # moves of a line, at most


class Outlook(NamedTuple):
    """What is below the chosen move of each of B boards."""

    outcomes: Float[Array, "B C 3"]  # of each chance code: probability, visits, value in points (nan: not visited)
    variation: Int[Array, "B D 2"]  # moves, each with the chance code after it; -1 after the end of the line


class LineWalk(NamedTuple):
    """The state of the walk along the line."""

    node: Int[Array, "B"]
    action: Int[Array, "B"]
    live: Bool[Array, "B"]


def read_outlook(tree: Trees, action: Int[Array, "B"], codes: int) -> Outlook:
    """Read the outcomes after an action of the root, and the line that begins with it.

    The line follows the most visited chance code and the most visited action, until an action was not visited or the
    game is over.

    An action that was not visited has no outcomes: probabilities and visits 0.
    """
    rows = row_numbers(action)
    chance = tree.children[0, rows, action].astype(jnp.int32)
    node, known = jnp.maximum(chance, 0), (chance != UNVISITED)[:, None]
    states = tree.children[node, rows, :codes].astype(jnp.int32)
    values = tree.values[jnp.maximum(states, 0), rows[:, None]]
    outcomes = (
        jnp.where(known, tree.prior[node, rows, :codes], 0.0),
        jnp.where(known, tree.visits[node, rows, :codes], 0).astype(jnp.float32),
        jnp.where(known & (states != UNVISITED), values, jnp.nan),
    )

    def ply(walk: LineWalk, _: None) -> tuple[LineWalk, Int[Array, "B 2"]]:
        after = tree.children[walk.node, rows, walk.action].astype(jnp.int32)
        code = jnp.argmax(tree.visits[jnp.maximum(after, 0), rows, :codes], axis=-1)
        below = tree.children[jnp.maximum(after, 0), rows, code].astype(jnp.int32)
        goes_on = walk.live & (after != UNVISITED) & (below != UNVISITED)
        step = jnp.stack([jnp.where(walk.live, walk.action, -1), jnp.where(goes_on, code, -1)], axis=-1)
        node = jnp.where(goes_on, below, 0)
        visits = tree.visits[node, rows, :NUM_ACTIONS]
        goes_on &= (visits.max(axis=-1) > 0) & ~tree.is_over[node, rows]
        return LineWalk(node, jnp.argmax(visits, axis=-1), goes_on), step

    start = LineWalk(jnp.zeros_like(rows), action.astype(rows.dtype), jnp.ones(rows.shape, bool))
    _, steps = jax.lax.scan(ply, start, None, length=VARIATION)
    return Outlook(jnp.stack(outcomes, axis=-1), jnp.swapaxes(steps, 0, 1))
