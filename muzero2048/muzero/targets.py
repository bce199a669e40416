"""Value targets from a chunk of play, and training batches from sequences of moves."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, UInt8

from muzero2048.game.env import Board, Game2048, where
from muzero2048.game.symmetry import Symmetries, view_actions, view_cells, view_policies, view_spawn_codes


def lambda_returns(
    reward: Float[Array, "T *B"],
    done: Bool[Array, "T *B"],
    value: Float[Array, "T_plus_1 *B"],
    discount: float,
    td_lambda: float | Float[Array, "T *B"],
    td_steps: int,
) -> Float[Array, "T *B"]:
    """n-step truncated lambda-returns, in points.

    With gamma_t = gamma (0 where move t ended the game) and V the values of the states,

        G_t^(0) = V(s_t),    G_t^(n) = r_t + gamma_t ((1 - lambda) V(s_{t+1}) + lambda G_{t+1}^(n-1)).

    lambda = 1 is the n-step return, lambda = 0 or n = 1 the one-step target (Sutton & Barto 2018, sec. 12.3). Past the
    end of the chunk the last value takes the place of G.

    Args:
        reward: rewards of the moves, in points.
        done: moves that ended a game.
        value: values of the T states and of the one behind the last move.
        discount: gamma.
        td_lambda: lambda, of all moves or of each.
        td_steps: n.
    """
    continuation = discount * (1.0 - done.astype(jnp.float32))
    one_step = reward + continuation * (1.0 - td_lambda) * value[1:]

    def extend(returns: Float[Array, "T_plus_1 *B"], _: None) -> tuple[Float[Array, "T_plus_1 *B"], None]:
        longer = one_step + continuation * td_lambda * returns[1:]
        return jnp.concatenate([longer, value[-1:]]), None

    returns, _ = jax.lax.scan(extend, value, None, length=min(td_steps, len(reward)))
    return returns[:-1]


class Sequence(NamedTuple):
    """Consecutive moves of one environment as replay stores them (the next game may begin inside)."""

    cells: UInt8[Array, "*B N"]  # the board before the move
    action: Int[Array, "*B"]
    reward: Float[Array, "*B"]
    done: Bool[Array, "*B"]
    spawn_code: Int[Array, "*B"]
    policy: Float[Array, "*B A"]  # policy target of the search
    value: Float[Array, "*B"]  # search value while playing; in the buffer the return of the state before the move


class Batch(NamedTuple):
    """What the loss reads: K moves and the K+1 states around them."""

    cells: UInt8[Array, "B K_plus_1 N"]  # real boards; once the game is over, its last one (absorbing)
    alive: Bool[Array, "B K_plus_1"]  # the state belongs to the game that the sequence began in, and that game goes on
    value: Float[Array, "B K_plus_1"]  # 0 in the absorbing state
    policy: Float[Array, "B K_plus_1 A"]
    afterstate_cells: UInt8[Array, "B K N"]
    action: Int[Array, "B K"]
    spawn_code: Int[Array, "B K"]
    reward: Float[Array, "B K"]  # 0 in the absorbing state
    afterstate_value: Float[Array, "B K"]  # (G_t - r_t) / gamma: convention 2 of models/base.py
    weight: Float[Array, "B"]  # of the sample in the loss; 1 unless replay is prioritised


def make_batch(game: Game2048, sequence: Sequence, discount: float) -> Batch:
    """Rebuild the boards behind K of the K+1 moves from the rules, and blank what belongs to the next game."""
    alive = jnp.cumsum(jnp.pad(sequence.done[:, :-1], ((0, 0), (1, 0))), axis=1) == 0
    board = game.from_cells(sequence.cells[:, 0].reshape(-1, game.rows, game.columns))
    boards, afterstates = [board], []
    for k in range(sequence.action.shape[1] - 1):
        after, _ = game.afterstate(board, sequence.action[:, k])
        after = where(alive[:, k], after, board)
        board = where(alive[:, k], game.place(after, sequence.spawn_code[:, k]), board)
        afterstates.append(after)
        boards.append(board)
    reward = jnp.where(alive, sequence.reward, 0.0)
    value = jnp.where(alive, sequence.value, 0.0)
    return Batch(
        cells=jnp.stack([_flat(game, board) for board in boards], axis=1),
        alive=alive,
        value=value,
        policy=sequence.policy,
        afterstate_cells=jnp.stack([_flat(game, after) for after in afterstates], axis=1),
        action=sequence.action[:, :-1].astype(jnp.int32),
        spawn_code=sequence.spawn_code[:, :-1].astype(jnp.int32),
        reward=reward[:, :-1],
        afterstate_value=((value - reward) / discount)[:, :-1],
        weight=jnp.ones(len(alive)),
    )


def view_sequence(views: Symmetries, view: Int[Array, "B"], sequence: Sequence) -> Sequence:
    """Each sequence seen in its own view of the board: cells, actions, policies and spawns together."""
    action = sequence.action.astype(jnp.int32)
    return sequence._replace(
        cells=view_cells(views, view[:, None], sequence.cells),
        action=view_actions(views, view, action),
        policy=view_policies(views, view, sequence.policy),
        spawn_code=view_spawn_codes(views, view, sequence.spawn_code.astype(jnp.int32)),
    )


def _flat(game: Game2048, board: Board) -> UInt8[Array, "B N"]:
    return game.to_cells(board).reshape(-1, game.num_cells)
