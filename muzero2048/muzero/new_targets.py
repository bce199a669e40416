"""New targets for stored positions (MuZero, appendix H): by a search with the present parameters, or by their values.

A stored target bootstraps from the values of the network that played. In a large buffer these are old, and a value
learns from the future only what the network knew then: while play improves, values stay far below the returns.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jaxtyping import Array, Float, PRNGKeyArray

from muzero2048.models.base import Model
from muzero2048.muzero.batches import Sequence
from muzero2048.muzero.config import MuZeroConfig
from muzero2048.muzero.selfplay import search_by_device
from muzero2048.search.root_rules import bootstrap_value
from muzero2048.training.returns import lambda_returns


def fresh_values(model: Model, sequence: Sequence, config: MuZeroConfig) -> Sequence:
    """Replace the values of the first K+1 positions by returns of the stored moves.

        z_k^(n) = r_k + gamma r_{k+1} + ... + gamma^(n-1) r_{k+n-1} + gamma^n V(h(o_{k+n}))
        z_k     = sum_n w_n z_k^(n)      over n and w_n of `replay.fresh_returns`, whose sum is 1

    At the end of a game the sum ends. V is that of `model`, without a search.

    A return of few moves has little noise, so the values can rank moves; but a value learns only a few moves at a time
    how long the game will last. A return of many moves with a small weight adds little to the variance.

    Takes moves [B, K+1+max n, ...] and returns the first K+1 of them with the new values.
    """
    returns, count = config.replay.fresh_returns, config.unroll_steps + 1
    batch, _, num_cells = sequence.cells.shape
    last = jnp.stack([sequence.cells[:, n : n + count] for n in returns], axis=1).reshape(-1, num_cells)
    values = model.codec.decode(model.prediction(model.representation(last)).value_logits)
    values = values.reshape(batch, len(returns), count)
    total = jnp.zeros((batch, count))
    for i, (n, weight) in enumerate(returns.items()):
        total += weight * _returns_of(n, sequence, values[:, i], config.discount)
    first = jax.tree.map(lambda x: x[:, :count], sequence)
    return first._replace(value=total)


def _returns_of(
    n: int, sequence: Sequence, last: Float[Array, "B K_plus_1"], discount: float
) -> Float[Array, "B K_plus_1"]:
    """z_k^(n) of `fresh_values`; `last` holds V(h(o_{k+n})). A sum over n, since a loop of n steps is slow on a GPU."""
    count = last.shape[1]
    window = np.arange(count)[:, None] + np.arange(n)  # moves of each return: [K+1, n]
    ends = jnp.cumsum(sequence.done[:, : count + n - 1], axis=1)
    before = jnp.pad(ends, ((0, 0), (1, 0)))  # games that ended before each move
    same_game = before[:, window] == before[:, :count, None]
    reward = jnp.where(same_game, sequence.reward[:, window], 0.0)
    goes_on = before[:, n : n + count] == before[:, :count]
    discounted = jnp.dot(reward, discount ** np.arange(n, dtype=np.float32), precision=jax.lax.Precision.HIGHEST)
    return discounted + jnp.where(goes_on, discount**n * last, 0.0)


def reanalyse(
    model: Model, key: PRNGKeyArray, sequence: Sequence, config: MuZeroConfig, rows: NamedSharding
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

    board = config.board_game.from_observation(chosen(sequence.cells).reshape(-1, sequence.cells.shape[-1]))
    seeds = jax.random.bits(key, board[0].shape, jnp.uint32)
    root, plan = search_by_device(model, board, seeds, None, config, rows)
    searched = bootstrap_value(root, plan, config.bootstrap).reshape(renewed, -1)
    reward, done = (chosen(x)[:, :-1].T for x in (sequence.reward, sequence.done))  # time first
    returns = lambda_returns(reward, done, searched.T, config.discount, config.td_lambda, config.td_steps)
    value = jnp.concatenate([returns.T, searched[:, -1:]], axis=1)
    return sequence._replace(policy=renew(sequence.policy, plan.policy_target), value=renew(sequence.value, value))
