import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ntuple import NTupleConfig, NTupleLearner, NTuplePlayer, load_ntuple_player, load_weights
from ntuple.files.checkpoint_file import FORMAT
from ntuple.files.safetensors import write_safetensors
from ntuple.files.stored_network import StoredNetwork, filled_network, load_stored
from ntuple.game.bitboard import make_rules
from ntuple.learning import threads
from ntuple.learning.training_state import save_state
from ntuple.tables.file_order import read_field
from ntuple.tables.network import with_memory
from ntuple.td.config import (
    AutostepConfig,
    BoundaryConfig,
    ExplorationConfig,
    StartConfig,
    StepSizeConfig,
    TargetConfig,
    TCConfig,
)
from ntuple.td.kernel import Training, train
from ntuple.td.state_and_q import KINDS
from ntuple.td.step_sizes import MEMORY_BITS
from tests.ntuple.learning.trainings import CAROUSEL, METHODS, SMALL, TC, TD, learn
from tests.slow import others_slow

FAST = (CAROUSEL, "restart, backward, stages", "averaged, promoted")
VALUES = {kind: replace(SMALL, values=kind, exploration=ExplorationConfig(epsilon=0.1)) for kind in ("state", "action")}


@pytest.mark.parametrize("name", [*others_slow(METHODS, *FAST), *VALUES])
def test_save_and_restore_continue_to_the_bit(tmp_path: Path, name: str) -> None:
    config = (METHODS | VALUES)[name]
    for stop in (1, 3):  # in the first and in the second half of the budget
        whole = NTupleLearner(config, seed=2)
        reports = learn(whole)
        first = NTupleLearner(config, seed=2)
        for _ in range(stop):
            first.advance()
        folder = tmp_path / str(stop)
        folder.mkdir()
        first.save(folder)
        assert sorted(path.name for path in folder.iterdir()) == ["training.safetensors", "weights.safetensors"]
        second = NTupleLearner(config, seed=99)
        second.restore(folder)
        rest = learn(second)
        np.testing.assert_array_equal(second.network.weights, whole.network.weights)
        np.testing.assert_array_equal(second._state.games.rows, whole._state.games.rows)
        assert second.progress == whole.progress
        np.testing.assert_array_equal(second.player().play(20, 1).score, whole.player().play(20, 1).score)
        for report, same in zip(reports[stop:], rest, strict=True):
            same = {key: metric for key, metric in same.items() if not key.startswith("perf/")}
            assert same.items() <= report.items()


