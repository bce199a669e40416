"""The functions of Stochastic MuZero, as an interface that search, losses and self-play share.

    s^0            = h(o_t)                    representation
    p^k, v^k       = f(s^k)                    prediction
    as^k, r^k      = phi(s^k, a^k)             afterstate dynamics
    sigma^k, Q^k   = psi(as^k)                 afterstate prediction
    s^{k+1}        = g(as^k, c^k)              dynamics
    c^k            = e(o_k, a^k, o_{k+1})      chance encoder

(Guei 2023, eq. 27-31.) Two conventions hold everywhere, in networks, search and targets:

1. The reward belongs to the move. In 2048 it is a function of (state, action), known before the chance event, so phi
   predicts it, where the papers let g do so.
2. The value of an afterstate leaves out the reward of the move that made it and is not discounted against the state
   that the chance event makes of it: V(as) = E_c[V(s')], Q(s, a) = r(s, a) + gamma V(as). One discount a move.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float, Int, UInt8

from muzero2048.muzero.config import MuZeroConfig
from muzero2048.networks.value_codec import ValueCodec
from muzero2048.networks.value_tables import ValueTables

State = Any  # latent state or afterstate: any pytree with a leading batch axis, both of the same structure


class Prediction(NamedTuple):
    """Output of f."""

    policy_logits: Float[Array, "B A"]
    value_logits: Float[Array, "B bins"]


class AfterstatePrediction(NamedTuple):
    """Output of psi."""

    chance_logits: Float[Array, "B C"]
    value_logits: Float[Array, "B bins"]


class Model(nnx.Module):
    """Base of all models. A subclass implements the functions below."""

    # True if the dynamics learn from reconstruction alone: value, policy and chance losses stop at the latent.
    grounded = False
    # The names of the parameters that make up a part, as far as the config has them: the parts of the metrics.
    parts: ClassVar[Mapping[str, tuple[str, ...]]]
    # An n-tuple network inside the value of a grounded model.
    value_tables: ValueTables | None = None
    # Of the consistency loss, where a latent model is trained with it.
    predictor: nnx.Module | None = None

    def __init__(self, config: MuZeroConfig):
        self.codec: ValueCodec = config.value
        self.tile_levels = config.network.tile_levels
        self.codes = config.chance.codes
        self.oracle = config.chance.encoder == "oracle"

    def representation(self, cells: UInt8[Array, "B N"]) -> State:
        """Latent state of boards of N = H*W cells."""
        raise NotImplementedError

    def prediction(self, state: State) -> Prediction:
        """Policy and value of states."""
        raise NotImplementedError

    def afterstate_dynamics(self, state: State, action: Int[Array, "B"]) -> tuple[State, Any]:
        """Afterstates, and what `reward` reads their reward from."""
        raise NotImplementedError

    def afterstate_prediction(self, afterstate: State) -> AfterstatePrediction:
        """Chance distribution and value of afterstates."""
        raise NotImplementedError

    def represent_afterstate(
        self, cells: UInt8[Array, "B N"], action: Int[Array, "B"], afterstate_cells: UInt8[Array, "B N"]
    ) -> State:
        """Latent of the afterstate of true boards: phi(h(o), a) where h has never seen an afterstate."""
        return self.afterstate_dynamics(self.representation(cells), action)[0]

    def dynamics(self, afterstate: State, code: Float[Array, "B C"]) -> State:
        """The state after the chance event of the (one-hot) code."""
        raise NotImplementedError

    def reward(self, reward_head: Any) -> Float[Array, "B"]:
        """Reward in points."""
        raise NotImplementedError

    def reward_loss(self, reward_head: Any, target: Float[Array, "B"]) -> Float[Array, "B"]:
        """Loss of the reward against the true one, in points."""
        raise NotImplementedError

    def decode(self, latent: State) -> Float[Array, "B N tile_levels"]:
        """Logits of the tile in each cell of a state or an afterstate (grounded models)."""
        raise NotImplementedError

    def inconsistency(self, predicted: State, true: State) -> Float[Array, "B"]:
        """Distance of predicted latents from those of the true boards (latent models with a predictor)."""
        raise NotImplementedError

    def encode(
        self,
        cells: UInt8[Array, "B N"],
        action: Int[Array, "B"],
        afterstate_cells: UInt8[Array, "B N"],
        next_cells: UInt8[Array, "B N"],
    ) -> Float[Array, "B C"]:
        """Logits of the chance code of an observed transition (learned encoder)."""
        raise NotImplementedError


def straight_through_code(logits: Float[Array, "B C"]) -> Float[Array, "B C"]:
    """onehot(argmax) forward, the gradient of softmax backward (Stochastic MuZero, sec. 4.2)."""
    probabilities = jax.nn.softmax(logits)
    hard = jax.nn.one_hot(jnp.argmax(logits, axis=-1), logits.shape[-1])
    return hard + (probabilities - jax.lax.stop_gradient(probabilities))  # the bracket is exactly 0
