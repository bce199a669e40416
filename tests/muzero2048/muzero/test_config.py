"""Tests of the checks of the config, and of the sizes computed from it."""

import dataclasses
import math

import pytest

from muzero2048.muzero.config import ChanceConfig, LossWeights, MuZeroConfig, RewardConfig
from muzero2048.networks.config import NetworkConfig
from muzero2048.networks.value_codec import ValueCodec
from muzero2048.search.config import SearchConfig
from muzero2048.training.config import ReplayConfig
from tests.settings import configured

GOOD = MuZeroConfig(
    env_steps=10_000, report_env_steps=100, num_envs=8, chunk=16, replay=ReplayConfig(capacity=1280, batch_size=64)
)


def test_sizes_that_follow() -> None:
    assert GOOD.chunk_moves == 128
    assert GOOD.updates_per_chunk == 2
    assert GOOD.total_updates == 156  # 2 in each of 78 whole chunks
    assert dataclasses.replace(GOOD, env_steps=1).total_updates == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rows": 5}, "rows is 5; give 2 to 4"),
        ({"columns": 1}, "columns is 1; give 2 to 4"),
        ({"discount": 0.0}, "discount is 0.0; give a number in "),
        ({"discount": 1.1}, "discount is 1.1; give a number in "),
        ({"td_lambda": -0.1}, "td_lambda is -0.1; give a number in "),
        ({"td_lambda": 1.5}, "td_lambda is 1.5; give a number in "),
        *(
            ({name: 0}, f"{name} is 0; give 1 ")
            for name in ("unroll_steps", "num_envs", "chunk", "td_steps", "env_steps")
        ),
        ({"report_env_steps": 0}, "report_env_steps"),
        ({"chance": ChanceConfig("oracle", 31)}, "chance.codes is 31; give 32 or more"),
        (
            {"network": NetworkConfig(model="cells"), "chance": ChanceConfig("learned", 40)},
            "chance.codes is 40; give a multiple of 16, the cells of the board",
        ),
        (
            {"network": NetworkConfig(model="cells"), "chance": ChanceConfig("oracle", 48)},
            "chance.codes is 48; give 32: with network.cells.code_input=cell the oracle has two codes a cell",
        ),
        ({"replay": ReplayConfig(capacity=1280, batch_size=256)}, "0.5 updates a chunk"),
        ({"replay": ReplayConfig(capacity=1280, batch_size=48)}, "whole number of at least 1"),
        ({"replay": ReplayConfig(capacity=1281, batch_size=64)}, "multiple of num_envs"),
        ({"unroll_steps": 16}, "chunk is 16; give more than unroll_steps = 16"),
        (
            {"replay": ReplayConfig(capacity=1280, batch_size=64, fresh_steps=11)},
            "chunk is 16; give more than unroll_steps . replay.fresh_steps = 16",
        ),
        (
            {"replay": ReplayConfig(capacity=1280, batch_size=64, fresh_steps=2, reanalyse=0.5)},
            "replay.reanalyse is 0.5; give 0: with replay.fresh_steps a batch would have two kinds of targets",
        ),
        ({"ema_decay": 1.0}, "ema_decay is 1.0"),
        ({"ema_decay": -0.1}, "ema_decay is -0.1"),
        ({"optimistic_value": -1.0}, "optimistic_value is -1.0; give a number in"),
        ({"optimistic_value": 2e5}, "optimistic_value is 200000.0; give 0 to 1785.*raise value.h_max"),
        ({"network": NetworkConfig(model="grounded"), "losses": LossWeights(consistency=1.0)}, "losses.consistency"),
    ],
)
def test_what_does_not_fit_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        dataclasses.replace(GOOD, **changes)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("shape", "codes", "code_input"), [((4, 4), 48, "cell"), ((2, 3), 18, "cell"), ((4, 4), 40, "dense")]
)
def test_codes_of_a_model_of_cells(shape: tuple[int, int], codes: int, code_input: str) -> None:
    """Whole numbers of codes for each cell are accepted, and any number if a code writes into all cells."""
    network = configured(NetworkConfig, model="cells", cells={"code_input": code_input})
    chance = ChanceConfig("learned", codes)
    assert dataclasses.replace(GOOD, rows=shape[0], columns=shape[1], network=network, chance=chance).chance == chance


