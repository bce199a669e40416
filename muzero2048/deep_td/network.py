"""The value network, and the values of the four moves of a board computed from it.

td_afterstate  Q(s, a) = r(s, a) + gamma V(as)     one output: the value of the board after the move
q_learning     Q(s, a)                             one output for each move
"""

import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float, PRNGKeyArray, UInt8

from muzero2048.deep_td.config import DeepTDConfig
from muzero2048.game.env import Board, BoardGame
from muzero2048.networks.trunks import Head, make_trunk, value_initializers


class ValueNetwork(nnx.Module):
    """A trunk (networks/trunks.py) and one head."""

    def __init__(self, config: DeepTDConfig, rngs: nnx.Rngs):
        self.codec, self.outputs = config.codec, config.outputs
        self.trunk = make_trunk(config.board_network, (config.rows, config.columns), rngs, config.more_inputs)
        places = config.rows * config.columns if config.network.convolutional else 1
        initializers = value_initializers(self.codec, config.optimistic_value, self.outputs)
        self.head = Head(config.network, places, self.outputs * self.codec.bins, rngs, **initializers)

    def __call__(self, cells: UInt8[Array, "B O"]) -> Float[Array, "B outputs bins"]:
        """Compute the logits of the values."""
        return self.head(self.trunk(cells)).reshape(len(cells), self.outputs, -1)

    def values(self, cells: UInt8[Array, "*B O"]) -> Float[Array, "*B outputs"]:
        """Compute the values, in points."""
        values = self.codec.decode(self(cells.reshape(-1, cells.shape[-1])))
        return values.reshape(*cells.shape[:-1], self.outputs)


def make_network(config: DeepTDConfig, seed: int | PRNGKeyArray) -> ValueNetwork:
    """Return the network that the config names, with new parameters."""
    return ValueNetwork(config, nnx.Rngs(seed))


def q_values(network: ValueNetwork, game: BoardGame, board: Board, discount: float) -> Float[Array, "B A"]:
    """Compute Q(s, a) of the four moves.

    -inf for illegal moves.
    """
    if network.outputs == 1:
        afterstate, reward = game.all_afterstates(board)
        q = game.expected_reward(afterstate, reward) + discount * afterstate_values(network, game, afterstate)
    else:
        q = network.values(game.observe(board))
    return jnp.where(game.legal_actions(board), q, -jnp.inf)


def afterstate_values(network: ValueNetwork, game: BoardGame, afterstate: Board) -> Float[Array, "*B"]:
    """Compute V(as) with a network of one output."""
    return network.values(game.observe(afterstate))[..., 0]
