"""Tests of the checks of the config, and of the sizes computed from it."""

import dataclasses
import math

import pytest

from muzero2048.muzero.config import ChanceConfig, LossWeights, MuZeroConfig, RewardConfig
from muzero2048.networks.config import NetworkConfig
from muzero2048.networks.value_codec import ValueCodec
from muzero2048.search.config import SearchConfig
from muzero2048.training.config import ReplayConfig
from ntuple.core.settings import without_effect
from tests.settings import configured

GOOD = MuZeroConfig(
    env_steps=10_000, report_env_steps=100, num_envs=8, chunk=16, replay=ReplayConfig(capacity=1280, batch_size=64)
)


def test_sizes_that_follow() -> None:
    assert GOOD.chunk_moves == 128
    assert GOOD.updates_per_chunk == 2
    assert GOOD.total_updates == 156  # 2 in each of 79 chunks, the last one begun by 16 moves, without the first one
    assert dataclasses.replace(GOOD, env_steps=1).total_updates == 2  # a round is made for any budget
    fresh = ReplayConfig(capacity=1280, batch_size=64, fresh_steps=2, fresh_long_steps=30, fresh_long_weight=0.25)
    later = dataclasses.replace(GOOD, replay=fresh)
    assert later.replay.fresh_returns == {2: 0.75, 30: 0.25}
    assert later.sequence == 36
    assert later.filling_chunks == 3
    assert later.total_updates == 152  # the first three chunks have no updates
    full = dataclasses.replace(GOOD, replay=fresh, learning_starts=1300)
    assert full.filling_chunks == 10  # whole chunks of 128
    assert full.total_updates == 138


def test_a_long_return_is_longer() -> None:
    with pytest.raises(ValueError, match=r"replay\.fresh_long_steps is 6; give more than"):
        ReplayConfig(fresh_steps=6, fresh_long_steps=6)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"chance": ChanceConfig("oracle", 31)}, "chance.codes is 31; give 32 or more"),
        (
            {"network": NetworkConfig(model="cells"), "chance": ChanceConfig("learned", 40)},
            "chance.codes is 40; give a multiple of 16, the cells of the board",
        ),
        (
            {"network": NetworkConfig(model="cells"), "chance": ChanceConfig("oracle", 48)},
            "chance.codes is 48; give 32: the oracle has a code for each spawn, with network.cells.code_input=cell",
        ),
        ({"replay": ReplayConfig(capacity=1280, batch_size=256)}, "0.5 updates a chunk"),
        ({"replay": ReplayConfig(capacity=1280, batch_size=48)}, "whole number of at least 1"),
        ({"replay": ReplayConfig(capacity=1281, batch_size=64)}, "multiple of num_envs"),
        ({"unroll_steps": 160}, "replay.capacity is 1280; give at least 1408: a sequence of 161 moves of each game"),
        (
            {"replay": ReplayConfig(capacity=1280, batch_size=64, fresh_steps=155)},
            "replay.capacity is 1280; give at least 1408: a sequence of 161 moves of each game",
        ),
        (
            {"unroll_steps": 120, "env_steps": 1024},
            "env_steps is 1024; give more than 1024: before, no game has a sequence of 121 moves",
        ),
        ({"learning_starts": 10_000}, "learning_starts is 10000; give less than env_steps = 10000"),
        (
            {"replay": ReplayConfig(capacity=1280, batch_size=64, fresh_steps=2, reanalyse=0.5)},
            "replay.reanalyse is 0.5; give 0: with replay.fresh_steps a batch would have two kinds of targets",
        ),
        ({"optimistic_value": 2e5}, "optimistic_value is 200000.0; give 0 to 1785.*raise value.h_max"),
        ({"network": NetworkConfig(model="grounded"), "losses": LossWeights(consistency=1.0)}, "losses.consistency"),
    ],
)
def test_what_does_not_fit_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        dataclasses.replace(GOOD, **changes)
    assert "\n" not in str(error.value)


def test_the_smallest_capacity_and_budget_that_are_named() -> None:
    """A sequence of 161 moves of 8 games: 11 chunks of 128 moves fill the buffer, and the budget has one more move."""
    config = dataclasses.replace(GOOD, unroll_steps=160, env_steps=1409, replay=ReplayConfig(1408, 64))
    assert config.total_updates == config.updates_per_chunk


@pytest.mark.parametrize(
    ("shape", "codes", "code_input"), [((4, 4), 48, "cell"), ((2, 3), 18, "cell"), ((4, 4), 40, "dense")]
)
def test_codes_of_a_model_of_cells(shape: tuple[int, int], codes: int, code_input: str) -> None:
    """Whole numbers of codes for each cell are accepted, and any number if a code writes into all cells."""
    network = configured(NetworkConfig, model="cells", cells={"code_input": code_input})
    chance = ChanceConfig("learned", codes)
    assert dataclasses.replace(GOOD, rows=shape[0], columns=shape[1], network=network, chance=chance).chance == chance


