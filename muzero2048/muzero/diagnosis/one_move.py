"""Diagnostics of the model at all legal moves of real boards, including moves that were not played.

The losses measure the model only at the moves that were played, but the search compares all moves.

The swap test separates the error of the dynamics from the error of the values. The same networks evaluate the predicted
afterstate and the true one:

    Q_learned(s, a) = r(phi(h(s), a)) + gamma V(phi(h(s), a)),    Q_true(s, a) = r + gamma V(as).

A latent model cannot represent the board of an afterstate, so V(as) is the value of phi(h(s), a) in both
(`Model.represent_afterstate`). Then the swap test shows only the error of the reward.

Shapes: `B` boards, `N` cells, `A` = 4 actions, `M` = B * A moves.
"""

import dataclasses
import functools
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Bool, Float, Int, UInt8

from muzero2048.game.env import NUM_ACTIONS, Board
from muzero2048.models.base import Model, State
from muzero2048.muzero.config import MuZeroConfig
from muzero2048.muzero.selfplay import LATE_LEVEL
from muzero2048.search.base import Afterstate
from muzero2048.search.dynamics import make_dynamics
from muzero2048.search.plan_move import move_all
from muzero2048.training.replay import ReplayState

BOARDS = 512  # boards of the buffer that are measured once a report


class Mean(NamedTuple):
    """A mean, as a sum and the number of its terms; undefined if there are none."""

    total: Float[Array, ""]
    counted: Int[Array, ""]


def diagnose(
    model: Model, config: MuZeroConfig, cells: UInt8[Array, "B O"], played: Int[Array, "B"]
) -> dict[str, Mean]:
    """Compute metrics of the model over the legal moves of boards.

    Returns `model/reward_error_all` and `swap/*` of every model, `model/afterstate_accuracy_*` of a grounded model, and
    `model/chance_distance` of a model with oracle codes (see launch/experiment/metrics.py). `played` is the
    action that was played on each board.
    """
    game = config.board_game
    board = game.from_observation(cells)
    legal = game.legal_actions(board)
    learned = _moves(model, config, "learned", board)
    true = _moves(model, config, "simulator", board)
    q_learned, q_true = (
        (after.reward + config.discount * after.value).reshape(-1, NUM_ACTIONS) for after in (learned, true)
    )
    best_learned, best_true = (jnp.argmax(jnp.where(legal, q, -jnp.inf), axis=-1) for q in (q_learned, q_true))
    reward_error = jnp.abs(learned.reward - true.reward).reshape(-1, NUM_ACTIONS)
    means = {
        "model/reward_error_all": _mean(reward_error, legal),
        "swap/q_error": _mean(jnp.abs(q_learned - q_true), legal),
        "swap/agreement": _mean(best_learned == best_true, legal.any(axis=-1)),
    }
    if model.grounded:
        right = _decoded_right(model, learned.state, game.observe(true.state)).reshape(-1, NUM_ACTIONS)
        unplayed = ~jax.nn.one_hot(played, NUM_ACTIONS, dtype=bool)
        late = (cells.max(axis=-1) >= LATE_LEVEL)[:, None]
        means |= {
            "model/afterstate_accuracy_all": _mean(right, legal),
            "model/afterstate_accuracy_unplayed": _mean(right, legal & unplayed),
            "model/afterstate_accuracy_late": _mean(right, legal & late),
        }
    if model.chance_encoder.tells_spawns:
        chances = jnp.pad(true.probabilities, ((0, 0), (0, model.codes - game.num_spawn_codes)))
        distance = 0.5 * jnp.abs(learned.probabilities - chances).sum(axis=-1)
        means["model/chance_distance"] = _mean(distance.reshape(-1, NUM_ACTIONS), legal)
    return means


def measure(
    config: MuZeroConfig, graphdef: nnx.GraphDef[Any], params: nnx.State[Any, Any], replay: ReplayState
) -> dict[str, float]:
    """Run `diagnose` on boards of all ages of the buffer.

    Returns the metrics as numbers, without those whose mean has no term.
    """
    means = jax.device_get(_measure(config, graphdef, params, replay))
    return {name: float(mean.total / mean.counted) for name, mean in means.items() if mean.counted}


@functools.partial(jax.jit, static_argnums=(0, 1))  # one compilation for each config
def _measure(
    config: MuZeroConfig, graphdef: nnx.GraphDef[Any], params: nnx.State[Any, Any], replay: ReplayState
) -> dict[str, Mean]:
    cells, played = buffer_boards(replay, BOARDS)
    return diagnose(nnx.merge(graphdef, params), config, cells, played)


def buffer_boards(replay: ReplayState, count: int) -> tuple[UInt8[Array, "B O"], Int[Array, "B"]]:
    """Return `count` boards and the actions played on them; some come twice if the buffer holds fewer.

    The environments give a board in turn, from evenly spaced columns of the filled part of the buffer, beginning with
    the newest column. No random numbers are drawn.
    """
    cells, action = replay.storage.cells, replay.storage.action
    num_envs, capacity = action.shape
    number = jnp.arange(count)
    column = (replay.position - 1 - number * replay.size // count) % capacity
    return cells[number % num_envs, column], action[number % num_envs, column].astype(jnp.int32)


def _moves(model: Model, config: MuZeroConfig, world: Literal["learned", "simulator"], board: Board) -> Afterstate:
    """Make all moves on the boards, in the learned model or in the simulator."""
    dynamics = make_dynamics(model, config.board_game, dataclasses.replace(config.search, model=world))
    return move_all(dynamics, dynamics.root(board).state)


def _decoded_right(model: Model, latent: State, cells: UInt8[Array, "M N"]) -> Bool[Array, "M"]:
    """Check which latents are decoded to the given cells, all cells right."""
    labels = jnp.minimum(cells, model.tile_levels - 1)
    return jnp.all(jnp.argmax(model.decode(latent), axis=-1) == labels, axis=-1)


def _mean(x: Float[Array, "*B"] | Bool[Array, "*B"], counts: Bool[Array, "*B"]) -> Mean:
    return Mean(jnp.sum(jnp.where(counts, x, 0).astype(jnp.float32)), counts.sum())
