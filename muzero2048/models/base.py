"""The functions of Stochastic MuZero, as an interface for search, losses and self-play.

    s^0            = h(o_t)                    representation
    p^k, v^k       = f(s^k)                    prediction
    as^k, r^k      = phi(s^k, a^k)             afterstate dynamics
    sigma^k, Q^k   = psi(as^k)                 afterstate prediction
    s^{k+1}        = g(as^k, c^k)              dynamics
    c^k            = e(o_k, a^k, o_{k+1})      chance encoder

(The first five: Guei 2023, eq. 27-31; e: Stochastic MuZero, sec. 4.1, where it reads observations alone.) Two
conventions hold everywhere, in networks, search and targets:

1. The reward belongs to the move. In 2048 it is a function of (state, action) and known before the chance event, so phi
   predicts it. In the papers g does. Where a placed tile earns points too (Threes!), they are part of the reward of the
   move before it: phi predicts their mean, and the search in the rules adds it (`BoardGame.expected_reward`).
2. There is one discount per move. The value of an afterstate does not contain the reward of the move that led to it,
   and the chance event is not discounted:

       V(as) = E_c[V(s')],   Q(s, a) = r(s, a) + gamma V(as)
"""

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float, Int, UInt8

from muzero2048.models.chance_encoders import CHANCE_ENCODERS, Observed
from muzero2048.muzero.config import MuZeroConfig
from muzero2048.networks.value_codec import ValueCodec
from muzero2048.networks.value_tables import ValueTables

FIRST_REWARD = 4.0  # points that a new network predicts for every move; the values keep an error of it for long

State = Any  # latent state or afterstate: a pytree with a leading batch axis; both have the same structure


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

    # True if the dynamics learn from reconstruction only: value, policy and chance losses stop at the latent.
    grounded = False
    # Part (as in the metrics) -> names of its parameters; some exist only with certain configs.
    parts: ClassVar[Mapping[str, tuple[str, ...]]]
    # The n-tuple network in the value of a grounded model, if any.
    value_tables: ValueTables | None = None
    # The predictor of the consistency loss, if a latent model is trained with it.
    predictor: nnx.Module | None = None

    def __init__(self, config: MuZeroConfig):
        self.codec: ValueCodec = config.value
        self.reward_codec: ValueCodec = config.reward_codec
        self.tile_levels = config.board_network.tile_levels
        self.codes, self.spawn_codes = config.chance.codes, config.spawn_codes
        self.chance_encoder = CHANCE_ENCODERS[config.chance.encoder]

    def representation(self, cells: UInt8[Array, "B O"]) -> State:
        """h: return the latent state of observations (muzero2048/game/env.py); in 2048 of boards of O = N cells."""
        raise NotImplementedError

    def prediction(self, state: State) -> Prediction:
        """f: predict policy and value of states."""
        raise NotImplementedError

    def afterstate_dynamics(self, state: State, action: Int[Array, "B"]) -> tuple[State, Any]:
        """phi: predict afterstates; the second output is the input of `reward`."""
        raise NotImplementedError

    def afterstate_prediction(self, afterstate: State) -> AfterstatePrediction:
        """psi: predict chance distribution and value of afterstates."""
        raise NotImplementedError

    def represent_afterstate(
        self, cells: UInt8[Array, "B O"], action: Int[Array, "B"], afterstate_cells: UInt8[Array, "B O"]
    ) -> State:
        """Return the latent of the afterstate of true boards; by default phi(h(o), a).

        The default is for models whose h was never trained on afterstates.
        """
        return self.afterstate_dynamics(self.representation(cells), action)[0]

    def dynamics(self, afterstate: State, code: Float[Array, "B C"]) -> State:
        """g: predict the state after the chance event of the (one-hot) code."""
        raise NotImplementedError

    def reward(self, reward_head: Any) -> Float[Array, "B"]:
        """Return the reward in points; by default the decoded logits."""
        return self.reward_codec.decode(reward_head)

    def reward_loss(self, reward_head: Any, target: Float[Array, "B"]) -> Float[Array, "B"]:
        """Compute the loss of the reward, by default cross-entropy; the target is the true reward in points."""
        return self.reward_codec.loss(reward_head, target)

    def decode(self, latent: State) -> Float[Array, "B N tile_levels"]:
        """Return logits of the tile in each cell of a state or an afterstate (grounded models)."""
        raise NotImplementedError

    def inconsistency(self, predicted: State, true: State) -> Float[Array, "B"]:
        """Compute the distance of predicted latents from those of the true boards (latent models with a predictor)."""
        raise NotImplementedError

    def afterstate_inconsistency(self, afterstate: State, true: State) -> Float[Array, "B"]:
        """Compute the distance of predicted afterstates from the latents of the boards after the chance event.

        By default that of `inconsistency`; a model that knows where chance acted can leave out that part.
        """
        return self.inconsistency(afterstate, true)

    def encode(self, observed: Observed) -> Float[Array, "B C"]:
        """e: return logits of the chance codes of observed transitions (learned encoder)."""
        raise NotImplementedError


def cosine_distance(x: Float[Array, "*B D"], y: Float[Array, "*B D"]) -> Float[Array, "*B"]:
    """Return 1 - cos(x, y)."""
    scale = jnp.sqrt(jnp.sum(x**2, axis=-1) * jnp.sum(y**2, axis=-1) + 1e-12)
    return 1.0 - jnp.sum(x * y, axis=-1) / scale
