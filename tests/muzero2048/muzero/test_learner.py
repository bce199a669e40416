"""Tests of the learner through the interface of the training loop: progress, metrics, (damaged) checkpoints."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import jax
import numpy as np
import pytest

from launch.experiment.metrics import REGISTRY
from muzero2048.muzero import learner as learner_module
from muzero2048.muzero.config import MuZeroConfig
from muzero2048.muzero.diagnosis import by_depth
from muzero2048.muzero.learner import MuZeroLearner
from muzero2048.muzero.network_player import load_muzero_player
from muzero2048.muzero.train_step import make_learner
from muzero2048.networks.config import NetworkConfig
from muzero2048.training import base_learner
from tests.muzero2048.toy_model import shared_learner, small_config
from tests.settings import configured

CONFIG = small_config(rows=2, columns=2)
Run = tuple[MuZeroLearner, Path, dict[str, float], dict[str, float]]


@pytest.fixture(scope="module", autouse=True)
def _compile_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(learner_module, "make_learner", shared_learner)
        yield


def weights(learner: MuZeroLearner) -> list[np.ndarray]:
    return [np.array(x) for x in jax.tree.leaves(learner.player()._params)]


def trained(metrics: dict[str, float]) -> dict[str, float]:
    """Return the metrics that do not depend on the clock."""
    return {name: value for name, value in metrics.items() if not name.startswith("perf/")}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return a learner after two reports, its checkpoint after the first, and the metrics of both."""
    learner = MuZeroLearner(CONFIG, seed=1)
    assert learner.progress == {"env_steps": 0, "games": 0, "updates": 0}
    assert learner.env_steps_total == 640
    first = learner.advance()
    assert learner.progress["env_steps"] == 256  # the first multiple of a chunk, 128, past 200
    assert learner.progress["updates"] == 2
    assert learner.progress["games"] == first["train/games"]
    folder = tmp_path_factory.mktemp("checkpoint")
    learner.save(folder)
    second = learner.advance()
    assert learner.progress["env_steps"] == 512
    return learner, folder, first, second


def test_metrics(run: Run) -> None:
    for metrics in run[2:]:
        assert set(metrics) <= set(REGISTRY)
        assert not set(metrics) & {"env_steps", "games", "updates", "wall_hours"}
        assert all(type(value) is float and np.isfinite(value) for value in metrics.values())
        assert metrics["train/games"] > 0
        assert abs(metrics["value/bias"]) <= 1.001 * metrics["value/error"]
        assert 0 < metrics["value/return_mean"] < metrics["train/score_mean"]
        assert -1 <= metrics["value/correlation"] <= 1
        assert 0 < metrics["train/score_mean"] <= metrics["train/score_max"] < 1000
        assert {"model/reward_error_all", "swap/q_error", "swap/agreement"} <= set(metrics)


def test_a_checkpoint_continues_to_the_bit(run: Run) -> None:
    learner, folder, _, second = run
    other = MuZeroLearner(CONFIG, seed=99)
    other.restore(folder)
    assert other.progress["env_steps"] == 256
    assert trained(other.advance()) == trained(second)
    assert other.progress == learner.progress
    assert all(np.array_equal(a, b) for a, b in zip(weights(other), weights(learner), strict=True))


def test_a_training_begins_with_the_network_of_another(run: Run) -> None:
    """Play and updates begin with the parameters of the checkpoint; the rest of the training is new."""
    _, folder, _, _ = run
    saved, other = MuZeroLearner(CONFIG, seed=99), MuZeroLearner(CONFIG, seed=99)
    saved.restore(folder)
    other.begin_with(folder, CONFIG)
    assert other.progress == {"env_steps": 0, "games": 0, "updates": 0}
    assert all(np.array_equal(a, b) for a, b in zip(weights(other), weights(saved), strict=True))
    other.advance()
    assert other.progress["updates"] == 2
    wider = dataclasses.replace(CONFIG, value=dataclasses.replace(CONFIG.value, h_max=40.0))
    with pytest.raises(ValueError, match=r"trained with value = ValueCodec\(.*h_max=40.*, the config has ValueCodec"):
        other.begin_with(folder, wider)


def test_a_stop_within_a_report_changes_no_bit(tmp_path: Path) -> None:
    """A training that is stopped after a round, saved and resumed gives the same parameters as one without the stop."""
    config = dataclasses.replace(CONFIG, report_env_steps=600)
    whole, first, second = (MuZeroLearner(config, seed) for seed in (1, 1, 99))
    whole.advance()
    assert whole.progress["env_steps"] == 640
    told: list[int] = []
    metrics = first.advance(lambda moves: told.append(moves) or moves >= 256)
    assert told == [256]  # the first chunk fills the buffer; the first call runs one round
    assert first.progress["env_steps"] == 256
    assert first.within_report
    assert metrics["train/games"] == first.progress["games"] > 0
    assert np.isfinite(metrics["loss/total"])
    first.save(tmp_path)
    second.restore(tmp_path)
    assert second.within_report
    second.advance()
    assert second.progress == whole.progress
    assert not second.within_report
    assert all(np.array_equal(a, b) for a, b in zip(weights(second), weights(whole), strict=True))