def test_a_model_of_cells_has_no_trunk_of_that_name() -> None:
    """Its trunk and the keys of that trunk have no effect, and it need not fit the board."""
    network = configured(NetworkConfig, model="cells", trunk="tuples", blocks=2, tuple_trunk={"width": 4})
    idle = without_effect(dataclasses.replace(GOOD, network=network))
    assert idle.keys() == {"network.trunk", "network.tuple_trunk.width"}
    assert idle["network.trunk"] == "network.trunk = tuples has no effect: it needs network.model=latent|grounded"
    network = NetworkConfig(model="cells", trunk="cnn_2x2")
    small = dataclasses.replace(GOOD, rows=2, columns=3, chance=ChanceConfig("learned", 18), network=network)
    assert small.network == network
    with pytest.raises(ValueError, match="leave nothing of 2x3 cells"):
        dataclasses.replace(small, network=dataclasses.replace(network, model="latent"))


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


OUTSIDE: dict[str, tuple[object, ...]] = {
    "rows": (5,), "columns": (1,), "discount": (0.0, 1.1), "td_lambda": (-0.1, 1.5), "unroll_steps": (0,),
    "num_envs": (0,), "chunk": (0,), "td_steps": (0,), "env_steps": (0,), "report_env_steps": (0,),
    "ema_decay": (1.0, -0.1), "optimistic_value": (-1.0,),
    "value.bins": (1,), "value.h_max": (0.0, -1.0), "value.smoothing": (0.0, -0.5),
    "network.blocks": (0,), "network.width": (0,), "network.grounded.cell_width": (0,),
    "network.grounded.line_width": (0,), "network.tuple_trunk.width": (0,), "network.tile_levels": (1, 33),
    "search.simulations": (0,), "search.gumbel.considered_actions": (0, 5), "search.range_floor": (0.0,),
    "search.value_scale": (0.0,), "search.gumbel_scale": (-1.0,), "search.gumbel.c_visit": (-1.0,),
    "search.gumbel.c_scale": (-1.0,), "search.puct.c_base": (0.0,), "search.puct.c_init": (-1.0,),
    "search.puct.dirichlet_alpha": (0.0,), "search.puct.dirichlet_fraction": (1.1, -0.1),
    "search.puct.temperature_steps": (
        [[0.0, 1.0]], [[1.0, 0.5]], [[0.5, 0.1], [0.2, 0.0]], [[0.5, -0.1]], [[0.5, 1e7]],
    ),
    "replay.capacity": (0,), "replay.batch_size": (0,), "replay.ratio": (0.0, math.inf),
    "replay.priority_exponent": (-1.0,), "replay.importance_exponent": (-1.0, 1.0), "replay.reanalyse": (-0.1, 1.1),
    "optimizer.learning_rate_steps": (((0.7, 1e-4), (0.3, 1e-5)), ((1.0, 1e-4),), ((0.5, 0.0),)),
}  # fmt: skip


@pytest.mark.parametrize("key", OUTSIDE)
def test_values_next_to_a_range_are_refused(key: str) -> None:
    *groups, last = key.split(".")
    for value in OUTSIDE[key]:
        changes: dict[str, object] = {last: value}
        for name in reversed(groups):
            changes = {name: changes}
        with pytest.raises(ValueError, match=rf"{key}(\[\d\])* is .*; give (?!a multiple)"):
            configured(GOOD, **changes)


@pytest.mark.parametrize("changes", [{"normalization": "tree"}, {"chance": "weighted"}, {"read_out": "expectimax"}])
def test_options_that_mctx_has_not(changes: dict[str, str]) -> None:
    [name] = changes
    with pytest.raises(ValueError, match=rf"search\.{name} is .*search\.engine"):
        configured(SearchConfig, engine="mctx", **changes)


@pytest.mark.parametrize(("share", "sequences"), [(0.0, 0), (1e-6, 1), (0.07, 7), (1.0, 100)])
def test_sequences_that_are_searched_anew(share: float, sequences: int) -> None:
    assert ReplayConfig(batch_size=100, reanalyse=share).reanalysed == sequences


def test_a_ratio_that_floats_miss_by_a_hair() -> None:
    """100 moves * 1.1 / 10 is exactly 11 updates; in floating point the result differs slightly from 11."""
    replay = ReplayConfig(capacity=1000, batch_size=10, ratio=1.1)
    assert dataclasses.replace(GOOD, num_envs=10, chunk=10, replay=replay).updates_per_chunk == 11
