"""Reanalysis: fresh targets for stored positions, searched with the parameters of now (MuZero, appendix H)."""

import math

import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding
from jaxtyping import Array, PRNGKeyArray

from muzero2048.config import MuZeroConfig
from muzero2048.env import Game2048
from muzero2048.model import Model
from muzero2048.search.read_out import bootstrap_value
from muzero2048.selfplay import search_by_device
from muzero2048.targets import Sequence


def reanalyse(
    model: Model,
    key: PRNGKeyArray,
    game: Game2048,
    sequence: Sequence,
    config: MuZeroConfig,
    rows: NamedSharding,
) -> Sequence:
    """The batch [B, K+1, ...] with new policies and values in a share `replay.reanalyse` of its sequences.

    Every board of these is searched without noise: the policy is the improved policy of this search, and the value is
    its value, which bootstraps from the network one step ahead, in place of the return of the stored moves.
    The sequences are the first of each of gcd(share * B, B) blocks of the batch: the same share on every device.
    """
    batch = len(sequence.cells)
    renewed = config.replay.reanalysed
    blocks = math.gcd(renewed, batch)
    first = renewed // blocks

    def by_blocks(x: Array) -> Array:
        return x.reshape(blocks, batch // blocks, *x.shape[1:])

    cells = by_blocks(sequence.cells)[:, :first]
    board = game.from_cells(cells.reshape(-1, game.rows, game.columns))
    seeds = jax.random.bits(key, board[0].shape, jnp.uint32)
    root, found = search_by_device(model, game, board, seeds, None, config, rows)

    def renew(old: Array, new: Array) -> Array:
        kept = by_blocks(old)[:, first:]
        return jnp.concatenate([new.reshape(blocks, first, *old.shape[1:]), kept], axis=1).reshape(old.shape)

    value = bootstrap_value(root, found, config.bootstrap)
    return sequence._replace(policy=renew(sequence.policy, found.policy_target), value=renew(sequence.value, value))
