"""Search of several symmetric views of a board, and the average of what the searches found.

Each view is searched by itself, as a board of its own. Then policies and Q-values of the root are mapped back to the
moves of the board and averaged. The average is at the root, and not of the predictions inside one tree: a learned model
predicts in latent states, and its chance codes in one view have no known counterpart in another.

With all 8 views (4 of an oblong board), the average is the same for all views of a board, up to rounding and the random
draws of a search.
"""

from collections.abc import Callable

import jax.numpy as jnp
from jaxtyping import Array, Float, Int, UInt32

from muzero2048.game.env import Board, BoardGame
from muzero2048.game.symmetry import symmetries, view_cells
from muzero2048.search.base import Plan
from muzero2048.search.inner_rules import argmax, node_seed


def plan_views(
    game: BoardGame,
    count: int,
    search: Callable[[Board, UInt32[Array, "M"]], Plan],
    board: Board,
    seeds: UInt32[Array, "B"],
) -> Plan:
    """Search the first `count` views of each board, and average.

    policy = mean over the views;  Q(a) = mean over the views that visited a;  visits and value = sum and mean
    action = argmax of the policy over the actions that some view visited

    More views than there are count as all. `search` plans without noise; each view gets a seed of its own.
    """
    views = _number(game, count)
    several = jnp.tile(jnp.arange(views), len(seeds))
    plan = search(view_boards(game, count, board), node_seed(jnp.repeat(seeds, views), several))
    policies, q_values, visits = (view_back(game, count, x) for x in (plan.policy_target, plan.q_values, plan.visits))
    policy, total = policies.mean(axis=1), visits.sum(axis=1)
    q = jnp.where(visits > 0, q_values, 0.0).sum(axis=1) / jnp.maximum((visits > 0).sum(axis=1), 1)
    completed = jnp.where(total > 0, q, q_values.mean(axis=1))
    value = plan.value.reshape(-1, views).mean(axis=-1)
    return Plan(argmax(jnp.where(total > 0, policy, -1.0)), policy, completed, total, value)


def view_boards(game: BoardGame, count: int, board: Board) -> tuple[UInt32[Array, "M"], ...]:
    """Return the first `count` views of each of B boards, those of a board next to each other."""
    views = symmetries(game.rows, game.columns)
    seen = game.observe(board)
    several = jnp.repeat(seen, _number(game, count), axis=0)
    view = jnp.tile(jnp.arange(_number(game, count)), len(seen))
    return game.from_observation(view_cells(views, view, several))


def view_back(game: BoardGame, count: int, values: Float[Array, "M A"] | Int[Array, "M A"]) -> Array:
    """Return values of the moves of the views [B * V, A] as values of the moves of the boards [B, V, A]."""
    views = _number(game, count)
    action_to = jnp.asarray(symmetries(game.rows, game.columns).action_to[:count])
    in_views = values.reshape(-1, views, values.shape[-1])
    return jnp.take_along_axis(in_views, jnp.broadcast_to(action_to, in_views.shape), axis=-1)


def _number(game: BoardGame, count: int) -> int:
    return min(count, symmetries(game.rows, game.columns).num_views)
