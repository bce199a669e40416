"""Tests of the models on a game whose observations have hint and bag."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from muzero2048.models.cells import CellsModel
from muzero2048.models.chance_encoders import CHANCE_ENCODERS, Observed
from muzero2048.muzero.config import ChanceConfig, LossWeights, MuZeroConfig
from muzero2048.networks.config import NetworkConfig
from tests.muzero2048.toy_model import NETWORKS, random_model, small_config
from tests.settings import configured
from tests.slow import others_slow

LOSSES = LossWeights(consistency=1.0, afterstate_consistency=1.0)
SEEN = jnp.array([[1, 2, 0, 0, 3, 0, hint, 1, 1, 0] for hint in (1, 2, 3)], jnp.uint8)
NETWORKS_OF_FAMILY = {
    **{kind: network for kind, network in NETWORKS.items() if network.model != "grounded"},
    "cnn_3x3": NetworkConfig(model="latent", trunk="cnn_3x3"),
    "tower": configured(NetworkConfig, model="latent", latent={"encoder": "tower"}),
    "se_resnet_tower": configured(NetworkConfig, model="latent", trunk="se_resnet", latent={"encoder": "tower"}),
}


def config_of(kind: str = "cells", **changes: object) -> MuZeroConfig:
    """Return a config of Threes! on 2x3 cells with four codes a cell."""
    network = configured(NETWORKS_OF_FAMILY[kind], blocks=1, width=16)
    settings = {"chance": ChanceConfig("learned", 24), "losses": LOSSES, **changes}
    return small_config(game="threes", **{"network": network, **settings})


@pytest.mark.parametrize("kind", others_slow(NETWORKS_OF_FAMILY, "residual_mlp", "cnn_3x3", "tower", "cells"))
def test_all_functions_read_the_hint(kind: str) -> None:
    model = random_model(config_of(kind), seed=0)
    state = model.representation(SEEN)
    afterstate, reward = model.afterstate_dynamics(state, jnp.array([3, 3, 3]))
    following = model.dynamics(afterstate, jax.nn.one_hot(jnp.array([5, 5, 5]), 24))
    outputs = [model.prediction(state), reward, model.afterstate_prediction(afterstate), model.prediction(following)]
    observed = Observed(SEEN, jnp.array([3, 3, 3]), SEEN, SEEN, jnp.zeros(3, jnp.int32))
    for output in jax.tree.leaves([*outputs, model.encode(observed)]):
        rows = np.asarray(output)
        assert np.isfinite(rows).all()
        assert len(np.unique(rows.round(6), axis=0)) == 3, kind


@pytest.mark.parametrize("code_input", ["cell", "dense"])
def test_a_code_changes_its_cell_and_the_context(code_input: str) -> None:
    network = configured(NETWORKS["cells"], blocks=1, width=16, cells={"code_input": code_input})
    model = random_model(config_of(network=network), seed=1)
    assert isinstance(model, CellsModel)
    afterstate, _ = model.afterstate_dynamics(model.representation(SEEN[:1]), jnp.array([3]))
    assert afterstate.shape[1] == 7
    ways = [model.dynamics(afterstate, jax.nn.one_hot(jnp.array([code]), 24))[0] for code in (8, 9)]
    changed = np.abs(np.asarray(ways[0] - ways[1])).max(axis=-1) > 1e-6
    expected = [i in (2, 6) for i in range(7)] if code_input == "cell" else [True] * 7
    assert changed.tolist() == expected


@pytest.mark.parametrize("alike", ["code_vectors", "context_vectors"])
def test_surprise_names_the_cell_and_tells_hints_apart(alike: str) -> None:
    """The code is of the cell that changed, and of the way for which g is exact in cell and context.

    The ways are alike in one of the two, so the other one alone tells them apart.
    """
    model = random_model(config_of(chance=ChanceConfig("surprise", 24)), seed=2)
    assert isinstance(model, CellsModel)
    model.predictor = lambda x: x
    vectors = getattr(model, alike)
    vectors[...] = jnp.broadcast_to(vectors[...][:1], vectors[...].shape)
    turn = jnp.zeros(1, jnp.int32)
    afterstate, _ = model.afterstate_dynamics(model.representation(SEEN[:1]), jnp.array([3]))
    for cell in range(6):
        for way in range(4):
            following = model.dynamics(afterstate, jax.nn.one_hot(jnp.array([4 * cell + way]), 24))
            others = jnp.arange(7)[None, :, None]
            true = jnp.where((others == cell) | (others == 6), following, afterstate)
            assert int(jnp.argmax(model._surprise(afterstate, true, turn))) == 4 * cell + way


def test_the_oracle_needs_a_code_for_every_event() -> None:
    assert set(CHANCE_ENCODERS) >= {"oracle", "surprise", "learned"}
    with pytest.raises(ValueError, match=r"chance.codes is 24; give 54 or more"):
        config_of("residual_mlp", chance=ChanceConfig("oracle", 24))
    assert config_of("residual_mlp", chance=ChanceConfig("oracle", 54)).spawn_codes == 54