def test_the_support_of_the_reward() -> None:
    """Without points of its own the reward has the support of the value; coding and decoding are always the value's."""
    value = ValueCodec(31, 100.0, "mean_of_inverse", "hl_gauss", 0.5)
    own = dataclasses.replace(GOOD, value=value, reward=RewardConfig(bins=11, h_max=20.0)).reward_codec
    assert own == ValueCodec(11, 20.0, "mean_of_inverse", "hl_gauss", 0.5)
    assert dataclasses.replace(GOOD, value=value, reward=RewardConfig(h_max=20.0)).reward_codec == value
    with pytest.raises(ValueError, match=r"^reward\.bins is 1; give 0, or at least 2"):
        RewardConfig(bins=1)
    with pytest.raises(ValueError, match=r"^reward\.h_max is 1"):  # the smallest reward is 4 points: h = 1.24
        RewardConfig(bins=11, h_max=1.0)


@pytest.mark.parametrize("name", ["blocks", "width", "grounded.cell_width", "grounded.line_width", "tuple_trunk.width"])
def test_empty_layers_are_refused(name: str) -> None:
    group, _, last = name.rpartition(".")
    with pytest.raises(ValueError, match=f"network.{name} is 0"):
        configured(NetworkConfig, **({group: {last: 0}} if group else {last: 0}))


@pytest.mark.parametrize("levels", [1, 33])
def test_tile_levels(levels: int) -> None:
    with pytest.raises(ValueError, match="tile_levels"):
        NetworkConfig(tile_levels=levels)


@pytest.mark.parametrize(
    "changes", [{"simulations": 0}, {"considered_actions": 0}, {"considered_actions": 5}, {"range_floor": 0.0},
                {"value_scale": 0.0}, {"c_base": 0.0}, {"dirichlet_alpha": 0.0}, {"dirichlet_fraction": 1.1},
                {"dirichlet_fraction": -0.1}, {"gumbel_scale": -1.0}, {"c_visit": -1.0}, {"c_scale": -1.0},
                {"c_init": -1.0}, {"engine": "mctx", "normalization": "tree"},
                {"engine": "mctx", "chance": "weighted"}, {"engine": "mctx", "read_out": "expectimax"}],
)  # fmt: skip
def test_search(changes: dict[str, float | str]) -> None:
    with pytest.raises(ValueError, match=r"search\.") as error:
        configured(SearchConfig, **changes)
    assert all(name in str(error.value) for name in changes)


@pytest.mark.parametrize("steps", [[[0.0, 1.0]], [[1.0, 0.5]], [[0.5, 0.1], [0.2, 0.0]], [[0.5, -0.1]], [[0.5, 1e7]]])
def test_steps_of_the_temperature(steps: list[list[float]]) -> None:
    with pytest.raises(ValueError, match=r"search\.puct\.temperature_steps.* is .*; give (ascending|a number in)"):
        configured(SearchConfig, puct={"temperature_steps": steps})


@pytest.mark.parametrize(
    "changes", [{"capacity": 0}, {"batch_size": 0}, {"ratio": 0.0}, {"priority_exponent": -1.0},
                {"importance_exponent": -1.0}, {"importance_exponent": 1.0}, {"ratio": math.inf}, {"reanalyse": -0.1},
                {"reanalyse": 1.1}],
)  # fmt: skip
def test_replay(changes: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"replay\.") as error:
        ReplayConfig(**changes)
    assert all(name in str(error.value) for name in changes)


@pytest.mark.parametrize(("share", "sequences"), [(0.0, 0), (1e-6, 1), (0.07, 7), (1.0, 100)])
def test_sequences_that_are_searched_anew(share: float, sequences: int) -> None:
    assert ReplayConfig(batch_size=100, reanalyse=share).reanalysed == sequences


def test_a_ratio_that_floats_miss_by_a_hair() -> None:
    """100 moves * 1.1 / 10 is exactly 11 updates; in floating point the result differs slightly from 11."""
    replay = ReplayConfig(capacity=1000, batch_size=10, ratio=1.1)
    assert dataclasses.replace(GOOD, num_envs=10, chunk=10, replay=replay).updates_per_chunk == 11