def _advance_to_a_slice(learner: NTupleLearner, at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Advance in slices of `threads.SLICE_MOVES`, and request a stop after `at` moves of this call.

    A slice begins only after `tick` was called with the moves of all earlier slices. The result therefore does not
    depend on the timing of threads.
    """
    told, made = {0}, [0]

    def tick(moves: int) -> bool:
        told.add(moves)
        return moves >= at

    def train_when_told(training: Training, moves: int) -> None:
        deadline = time.monotonic() + 30
        while made[0] not in told and time.monotonic() < deadline:
            time.sleep(0.001)
        train(training, moves)
        made[0] += moves

    with monkeypatch.context() as context:
        context.setattr(threads, "TICK_SECONDS", 0.001)
        context.setattr(threads, "train", train_when_told)
        learner.advance(tick)


@pytest.mark.parametrize("name", METHODS)
def test_a_stop_within_a_report_changes_no_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """The training stops about 20 moves after move 3000.

    This is between two reports, two changes of the step-size rule or of exploration, and two networks of the average.
    """
    monkeypatch.setattr(threads, "SLICE_MOVES", 10)
    config = METHODS[name]
    whole, first = NTupleLearner(config, seed=2), NTupleLearner(config, seed=2)
    learn(whole)
    while first.progress["env_steps"] < 3000:
        first.advance()
    assert not first.within_report
    _advance_to_a_slice(first, 20, monkeypatch)
    assert 3020 <= first.progress["env_steps"] <= 3030
    assert first.within_report
    first.save(tmp_path)
    second = NTupleLearner(config, seed=99)
    second.restore(tmp_path)
    assert second.within_report
    second.advance()
    ends = {"averaged": 3040, "averaged, promoted": 3600, CAROUSEL: 3040}
    assert second.progress["env_steps"] == ends.get(name, 4000)
    assert not second.within_report
    learn(second)
    assert second.progress == whole.progress
    np.testing.assert_array_equal(second.network.weights, whole.network.weights)
    np.testing.assert_array_equal(second._state.games.rows, whole._state.games.rows)
    np.testing.assert_array_equal(second.player().play(20, 1).score, whole.player().play(20, 1).score)


@pytest.mark.parametrize("name", ["averaged", "averaged, promoted"])
def test_the_mean_of_the_networks_on_the_way_is_played_and_saved(tmp_path: Path, name: str) -> None:
    config = METHODS[name]
    learner, networks = NTupleLearner(config, seed=1), []
    while learner.progress["env_steps"] < config.env_steps:
        learner.advance()
        if learner.progress["env_steps"] in (600, 1200, 1800, 2400, 3000, 3600, 4000):  # the final network counts too
            networks.append(StoredNetwork(config, read_field(learner.network)).promoted().weights)
    learner.save(tmp_path)
    mean = load_weights(tmp_path, config)
    np.testing.assert_allclose(mean, np.mean(networks, axis=0), rtol=1e-5, atol=1e-3)
    assert not np.array_equal(mean, networks[-1])
    plain = replace(config, promotion="none")
    played = NTuplePlayer(make_rules(3, 3), filled_network(plain, mean), 1).play(20, 3)
    np.testing.assert_array_equal(learner.player().play(20, 3).score, played.score)
    np.testing.assert_array_equal(load_ntuple_player(tmp_path, config).play(20, 3).score, played.score)


def test_a_mean_with_networks_from_before_its_share_of_a_new_budget_is_dropped(tmp_path: Path) -> None:
    """The mean of the moves 600, 1200, ... 3600, 4000 is that of the last 0.9 of 4000 moves."""
    config = METHODS["averaged"]
    learner = NTupleLearner(config, seed=1)
    learn(learner)
    learner.save(tmp_path)
    for changed, is_kept in (
        (config, True),
        (replace(config, env_steps=5000), True),  # from move 500 on
        (replace(config, env_steps=6000), False),  # from move 600 on: the first network is not after it
        (replace(config, env_steps=50_000), False),  # from move 5000 on, which is not reached
        (replace(config, average=replace(config.average, fraction=0.5)), False),
        (replace(config, average=replace(config.average, env_steps=0)), False),
    ):
        resumed = NTupleLearner(changed, seed=1)
        resumed.restore(tmp_path)
        np.testing.assert_array_equal(resumed.network.weights, learner.network.weights)
        state = resumed._state
        assert (state.mean.count, state.played_network is state.network) == ((7, False) if is_kept else (0, True))
    longer = replace(config, env_steps=50_000)
    save_state(learner._state, longer, tmp_path)  # a mean after 4000 moves, though the first network is due at 5400
    resumed = NTupleLearner(longer, seed=1)
    resumed.restore(tmp_path)
    assert resumed._state.mean.count == 0


@pytest.mark.parametrize("config", [SMALL, *VALUES.values()], ids=KINDS)
def test_load_player_plays_like_the_learner(tmp_path: Path, config: NTupleConfig) -> None:
    learner = NTupleLearner(config, seed=4)
    learn(learner)
    learner.save(tmp_path)
    (tmp_path / "training.safetensors").unlink()  # a player needs only the weights
    saved, own = load_ntuple_player(tmp_path, config).play(50, 3), learner.player().play(50, 3)
    np.testing.assert_array_equal(saved.score, own.score)


def test_files_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    learner = NTupleLearner(SMALL, seed=4)
    learner.save(tmp_path)
    with pytest.raises(ValueError, match="network = '012,0134', but the config says '012'"):
        load_ntuple_player(tmp_path, replace(SMALL, network="012"))
    with pytest.raises(ValueError, match="values = 'afterstate', but the config says 'state'"):
        load_ntuple_player(tmp_path, replace(SMALL, values="state"))
    with pytest.raises(ValueError, match="saved by 1 threads"):
        NTupleLearner(replace(SMALL, threads=2), 1).restore(tmp_path)
    weights = tmp_path / "weights.safetensors"
    whole = weights.read_bytes()
    for damaged in (whole[: len(whole) // 2], whole[:5], b"", b"not a checkpoint at all"):
        weights.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"weights\.safetensors: missing or damaged") as caught:
            learner.restore(tmp_path)
        assert "\n" not in str(caught.value)
    for config in ("[1]", "3", "null", '"rows"'):
        write_safetensors(weights, {"weights": np.zeros(3)}, {"format": FORMAT, "config": config})
        with pytest.raises(ValueError, match=r"weights\.safetensors: missing or damaged") as caught:
            learner.restore(tmp_path)
        assert "\n" not in str(caught.value)
    weights.unlink()
    with pytest.raises(ValueError, match="missing or damaged"):
        load_ntuple_player(tmp_path, SMALL)


STEPS, AUTOSTEP = StepSizeConfig(tc=TCConfig(sums="steps")), StepSizeConfig(adaptive="autostep")
SLOWER = replace(AUTOSTEP, autostep=AutostepConfig(first=0.5))


@pytest.mark.parametrize(
    ("saved", "changes", "says"),
    [
        (TC, {"step_size": AUTOSTEP}, "saved with step_size.adaptive = 'tc'"),
        (AUTOSTEP, {"step_size": TC}, "saved with step_size.adaptive = 'autostep'"),
        (TC, {"step_size": STEPS}, "saved with step_size.tc.sums = 'errors'"),
        (AUTOSTEP, {"step_size": SLOWER}, r"saved with step_size.autostep.first = 1\.0, but the config says 0\.5"),
        (TC, {"target": TargetConfig("delayed")}, "boards.0 .* found nothing: set target and start as"),
        (TC, {"start": METHODS[CAROUSEL].start}, "pools.0 .* found nothing: set start as"),
    ],
)
def test_a_resumed_training_keeps_its_adaptive_rule_target_and_start(
    tmp_path: Path, saved: StepSizeConfig, changes: dict[str, Any], says: str
) -> None:
    learner = NTupleLearner(replace(SMALL, step_size=saved), seed=1)
    learner.save(tmp_path)
    before = NTupleLearner(replace(learner.config, step_size=changes.get("step_size", saved)), seed=2)
    before.restore(tmp_path)  # the rule has not begun
    learner._state.network = with_memory(learner.network, MEMORY_BITS[saved.adaptive])
    learner.save(tmp_path)
    with pytest.raises(ValueError, match=rf"^{tmp_path}/training.safetensors: {says}") as caught:
        NTupleLearner(replace(learner.config, **changes), seed=2).restore(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_later_stage_is_trained_alone_behind_a_trained_one(tmp_path: Path) -> None:
    """The first stage is loaded and frozen; only the second stage changes."""
    first = NTupleLearner(SMALL, seed=1)
    learn(first)
    first.save(tmp_path)
    start = StartConfig("boundary", boundary=BoundaryConfig(size=5))
    config = replace(SMALL, stages=(0, 32), frozen_stages=1, v_init=5.0, start=start, step_size=TC)
    config = replace(config, exploration=ExplorationConfig(epsilon=0.1))  # the kernel of CAROUSEL
    learner = NTupleLearner(config, seed=2)
    learner.begin_with(load_stored(tmp_path, SMALL, with_memory=True))
    before = read_field(learner.network).reshape(2, -1)
    np.testing.assert_array_equal(before[0], read_field(first.network))
    assert (before[1] == np.float32(5 / 16)).all()
    reports = learn(learner)
    # Games begin with two tiles until five boundaries are known. A report has 40 moves, a step of exploration.
    assert any("train/score_mean" in report for report in reports[:25])
    assert not any("train/score_mean" in report for report in reports[-25:])
    after = read_field(learner.network).reshape(2, -1)
    np.testing.assert_array_equal(after[0], before[0])
    assert np.count_nonzero(after[1] != before[1]) > 200


def test_promoted_stages_begin_as_copies_of_the_last_one(tmp_path: Path) -> None:
    first = NTupleLearner(replace(SMALL, stages=(0, 32)), seed=1)
    learn(first)
    first.save(tmp_path)
    learner = NTupleLearner(replace(SMALL, stages=(0, 32, 64, "64+32"), promotion="inter"), seed=2)
    learner.begin_with(load_stored(tmp_path, first.config))
    before, after = read_field(first.network).reshape(2, -1), read_field(learner.network).reshape(4, -1)
    np.testing.assert_array_equal(after[0], before[0])
    for stage in (1, 2, 3):
        np.testing.assert_array_equal(after[stage], np.where(before[1] == 0, before[0], before[1]))
    learn(learner)
    learner.save(tmp_path)
    again = NTupleLearner(learner.config, seed=3)
    again.restore(tmp_path)
    assert again.network.promotion is learner.network.promotion is None
    np.testing.assert_array_equal(again.network.weights, learner.network.weights)


def test_step_sizes_go_on_where_they_were_if_the_rule_is_the_same(tmp_path: Path) -> None:
    first = NTupleLearner(replace(SMALL, step_size=TC), seed=1)
    learn(first)
    first.save(tmp_path)
    stored = load_stored(tmp_path, first.config, with_memory=True)
    again = NTupleLearner(first.config, seed=2)
    again.begin_with(stored)
    np.testing.assert_array_equal(again.network.weights, first.network.weights)
    autostep = replace(stored, config=replace(SMALL, step_size=AUTOSTEP))
    autostep = replace(autostep, memory=stored.memory | {"log_rate": stored.weights})
    for source, size, is_kept in (
        (stored, TC, True), (stored, TD, False), (stored, STEPS, False), (stored, AUTOSTEP, False),
        (autostep, AUTOSTEP, True), (autostep, SLOWER, False), (autostep, TC, False),
        (replace(stored, memory={}), TC, False), (replace(autostep, memory=stored.memory), AUTOSTEP, False),
    ):  # fmt: skip
        other = NTupleLearner(replace(SMALL, step_size=size), seed=2)
        other.begin_with(source)
        assert (other.network.memory.size > 0) == is_kept
        np.testing.assert_array_equal(read_field(other.network), read_field(first.network))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"rows": 2, "network": ("012", "01")}, "rows = 3, the config 2"),
        ({"network": ("012", "0135")}, "network = 012,0134"),
        ({"symmetry": False}, "symmetry = True"),
        ({"values": "state"}, "values = 'afterstate'"),
        ({"stages": "64"}, "stages = 32, which are not the first ones of 64"),
        ({"stages": "turn4"}, "which are not the first ones"),
    ],
)
def test_a_network_that_does_not_fit_is_no_beginning(changes: dict[str, object], says: str) -> None:
    config = replace(SMALL, **changes)
    stored = StoredNetwork(replace(SMALL, stages="32"), np.zeros(0, np.float32))
    with pytest.raises(ValueError, match=says):
        NTupleLearner(config, seed=1).begin_with(stored)


@pytest.mark.parametrize("size", [TD, TC])
def test_new_tuples_learn_what_frozen_ones_leave(tmp_path: Path, size: StepSizeConfig) -> None:
    first = NTupleLearner(SMALL, seed=1)
    learn(first)
    first.save(tmp_path)
    config = replace(SMALL, network=("0124", "012", "0134", "01245"), v_init=24.0)
    learner = NTupleLearner(config, seed=2)
    learner.begin_with(load_stored(tmp_path, SMALL))  # in another order, with two new tuples
    old, new = read_field(first.network), read_field(learner.network)
    start = 11**4
    np.testing.assert_array_equal(new[start : start + old.size], old)
    assert (new[:start] == np.float32(24 / 32)).all()
    assert (new[start + old.size :] == np.float32(24 / 32)).all()

    config = replace(SMALL, network=("012", "0134", "01245"), frozen_tuples=2, step_size=size)
    learner = NTupleLearner(config, seed=2)
    learner.begin_with(load_stored(tmp_path, SMALL))
    learn(learner)
    after = read_field(learner.network)
    np.testing.assert_array_equal(after[: old.size], old)
    assert np.count_nonzero(after[old.size :]) > 200
