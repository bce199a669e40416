"""The latent model: h, phi and g are residual towers, trained by value equivalence, as published.

With the trunk residual_mlp it is the model of Stochastic MuZero (appendix C), with se_resnet that of Guei 2023, sec.
4.4.3; both have a tower as encoder too (network.latent.encoder). With any other trunk, h is this trunk and the dynamics
are residual MLPs. Options that are not in the published form: separate weights for each action
(network.latent.action_input), and a consistency loss (losses.consistency).
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float, Int, UInt8

from muzero2048.models.base import FIRST_REWARD, AfterstatePrediction, Model, Prediction, cosine_distance
from muzero2048.models.chance_encoders import Observed
from muzero2048.muzero.config import MuZeroConfig
from muzero2048.networks.board_lines import with_context
from muzero2048.networks.trunks import Head, Tower, by_place, inputs_by_place, make_trunk, planes, value_initializers


class LatentModel(Model):
    """MuZero with an abstract latent state of `width` features, or H x W x width (se_resnet)."""

    parts: ClassVar = {
        "representation": ("h",),
        "dynamics": ("phi", "g", "reward_head", "predictor"),
        "prediction": ("policy_head", "value_head", "chance_head", "afterstate_value_head"),
        "encoder": ("encoder",),
    }

    def __init__(self, config: MuZeroConfig, rngs: nnx.Rngs):
        super().__init__(config)
        network, num_cells, more = config.board_network, config.rows * config.columns, config.more_inputs
        self.h = make_trunk(network, (config.rows, config.columns), rngs, more)
        self.outer = network.latent.action_input == "outer"
        self.phi = Tower(4 * network.width if self.outer else network.width + 4, network, rngs)
        self.g = Tower(network.width + self.codes, network, rngs)
        places = num_cells if network.convolutional else 1
        self.encoder_places = (config.rows, config.columns) if network.convolutional else ()
        self.tower_encodes = network.latent.encoder == "tower"
        if self.chance_encoder.has_network and self.tower_encodes:
            seen = inputs_by_place(self.encoder_places, num_cells, more, 2 * self.tile_levels)
            tower = Tower(seen + 4, network, rngs)
            self.encoder = nnx.Sequential(tower, Head(network, places, self.codes, rngs))
        elif self.chance_encoder.has_network:
            inputs = 2 * (num_cells + more) * self.tile_levels + 4
            self.encoder = nnx.Sequential(
                nnx.Linear(inputs, 128, rngs=rngs), nnx.relu, nnx.Linear(128, self.codes, rngs=rngs)
            )
        bins, initializers = config.value.bins, value_initializers(config.value, config.optimistic_value)
        self.policy_head = Head(network, places, 4, rngs)
        self.value_head = Head(network, places, bins, rngs, **initializers)
        self.chance_head = Head(network, places, self.codes, rngs)
        self.afterstate_value_head = Head(network, places, bins, rngs, **initializers)
        self.reward_head = Head(
            network, places, self.reward_codec.bins, rngs, **value_initializers(self.reward_codec, FIRST_REWARD)
        )
        if config.losses.consistency > 0:
            self.predictor = nnx.Sequential(
                Head(network, places, network.width, rngs),
                nnx.relu,
                nnx.Linear(network.width, places * network.width, rngs=rngs),
            )

    def representation(self, cells: UInt8[Array, "B O"]) -> Float[Array, "B *S width"]:
        """h: apply the trunk to the tiles of the board."""
        return self.h(cells)

    def prediction(self, state: Float[Array, "B *S width"]) -> Prediction:
        """f: apply the policy head and the value head."""
        return Prediction(self.policy_head(state), self.value_head(state))

    def afterstate_dynamics(
        self, state: Float[Array, "B *S width"], action: Int[Array, "B"]
    ) -> tuple[Float[Array, "B *S width"], Float[Array, "B bins"]]:
        """phi: apply the tower to state and action (network.latent.action_input); second output: reward logits."""
        one_hot = jax.nn.one_hot(action, 4)
        afterstate = self.phi(_outer(state, one_hot) if self.outer else with_context(state, one_hot))
        return afterstate, self.reward_head(afterstate)

    def afterstate_prediction(self, afterstate: Float[Array, "B *S width"]) -> AfterstatePrediction:
        """psi: apply the chance head and the value head."""
        return AfterstatePrediction(self.chance_head(afterstate), self.afterstate_value_head(afterstate))

    def dynamics(self, afterstate: Float[Array, "B *S width"], code: Float[Array, "B C"]) -> Float[Array, "B *S width"]:
        """g: apply the tower to the afterstate with the code appended."""
        return self.g(with_context(afterstate, code))

    def encode(self, observed: Observed) -> Float[Array, "B C"]:
        """e: apply the encoder (network.latent.encoder), which reads both observations and the action."""
        before, after = (planes(x, self.tile_levels) for x in (observed.cells, observed.next_cells))
        boards = jnp.concatenate([before, after], axis=-1 if self.tower_encodes else -2)
        inputs = by_place(boards, self.encoder_places if self.tower_encodes else ())
        return self.encoder(with_context(inputs, jax.nn.one_hot(observed.action, 4)))

    def inconsistency(
        self, predicted: Float[Array, "B *S width"], true: Float[Array, "B *S width"]
    ) -> Float[Array, "B"]:
        """Compute 1 - cos(q(s), s'), with q a small network (SimSiam; Ye et al. 2021, EfficientZero, sec. 4.1)."""
        assert self.predictor is not None
        guess = self.predictor(predicted)
        return cosine_distance(guess, true.reshape(guess.shape).astype(jnp.float32))


def _outer(x: Float[Array, "B *S width"], context: Float[Array, "B D"]) -> Float[Array, "B *S width_times_D"]:
    """Return the flattened outer product of the features of every place and the context vector."""
    spread = context.reshape(len(x), *(1,) * (x.ndim - 2), -1, 1).astype(x.dtype)
    return (x[..., None, :] * spread).reshape(*x.shape[:-1], -1)
