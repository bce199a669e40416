"""Construction of models by name; the only file that imports all of them."""

from collections.abc import Callable

from flax import nnx
from jaxtyping import PRNGKeyArray

from muzero2048.models.base import Model
from muzero2048.models.cells import CellsModel
from muzero2048.models.grounded import GroundedModel
from muzero2048.models.latent import LatentModel
from muzero2048.muzero.config import MuZeroConfig

MODELS: dict[str, Callable[[MuZeroConfig, nnx.Rngs], Model]] = {
    "latent": LatentModel,
    "cells": CellsModel,
    "grounded": GroundedModel,
}


def make_model(config: MuZeroConfig, seed: int | PRNGKeyArray) -> Model:
    """Make the model that `network.model` names, with new parameters."""
    return MODELS[config.network.model](config, nnx.Rngs(seed))