@pytest.mark.slow
def test_several_chunks_fill_the_buffer_for_a_long_sequence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """K = 2 and 20 moves after the last one: a sequence of 23 moves needs three chunks of 8, more than a report."""
    monkeypatch.setattr(learner_module, "make_learner", make_learner)
    replay = dataclasses.replace(CONFIG.replay, fresh_steps=2, fresh_long_steps=20)
    config = dataclasses.replace(CONFIG, replay=replay, report_env_steps=200, env_steps=1000)
    learner, other = MuZeroLearner(config, seed=1), MuZeroLearner(config, seed=99)
    told: list[int] = []
    metrics = learner.advance(lambda moves: bool(told.append(moves)))
    assert told == [128, 256, 512]  # a chunk each while the buffer is filled, then a call
    assert learner.progress["env_steps"] == 512  # three chunks, and a round
    assert learner.progress["updates"] == config.updates_per_chunk
    assert metrics["train/games"] == learner.progress["games"] > 20
    assert not learner.within_report
    learner.save(tmp_path)
    other.restore(tmp_path)
    assert trained(other.advance()) == trained(learner.advance())
    assert other.progress == learner.progress


@pytest.mark.parametrize("learning_starts", [0, 300])
@pytest.mark.parametrize("env_steps", [639, 640, 641])
def test_the_planned_updates_are_made(env_steps: int, learning_starts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One chunk of 128 moves, or two, fill the buffer; every later chunk has updates, the last one is whole."""
    config = dataclasses.replace(CONFIG, env_steps=env_steps, learning_starts=learning_starts)
    monkeypatch.setattr(learner_module, "make_learner", lambda _: shared_learner(CONFIG))  # these read neither key
    monkeypatch.setattr(learner_module, "measure", lambda *_: {})
    learner = MuZeroLearner(config, seed=1)
    while learner.progress["env_steps"] < env_steps:
        learner.advance()
    assert learner.progress["updates"] == config.total_updates


def test_metrics_do_not_depend_on_the_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    one, many = MuZeroLearner(CONFIG, seed=1), MuZeroLearner(CONFIG, seed=1)
    one.advance()
    many.advance()
    one._rounds_a_call, many._rounds_a_call = 9, 1
    monkeypatch.setattr(base_learner, "rounds_a_call", lambda rounds, seconds: 1)
    told: list[int] = []
    assert trained(one.advance()) == trained(many.advance(lambda moves: bool(told.append(moves))))
    assert told == [128, 256]


def test_several_processes_make_one_call_a_report(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clocks and signals differ between processes; processes that make different calls would wait forever."""
    learner = MuZeroLearner(CONFIG, seed=1)
    learner.advance()
    monkeypatch.setattr(jax, "process_count", lambda: 2)
    learner._rounds_a_call = 1
    learner.advance(lambda moves: True)
    assert learner.progress["env_steps"] == 512
    assert not learner.within_report


@pytest.mark.parametrize(
    ("rounds", "seconds", "following"), [(1, 60.0, 1), (1, 0.001, 2), (8, 1.0, 12), (8, 0.1, 16), (8, 12.0, 1)]
)
def test_calls_take_a_second_and_a_half(rounds: int, seconds: float, following: int) -> None:
    assert base_learner.rounds_a_call(rounds, seconds) == following


@pytest.mark.slow
def test_tables_averages_and_priorities_continue_to_the_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The checkpoint contains all optional parts of the state. They share one program, because compilation is slow."""
    monkeypatch.setattr("muzero2048.muzero.table_learning.MODEL_IS_RIGHT", 0.0)
    network = configured(small_config("grounded").network, value_tables={"shapes": ("lines", "squares"), "bits": 16})
    config = dataclasses.replace(
        CONFIG, network=network, ema_decay=0.9,
        replay=dataclasses.replace(CONFIG.replay, priority_exponent=1.0, importance_exponent=1.0),
    )  # fmt: skip
    learner = continues_to_the_bit(config, tmp_path)
    weights, coherence = jax.tree.leaves(learner._state.tables.weights)[0], learner._state.tables.coherence
    assert np.count_nonzero(weights) > 20
    assert np.count_nonzero(coherence.absolute) >= np.count_nonzero(weights)


def continues_to_the_bit(config: MuZeroConfig, folder: Path) -> MuZeroLearner:
    """Check that a restored learner gives the same second report; return the first learner."""
    learner, other = MuZeroLearner(config, seed=1), MuZeroLearner(config, seed=99)
    learner.advance()
    learner.save(folder)
    other.restore(folder)
    assert trained(other.advance()) == trained(learner.advance())
    assert all(np.array_equal(a, b) for a, b in zip(weights(other), weights(learner), strict=True))
    return learner


def test_the_player_of_a_checkpoint(run: Run) -> None:
    _, folder, _, _ = run
    learner = MuZeroLearner(CONFIG, seed=99)
    learner.restore(folder)
    games, same = learner.player().play(20, seed=5), load_muzero_player(folder, CONFIG).play(20, seed=5)
    np.testing.assert_array_equal(games.score, same.score)
    np.testing.assert_array_equal(games.moves, same.moves)


def test_the_swap_test_plays_in_the_simulator(run: Run) -> None:
    learner, folder, _, _ = run
    learner = MuZeroLearner(CONFIG, seed=99)
    learner.restore(folder)
    probes = learner.probes()
    assert list(probes) == ["swap"]
    swapped = dataclasses.replace(CONFIG.search, model="simulator")
    games, same = probes["swap"].play(20, seed=5), load_muzero_player(folder, CONFIG, swapped).play(20, seed=5)
    np.testing.assert_array_equal(games.score, same.score)
    assert (games.score != learner.player().play(20, seed=5).score).any()
    assert MuZeroLearner(dataclasses.replace(CONFIG, search=swapped), seed=1).probes() == {}


def test_a_diagnosis_copies_no_buffer(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the boards that are measured are copied, and the parameters; a buffer may fill half of a device."""
    learner, copied = run[0], []
    monkeypatch.setattr(jax, "device_put", lambda x, *_, **__: copied.append(x) or x)
    monkeypatch.setattr(by_depth, "_measure", lambda *arguments: copied.append(arguments[3]) or {})
    assert learner.diagnose() == {}
    params, board = copied
    assert jax.tree.structure(params) == jax.tree.structure(learner._acting(learner._state))
    assert {len(word) for word in board} == {by_depth.REPORTED_BOARDS}


def test_progress_beyond_32_bits(tmp_path: Path) -> None:
    learner = MuZeroLearner(CONFIG, seed=1)
    learner._progress[:] = [10**10, 10**7, 10**7]  # training budget of the published runs
    learner.save(tmp_path)
    learner.restore(tmp_path)
    assert learner.progress["env_steps"] == 10**10


@pytest.mark.parametrize("part", ["parameters", "training"])
def test_damage_is_refused_by_name(run: Run, tmp_path: Path, part: str) -> None:
    learner = MuZeroLearner(CONFIG, seed=1)
    learner.save(tmp_path)
    largest = max((tmp_path / part).rglob("*"), key=lambda file: file.stat().st_size if file.is_file() else -1)
    largest.write_bytes(largest.read_bytes()[: largest.stat().st_size // 2])
    with pytest.raises(ValueError, match=f"{part} is missing or damaged") as error:
        learner.restore(tmp_path)
    assert "\n" not in str(error.value)
    if part == "parameters":
        with pytest.raises(ValueError, match="damaged"):
            load_muzero_player(tmp_path, CONFIG)


def test_a_missing_part_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="parameters is missing") as error:
        load_muzero_player(tmp_path, CONFIG)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "network", [dataclasses.replace(CONFIG.network, width=24), NetworkConfig(model="grounded", width=16)]
)
def test_another_network_is_refused(run: Run, network: NetworkConfig) -> None:
    other = dataclasses.replace(CONFIG, network=network)
    with pytest.raises(ValueError, match="another network or config") as error:
        load_muzero_player(run[1], other)
    assert "\n" not in str(error.value)


@pytest.mark.slow
def test_it_learns_2x2() -> None:
    """Mean scores on 2x2: optimum 66.96, random play 19.66, greedy play 24.04."""
    config = dataclasses.replace(
        small_config(rows=2, columns=2),
        env_steps=300_000,
        report_env_steps=300_000,
        num_envs=64,
        chunk=32,
        discount=1.0,
        network=NetworkConfig(blocks=1, width=64, tile_levels=8),
        replay=dataclasses.replace(CONFIG.replay, capacity=64 * 32 * 10, batch_size=256, ratio=1.0),
    )
    learner = MuZeroLearner(config, seed=0)
    learner.advance()
    games = learner.player().play(1000, seed=0)
    assert games.score.mean() > 50


def test_targets_beyond_the_support_are_worth_a_word(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base_learner, "SATURATION_WARNING", -1.0)
    with pytest.warns(UserWarning, match=r"raise value\.h_max"):
        run[0].advance()
