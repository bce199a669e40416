"""Training batches from sequences of moves."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, UInt8

from muzero2048.game.env import BoardGame, where
from muzero2048.game.symmetry import Symmetries, view_actions, view_cells, view_policies, view_spawn_codes


class Sequence(NamedTuple):
    """Consecutive moves of one environment, as replay stores them; a sequence may run into the next game."""

    cells: UInt8[Array, "*B O"]  # observation of the board before the move
    action: Int[Array, "*B"]
    reward: Float[Array, "*B"]  # points of the move and of the placed tile
    done: Bool[Array, "*B"]
    spawn_code: Int[Array, "*B"]
    policy: Float[Array, "*B A"]  # policy target of the search
    # Value of the state before the move: the search value during play, the lambda-return in the buffer.
    value: Float[Array, "*B"]


class Batch(NamedTuple):
    """The input of the loss: K moves and the K+1 states before and after them."""

    cells: UInt8[
        Array, "B K_plus_1 O"
    ]  # observations of real boards; after the end of the game its last board (absorbing)
    alive: Bool[Array, "B K_plus_1"]  # the state belongs to the first game of the sequence, and that game is not over
    value: Float[Array, "B K_plus_1"]  # 0 in the absorbing state
    policy: Float[Array, "B K_plus_1 A"]
    afterstate_cells: UInt8[Array, "B K O"]
    action: Int[Array, "B K"]
    spawn_code: Int[Array, "B K"]
    reward: Float[Array, "B K"]  # 0 in the absorbing state
    afterstate_value: Float[Array, "B K"]  # (G_t - r_t) / gamma: convention 2 of models/base.py
    weight: Float[Array, "B"]  # weight of the sample in the loss; 1 unless replay is prioritised


def make_batch(game: BoardGame, sequence: Sequence, discount: float) -> Batch:
    """Make the batch of sequences of K+1 moves.

    The boards after the first one are computed by the rules from actions and spawns. Positions that belong to the next
    game become absorbing states.
    """
    alive = jnp.cumsum(jnp.pad(sequence.done[:, :-1], ((0, 0), (1, 0))), axis=1) == 0
    board = game.from_observation(sequence.cells[:, 0])
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
        cells=jnp.stack([game.observe(board) for board in boards], axis=1),
        alive=alive,
        value=value,
        policy=sequence.policy,
        afterstate_cells=jnp.stack([game.observe(after) for after in afterstates], axis=1),
        action=sequence.action[:, :-1].astype(jnp.int32),
        spawn_code=sequence.spawn_code[:, :-1].astype(jnp.int32),
        reward=reward[:, :-1],
        afterstate_value=((value - reward) / discount)[:, :-1],
        weight=jnp.ones(len(alive)),
    )


def view_sequence(views: Symmetries, view: Int[Array, "B"], sequence: Sequence, ways: int = 2) -> Sequence:
    """Transform each sequence into its own view of the board: cells, actions, policies and spawns.

    There are so many spawn codes for each cell.
    """
    action = sequence.action.astype(jnp.int32)
    return sequence._replace(
        cells=view_cells(views, view[:, None], sequence.cells),
        action=view_actions(views, view, action),
        policy=view_policies(views, view, sequence.policy),
        spawn_code=view_spawn_codes(views, view, sequence.spawn_code.astype(jnp.int32), ways),
    )
