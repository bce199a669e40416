"""New targets for stored positions (MuZero, appendix H): by a search with the present parameters, or by their values.

A stored target bootstraps from the values of the network that played. In a large buffer these are old, and a value
learns from the future only what the network knew then: while play improves, values stay far below the returns.
"""

import math

import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding
from jaxtyping import Array, PRNGKeyArray

from muzero2048.game.env import Game2048
from muzero2048.models.base import Model
from muzero2048.muzero.batches import Sequence
from muzero2048.muzero.config import MuZeroConfig
from muzero2048.muzero.selfplay import search_by_device
from muzero2048.search.policy_output import bootstrap_value
from muzero2048.training.returns import lambda_returns


def fresh_values(model: Model, sequence: Sequence, config: MuZeroConfig) -> Sequence:
    """Replace the values of the first K+1 positions by n-step returns of the stored moves.

        z_k = r_k + gamma r_{k+1} + ... + gamma^(n-1) r_{k+n-1} + gamma^n V(h(o_{k+n}))

    At the end of a game the sum ends. V is that of `model`, without a search.

    Takes moves [B, K+1+n, ...] and returns the first K+1 of them with the new values.
    """
    steps = config.replay.fresh_steps
    batch, length, num_cells = sequence.cells.shape
    last = sequence.cells[:, steps:].reshape(-1, num_cells)
    value = model.codec.decode(model.prediction(model.representation(last)).value_logits).reshape(batch, -1)
    values = jnp.pad(value, ((0, 0), (steps, 0)))  # no return reads the first ones
    reward, done = (x[:, :-1].T for x in (sequence.reward, sequence.done))  # time first
    returns = lambda_returns(reward, done, values.T, config.discount, 1.0, steps)
    first = jax.tree.map(lambda x: x[:, : length - steps], sequence)
    return first._replace(value=returns[: length - steps].T)


def reanalyse(
    model: Model, key: PRNGKeyArray, game: Game2048, sequence: Sequence, config: MuZeroConfig, rows: NamedSharding
) -> Sequence:
    """Replace policies and values in a share `replay.reanalyse` of the sequences of a batch [B, K+1, ...].

    Every board of these sequences is searched without noise. The new policy is the improved policy of this search. The
    new value is still a return that follows the stored moves, because V(as) of the first of them is trained on it too.
    It is the return of self-play (`td_lambda`, `td_steps`; training/returns.py) with V', the values of the new search:

        z_k = G_k^(td_steps) over r_k, ..., r_{K-1} and V'_{k+1}, ..., V'_K   for k < K,   and   z_K = V'_K.

    A sequence holds K+1 positions, so a return looks at most K - k moves ahead; the returns of self-play look up to
    td_steps moves ahead.

    The batch is divided into gcd(share * B, B) blocks, and the first sequences of each block are reanalysed. So every
    device searches the same number.
    """
    batch = len(sequence.cells)
    renewed = config.replay.reanalysed
    blocks = math.gcd(renewed, batch)
    first = renewed // blocks

    def by_blocks(x: Array) -> Array:
        return x.reshape(blocks, batch // blocks, *x.shape[1:])

    def chosen(x: Array) -> Array:
        return by_blocks(x)[:, :first].reshape(renewed, *x.shape[1:])

    def renew(old: Array, new: Array) -> Array:
        others = by_blocks(old)[:, first:]
        return jnp.concatenate([new.reshape(blocks, first, *old.shape[1:]), others], axis=1).reshape(old.shape)

    board = game.from_cells(chosen(sequence.cells).reshape(-1, game.rows, game.columns))
    seeds = jax.random.bits(key, board[0].shape, jnp.uint32)
    root, plan = search_by_device(model, game, board, seeds, None, config, rows)
    searched = bootstrap_value(root, plan, config.bootstrap).reshape(renewed, -1)
    reward, done = (chosen(x)[:, :-1].T for x in (sequence.reward, sequence.done))  # time first
    returns = lambda_returns(reward, done, searched.T, config.discount, config.td_lambda, config.td_steps)
    value = jnp.concatenate([returns.T, searched[:, -1:]], axis=1)
    return sequence._replace(policy=renew(sequence.policy, plan.policy_target), value=renew(sequence.value, value))
