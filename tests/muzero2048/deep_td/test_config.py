"""Tests of the checks of the config."""

import dataclasses
import math

import pytest

from muzero2048.deep_td.config import EpsilonConfig
from muzero2048.networks.config import NetworkConfig
from muzero2048.training.config import ReplayConfig
from ntuple.core.settings import without_effect
from tests.settings import configured

from .toy_network import small_config

GOOD = small_config()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rows": 5}, "rows is 5; give 2 to 4"),
        ({"network": NetworkConfig(trunk="cnn_2x2")}, "network.trunk is 'cnn_2x2'; give cnn_3x3"),
        ({"network": NetworkConfig(model="grounded")}, "network.model is 'grounded'"),
        (
            {"network": configured(NetworkConfig, action_input="outer")},
            "network.latent.action_input is 'outer'; give nothing: deep_td has no model of the game",
        ),
        *(({"replay": ReplayConfig(capacity=512, batch_size=64, **{name: 0.5})}, f"replay.{name} is 0.5")
          for name in ("priority_exponent", "reanalyse")),
        ({"replay": ReplayConfig(capacity=500, batch_size=64)}, "multiple of num_envs"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        dataclasses.replace(GOOD, **changes)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"epsilon": 1.1}, "epsilon is 1.1"),
        ({"epsilon": 0.1, "final_epsilon": 0.2}, "final_epsilon is 0.2"),
        ({"final_epsilon": -0.1}, "final_epsilon is -0.1"),
        ({"decay": 0.0}, "decay is 0.0"),
        ({"decay": 1.5}, "decay is 1.5"),
    ],
)
def test_exploration(changes: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=f"exploration.{message}"):
        EpsilonConfig(**changes)


def test_convolutions_of_2x2_fit_from_3x3() -> None:
    network = NetworkConfig(trunk="cnn_2x2")
    assert dataclasses.replace(GOOD, rows=3, columns=3, network=network).network == network
    with pytest.raises(ValueError, match="leave nothing of 2x2 cells"):
        small_config(rows=2, columns=2, network=network)


@pytest.mark.parametrize(
    ("trunk", "idle"),
    [("residual_mlp", []), ("se_resnet", []), ("tuples", []), ("cnn_3x3", ["network.blocks"])],
)
def test_blocks_are_those_of_the_trunk(trunk: str, idle: list[str]) -> None:
    assert [*without_effect(configured(GOOD, network={"trunk": trunk, "blocks": 2}))] == idle


def test_a_scalar_has_no_support_to_leave() -> None:
    assert dataclasses.replace(GOOD, output="scalar", optimistic_value=1e7).largest_value == math.inf
    with pytest.raises(ValueError, match=r"raise value\.h_max"):
        dataclasses.replace(GOOD, output="categorical", optimistic_value=1e7)
