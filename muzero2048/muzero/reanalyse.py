"""Reanalysis: fresh targets for stored positions, searched with the parameters of now (MuZero, appendix H)."""

import math

import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding
from jaxtyping import Array, PRNGKeyArray

from muzero2048.game.env import Game2048
from muzero2048.models.base import Model
from muzero2048.muzero.config import MuZeroConfig
from muzero2048.muzero.selfplay import search_by_device
from muzero2048.muzero.targets import Sequence
from muzero2048.search.policy_output import bootstrap_value


def reanalyse(
    model: Model,
    key: PRNGKeyArray,
    game: Game2048,
    sequence: Sequence,
    config: MuZeroConfig,
    rows: NamedSharding,
) -> Sequence:
    """The batch [B, K+1, ...] with new policies and values in a share `replay.reanalyse` of its sequences.

    Every board of these is searched without noise. The policy is the improved policy of this search; the value stays
    that of the stored move, since V(as) is trained on it too. With V' the value of the search,

        z_k = r_k + gamma (1 - done_k) V'_{k+1}   for k < K,   and   z_K = V'_K.

    The sequences are the first of each of gcd(share * B, B) blocks of the batch: the same share on every device.
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
        kept = by_blocks(old)[:, first:]
        return jnp.concatenate([new.reshape(blocks, first, *old.shape[1:]), kept], axis=1).reshape(old.shape)

    board = game.from_cells(chosen(sequence.cells).reshape(-1, game.rows, game.columns))
    seeds = jax.random.bits(key, board[0].shape, jnp.uint32)
    root, found = search_by_device(model, game, board, seeds, None, config, rows)
    searched = bootstrap_value(root, found, config.bootstrap).reshape(renewed, -1)
    reward, going_on = chosen(sequence.reward)[:, :-1], ~chosen(sequence.done)[:, :-1]
    value = jnp.concatenate([reward + config.discount * going_on * searched[:, 1:], searched[:, -1:]], axis=1)
    return sequence._replace(policy=renew(sequence.policy, found.policy_target), value=renew(sequence.value, value))
