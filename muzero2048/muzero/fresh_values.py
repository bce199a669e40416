"""Value targets that bootstrap from the network that plays now (MuZero, appendix H: the target network of Reanalyze).

A stored target bootstraps from the values of the network that played. In a large buffer these are old, and a value
learns from the future only what the network knew then: while play improves, values stay far below the returns.

Shapes: `B` sequences, `K` unroll steps, `n` = replay.fresh_steps, `N` cells.
"""

import jax
import jax.numpy as jnp

from muzero2048.models.base import Model
from muzero2048.muzero.config import MuZeroConfig
from muzero2048.muzero.targets import Sequence
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
    kept = jax.tree.map(lambda x: x[:, : length - steps], sequence)
    return kept._replace(value=returns[: length - steps].T)
