"""Symmetric views of a board: 8 of a square board; the 4 that keep the shape of an oblong board.

A view moves cell i of the board to cell `cell_to[view, i]` and maps action a to `action_to[view, a]`. Moves and views
commute (tested):

    view(afterstate(board, a)) = afterstate(view(board), action_to[a])
"""

import functools
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, UInt8

# Directions of the actions up, right, down, left as (row, column) steps.
_DIRECTIONS = ((-1, 0), (0, 1), (1, 0), (0, -1))


class Symmetries(NamedTuple):
    """Permutations of V views."""

    cell_to: np.ndarray  # int32[V, H*W]
    cell_from: np.ndarray  # int32[V, H*W], the inverse
    action_to: np.ndarray  # int32[V, 4]
    action_from: np.ndarray  # int32[V, 4], the inverse

    @property
    def num_views(self) -> int:
        """V."""
        return len(self.cell_to)


@functools.cache
def symmetries(rows: int, columns: int) -> Symmetries:
    """Return all views of a `rows` x `columns` board; view 0 is the identity."""
    cells = np.arange(rows * columns).reshape(rows, columns)
    cell_from, action_to = [], []
    for transposed in (False, True) if rows == columns else (False,):
        for flip_rows in (False, True):
            for flip_columns in (False, True):
                view = cells.T if transposed else cells
                view = view[::-1] if flip_rows else view
                view = view[:, ::-1] if flip_columns else view
                cell_from.append(view.ravel())
                action_to.append([_turn(action, transposed, flip_rows, flip_columns) for action in range(4)])
    inverse = np.argsort(np.array(cell_from), axis=1)
    forward = np.array(action_to)
    return Symmetries(
        cell_to=inverse.astype(np.int32),
        cell_from=np.array(cell_from, np.int32),
        action_to=forward.astype(np.int32),
        action_from=np.argsort(forward, axis=1).astype(np.int32),
    )


def _turn(action: int, transposed: bool, flip_rows: bool, flip_columns: bool) -> int:
    row, column = _DIRECTIONS[action]
    if transposed:
        row, column = column, row
    return _DIRECTIONS.index((-row if flip_rows else row, -column if flip_columns else column))


def view_cells(views: Symmetries, view: Int[Array, "*#B"], cells: UInt8[Array, "*B O"]) -> UInt8[Array, "*B O"]:
    """Transform boards or observations; what follows the cells of an observation stays where it is."""
    num_cells = views.cell_from.shape[1]
    turned = jnp.take_along_axis(cells[..., :num_cells], jnp.asarray(views.cell_from)[view], axis=-1)
    return jnp.concatenate([turned, cells[..., num_cells:]], axis=-1) if cells.shape[-1] > num_cells else turned


def view_actions(views: Symmetries, view: Int[Array, "B"], actions: Int[Array, "B K"]) -> Int[Array, "B K"]:
    """Transform actions."""
    return jnp.take_along_axis(jnp.asarray(views.action_to)[view], actions, axis=-1)


def view_policies(views: Symmetries, view: Int[Array, "B"], policies: Float[Array, "B K 4"]) -> Float[Array, "B K 4"]:
    """Transform policies."""
    return jnp.take_along_axis(policies, jnp.asarray(views.action_from)[view][:, None, :], axis=-1)


def view_spawn_codes(
    views: Symmetries, view: Int[Array, "B"], codes: Int[Array, "B K"], ways: int = 2
) -> Int[Array, "B K"]:
    """Transform spawn codes cell * ways + way, with so many ways in which a chance event can change one cell."""
    return ways * jnp.take_along_axis(jnp.asarray(views.cell_to)[view], codes // ways, axis=-1) + codes % ways
