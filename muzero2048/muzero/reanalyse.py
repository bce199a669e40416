"""Reanalysis: new targets for stored positions, searched with the current parameters (MuZero, appendix H)."""

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
    """Replace policies and values in a share `replay.reanalyse` of the sequences of a batch [B, K+1, ...].

    Every board of these sequences is searched without noise. The new policy is the improved policy of this search. The
    new value is still a return that follows the stored move, because V(as) of that move is trained on it too. With V'
    the value of the search,

        z_k = r_k + gamma (1 - done_k) V'_{k+1}   for k < K,   and   z_K = V'_K.

    The batch is divided into gcd(share * B, B) blocks, and the first sequences of each block are reanalysed. So every
    device searches the same number.

    Args:
        model: the networks.
        key: random key.
        game: the rules.
        sequence: the batch.
        config: config of the learner.
        rows: how the boards are cut among the devices.

    Returns:
        The batch with the new targets.
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
