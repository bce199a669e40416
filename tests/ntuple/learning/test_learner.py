import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reference import ntuple as reference
from reference import rules

from ntuple import NTupleConfig, NTupleLearner, NTuplePlayer, load_player, load_weights
from ntuple.files.safetensors import FORMAT, load_tensors, save_tensors, write_safetensors
from ntuple.files.stored_network import TRAINING_FILE, StoredNetwork, filled_network, load_stored
from ntuple.game.bitboard import make_rules
from ntuple.game.episode import MOVES, SCORE, board_of, last_afterstate
from ntuple.learning import learner as learner_module
from ntuple.learning.config import AverageConfig, ExplorationConfig, StartConfig, StepSizeConfig, TargetConfig
from ntuple.learning.kernel import train
from ntuple.learning.step_sizes import SECOND
from ntuple.tables.network import read_field
from ntuple.tables.patterns import parse_network
from tests.ntuple.drivers import to_reference
from tests.settings import configured

SMALL = NTupleConfig(rows=3, columns=3, network="012,0134", env_steps=4000, report_env_steps=1000, threads=1)

TD, TC = StepSizeConfig(adaptive_fraction=0.0), StepSizeConfig(adaptive_fraction=1.0)


def _learn(learner: NTupleLearner) -> list[dict[str, float]]:
    reports = []
    while learner.progress["env_steps"] < learner.env_steps_total:
        reports.append(learner.advance())
    return reports


def _mean_of_the_best(truth: reference.Network, after: rules.Board) -> float:
    """The sum over spawns of p max_a (r + V)."""
    total = 0.0
    for code, p in rules.chance_probabilities(after).items():
        board = rules.spawn(after, code)
        moves = [rules.afterstate(board, action) for action in rules.ACTIONS]
        total += float(p) * max((r + truth.value(a) for a, r in moves if a != board), default=0.0)
    return total


@pytest.mark.parametrize(
    ("adaptive", "epsilon", "method", "start", "board"),
    [
        (False, 0.0, "td", "normal", {}),
        (True, 0.0, "td", "normal", {}),
        (False, 0.5, "td", "normal", {}),
        (False, 0.5, "expected", "normal", {}),
        (True, 0.0, "expected", "restart", {}),  # whose games are remembered
        (False, 0.5, "td", "normal", {"symmetry": False}),
        (True, 0.0, "expected", "restart", {"symmetry": False}),
        (False, 0.0, "td", "normal", {"symmetry": False, "rows": 2, "network": "012,0134"}),
        (False, 0.0, "td", "normal", {"rows": 2, "network": "012,0134"}),
    ],
)
def test_learning_move_by_move_equals_the_reference(
    adaptive: bool, epsilon: float, method: str, start: str, board: dict[str, Any]
) -> None:
    config = replace(
        SMALL, **board, report_env_steps=1, env_steps=700, v_init=30.0, step_size=TC if adaptive else TD,
        exploration=ExplorationConfig(epsilon), target=TargetConfig(method),
        start=configured(StartConfig, kind=start, restart_moves=10_000),
    )  # fmt: skip
    learner = NTupleLearner(config, seed=1)
    learner._games = learner._games[:, :1].copy()  # one game at a time, to be followed
    game, views = make_rules(config.rows, 3), len(learner.network.symmetries)
    truth = reference.Network(list(parse_network(config.network, config.rows, 3)), views, 30.0)
    update = truth.tc_update if adaptive else truth.td_update
    alpha = config.step_size.tc.alpha if adaptive else config.step_size.alpha
    row = learner._games[0, 0]
    last, score, games, others = None, 0, 0, 0
    for _ in range(config.env_steps):
        board = to_reference(game, board_of(row))
        metrics = learner.advance()
        after, spawned = to_reference(game, last_afterstate(row)), to_reference(game, board_of(row))
        assert spawned in [rules.spawn(after, code) for code in rules.chance_probabilities(after)]
        mean = _mean_of_the_best(truth, last) if method == "expected" and last else 0.0
        if rules.is_over(board):
            update(last, mean, alpha)
            games += 1
            assert metrics["train/score_mean"] == metrics["train/score_max"] == score
            score = int(row[SCORE])
            assert row[MOVES] == 1
        else:
            moves = [rules.afterstate(board, action) for action in rules.ACTIONS]
            values = [r + truth.value(a) for a, r in moves if a != board]
            # The learner leaves boards turned where V has symmetries: its afterstate is a view of the true one.
            chosen = next((r, r + truth.value(a)) for a, r in moves if after in rules.symmetries(a)[:views])
            others += chosen[1] < max(values) - 1e-2
            score += chosen[0]
            if last is not None:
                # What the best move promises, even if another one is made.
                update(last, mean if method == "expected" else max(values), alpha)
        last = after
    assert learner.progress["games"] == games > 3
    assert others > 50 if epsilon else others == 0
    weights = read_field(learner.network)
    for (_, m, index), weight in truth.weights.items():
        assert weights[int(learner.network.tables[m]) + index] == pytest.approx(weight, abs=1e-2)


def test_games_in_turn_share_one_network() -> None:
    learner = NTupleLearner(SMALL, seed=1)
    _learn(learner)
    moves = learner._games[0, :, MOVES]
    assert (moves > 0).all()
    assert learner.progress["updates"] >= SMALL.env_steps - 2 * learner.progress["games"] - 2


CAROUSEL = "carousel, exploration, rates that fall, memory that is lost"
HALF = StepSizeConfig(adaptive_fraction=0.5)
METHODS = {
    "optimistic, TD then TC": replace(SMALL, v_init=100.0, step_size=HALF),
    "delayed, TD then Autostep": replace(
        SMALL, target=TargetConfig("delayed"), step_size=replace(HALF, adaptive="autostep")
    ),
    "restart, backward, stages": replace(
        SMALL,
        target=TargetConfig("trace", "backward"),
        start=configured(StartConfig, kind="restart", restart_moves=5),
        stages="16,64",
        promotion="both",
    ),
    CAROUSEL: replace(
        SMALL,
        start=configured(StartConfig, kind="carousel", stages="16,32,64"),
        exploration=ExplorationConfig(epsilon=0.2, temperature=5.0),
        step_size=StepSizeConfig(adaptive_fraction=0.5, alpha_steps="0.1:0.05 0.3:0.01", reset_env_steps=700),
    ),
    "averaged": replace(SMALL, average=AverageConfig(env_steps=600, fraction=0.9)),
    "averaged, promoted": replace(
        SMALL, average=AverageConfig(env_steps=600, fraction=0.9), stages="16,32,64", promotion="both", v_init=50.0
    ),
}


@pytest.mark.parametrize("name", METHODS)
def test_save_and_restore_continue_to_the_bit(tmp_path: Path, name: str) -> None:
    config = METHODS[name]
    for stop in (1, 3):  # in the first half of the budget and in the second
        whole = NTupleLearner(config, seed=2)
        reports = _learn(whole)
        first = NTupleLearner(config, seed=2)
        for _ in range(stop):
            first.advance()
        folder = tmp_path / str(stop)
        folder.mkdir()
        first.save(folder)
        assert sorted(path.name for path in folder.iterdir()) == ["training.safetensors", "weights.safetensors"]
        second = NTupleLearner(config, seed=99)
        second.restore(folder)
        rest = _learn(second)
        np.testing.assert_array_equal(second.network.weights, whole.network.weights)
        np.testing.assert_array_equal(second._games, whole._games)
        assert second.progress == whole.progress
        np.testing.assert_array_equal(second.player().play(20, 1).score, whole.player().play(20, 1).score)
        for report, same in zip(reports[stop:], rest, strict=True):
            same = {key: metric for key, metric in same.items() if not key.startswith("perf/")}
            assert same.items() <= report.items()


def _advance_to_a_slice(learner: NTupleLearner, at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Advance in slices of 100 moves, and ask for a stop once `at` moves of the stretch are made.

    A slice waits until `tick` has been told of all before it, so that the threads need no luck.
    """
    told, made = {0}, [0]

    def tick(moves: int) -> bool:
        told.add(moves)
        return moves >= at

    def train_when_told(*args: object) -> None:
        deadline = time.monotonic() + 30
        while made[0] not in told and time.monotonic() < deadline:
            time.sleep(0.001)
        train(*args)
        made[0] += int(args[3])

    with monkeypatch.context() as context:
        context.setattr(learner_module, "TICK_SECONDS", 0.001)
        context.setattr(learner_module, "train", train_when_told)
        learner.advance(tick)


@pytest.mark.parametrize("name", METHODS)
def test_a_stop_within_a_report_changes_no_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Stopped some 200 moves past move 3000, between two reports, changes of the rule and networks of the mean."""
    monkeypatch.setattr(learner_module, "SLICE_MOVES", 100)
    config = METHODS[name]
    whole, first = NTupleLearner(config, seed=2), NTupleLearner(config, seed=2)
    _learn(whole)
    while first.progress["env_steps"] < 3000:
        first.advance()
    assert not first.within_report
    _advance_to_a_slice(first, 200, monkeypatch)
    assert first.progress["env_steps"] in (3200, 3300)
    assert first.within_report
    first.save(tmp_path)
    second = NTupleLearner(config, seed=99)
    second.restore(tmp_path)
    assert second.within_report
    second.advance()
    assert second.progress["env_steps"] == {"averaged": 3600, "averaged, promoted": 3600, CAROUSEL: 3400}.get(
        name, 4000
    )
    assert not second.within_report
    _learn(second)
    assert second.progress == whole.progress
    np.testing.assert_array_equal(second.network.weights, whole.network.weights)
    np.testing.assert_array_equal(second._games, whole._games)
    np.testing.assert_array_equal(second.player().play(20, 1).score, whole.player().play(20, 1).score)


def test_rates_fall_and_memory_is_lost_on_time() -> None:
    config = METHODS[CAROUSEL]
    learner = NTupleLearner(config, seed=1)
    stops, rates, touched = [], [], []
    while learner.progress["env_steps"] < config.env_steps:
        stops.append(learner.progress["env_steps"])
        rates.append(learner.advance()["td/learning_rate"])
        touched.append(np.count_nonzero(read_field(learner.network, SECOND)) if rates[-1] == 1 else 0)
    # Reports every 1000 moves; rates at 400 and 1200; TC from 2000 on, without memory at 2700 and 3400.
    assert stops == [0, 400, 1000, 1200, 2000, 2700, 3000, 3400]
    assert rates == [0.1, 0.05, 0.05, 0.01, 1.0, 1.0, 1.0, 1.0]
    assert touched[4] > touched[5] < touched[6]  # 300 moves after the loss touch fewer entries than 700


@pytest.mark.parametrize("name", ["averaged", "averaged, promoted"])
def test_the_mean_of_the_networks_on_the_way_is_played_and_saved(tmp_path: Path, name: str) -> None:
    config = METHODS[name]
    learner, networks = NTupleLearner(config, seed=1), []
    while learner.progress["env_steps"] < config.env_steps:
        learner.advance()
        if learner.progress["env_steps"] in (600, 1200, 1800, 2400, 3000, 3600, 4000):  # the last of all counts too
            networks.append(StoredNetwork(config, read_field(learner.network)).promoted().weights)
    learner.save(tmp_path)
    mean = load_weights(tmp_path, config)
    np.testing.assert_allclose(mean, np.mean(networks, axis=0), rtol=1e-5, atol=1e-3)
    assert not np.array_equal(mean, networks[-1])
    plain = replace(config, promotion="none")
    played = NTuplePlayer(make_rules(3, 3), filled_network(plain, mean), 1).play(20, 3)
    np.testing.assert_array_equal(learner.player().play(20, 3).score, played.score)
    np.testing.assert_array_equal(load_player(tmp_path, config).play(20, 3).score, played.score)


def test_a_later_stage_is_trained_alone_behind_a_trained_one(tmp_path: Path) -> None:
    first = NTupleLearner(SMALL, seed=1)
    _learn(first)
    first.save(tmp_path)
    config = replace(
        SMALL, stages="0,32", frozen_stages=1, v_init=5.0, start=StartConfig("carousel"), step_size=TC
    )  # fmt: skip
    learner = NTupleLearner(config, seed=2)
    learner.begin_with(load_stored(tmp_path, SMALL, with_memory=True))
    before = read_field(learner.network).reshape(2, -1)
    np.testing.assert_array_equal(before[0], read_field(first.network))
    assert (before[1] == np.float32(5 / 16)).all()
    _learn(learner)
    after = read_field(learner.network).reshape(2, -1)
    np.testing.assert_array_equal(after[0], before[0])
    assert np.count_nonzero(after[1] != before[1]) > 200


def test_promoted_stages_begin_as_copies_of_the_last_one(tmp_path: Path) -> None:
    first = NTupleLearner(replace(SMALL, stages="0,32"), seed=1)
    _learn(first)
    first.save(tmp_path)
    learner = NTupleLearner(replace(SMALL, stages="0,32,64,64+32", promotion="inter"), seed=2)
    learner.begin_with(load_stored(tmp_path, first.config))
    before, after = read_field(first.network).reshape(2, -1), read_field(learner.network).reshape(4, -1)
    np.testing.assert_array_equal(after, before[[0, 1, 1, 1]])


def test_step_sizes_go_on_where_they_were_if_the_rule_is_the_same(tmp_path: Path) -> None:
    first = NTupleLearner(replace(SMALL, step_size=TC), seed=1)
    _learn(first)
    first.save(tmp_path)
    stored = load_stored(tmp_path, first.config, with_memory=True)
    again = NTupleLearner(first.config, seed=2)
    again.begin_with(stored)
    np.testing.assert_array_equal(again.network.weights, first.network.weights)
    for size in (TD, StepSizeConfig(adaptive="autostep")):
        other = NTupleLearner(replace(SMALL, step_size=size), seed=2)
        other.begin_with(stored)
        assert other.network.record_bits == 0
        np.testing.assert_array_equal(read_field(other.network), read_field(first.network))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"rows": 2, "network": "012,01"}, "rows = 3, the config 2"),
        ({"network": "012,0135"}, "network = '012,0134'"),
        ({"symmetry": False}, "symmetry = True"),
        ({"values": "state"}, "values = 'afterstate'"),
        ({"stages": "64"}, "stages = '32', which are not the first ones of '64'"),
        ({"stages": "turn4"}, "which are not the first ones"),
    ],
)
def test_a_network_that_does_not_fit_is_no_beginning(changes: dict[str, object], says: str) -> None:
    config = replace(SMALL, **changes)
    stored = StoredNetwork(replace(SMALL, stages="32"), np.zeros(0, np.float32))
    with pytest.raises(ValueError, match=says):
        NTupleLearner(config, seed=1).begin_with(stored)


def test_counted_games_are_those_from_two_tiles() -> None:
    learner = NTupleLearner(replace(SMALL, start=configured(StartConfig, kind="restart", restart_moves=5)), seed=1)
    whole = sum(report["train/games"] for report in _learn(learner))
    assert 0 < whole < 0.7 * learner.progress["games"]


def test_a_diverged_network_shows_in_the_mean_error() -> None:
    learner = NTupleLearner(replace(SMALL, step_size=TD), seed=1)
    learner.advance()
    learner.network.weights[::3] = np.nan
    assert np.isnan(learner.advance()["td/error_abs_mean"])  # launch stops a run whose metrics are not finite


def test_otd_tc_switches_once_and_with_fresh_memory() -> None:
    learner = NTupleLearner(
        replace(SMALL, step_size=StepSizeConfig(adaptive_fraction=0.625)), seed=3
    )  # TC begins at move 1500
    reports = _learn(learner)
    assert [(r["td/coherence"], r["td/learning_rate"]) for r in reports] == [(0, 0.1)] * 2 + [(1, 1.0)] * 3
    # Up to the switch it is TD(0) with any longer budget; at the switch |E| and A hold TC's updates alone.
    td = NTupleLearner(replace(SMALL, step_size=TD), seed=3)
    np.testing.assert_equal([r["td/error_abs_mean"] for r in reports[:1]], [td.advance()["td/error_abs_mean"]])
    assert td.network.record_bits == 0
    assert np.count_nonzero(read_field(learner.network, SECOND)) < np.count_nonzero(read_field(learner.network))


def test_pure_tc_has_no_td_phase_and_pure_td_no_memory() -> None:
    assert all(r["td/coherence"] == 1 for r in _learn(NTupleLearner(replace(SMALL, step_size=TC), 1)))
    learner = NTupleLearner(replace(SMALL, step_size=TD), 1)
    assert all(r["td/coherence"] == 0 for r in _learn(learner))
    assert learner.network.record_bits == 0


@pytest.mark.parametrize("seed", [1, 2])
def test_two_by_two_reaches_the_optimum(seed: int) -> None:
    # One 4-tuple on a 2x2 board is a full table; the optimal policy's mean score is 66.964149 (exact solution).
    size = StepSizeConfig(alpha=0.1, alpha_steps="0.3:0.02 0.6:0.005 0.85:0.001", adaptive_fraction=0.0)
    config = NTupleConfig(rows=2, columns=2, network="0123", env_steps=1_500_000, threads=1, v_init=100, step_size=size)
    learner = NTupleLearner(config, seed)
    _learn(learner)
    games = learner.player().play(100_000, seed=5)
    assert games.score.mean() == pytest.approx(66.964149, rel=0.01)


def test_two_threads_share_the_budget_and_learn() -> None:
    config = NTupleConfig(network="0123,0145", env_steps=600_001, report_env_steps=200_000, threads=2)
    learner = NTupleLearner(config, seed=1)
    reports = _learn(learner)
    assert learner.progress["env_steps"] == 600_001
    assert reports[-2]["train/score_mean"] > 6_000  # random play scores 1,100
    assert np.isfinite(learner.network.weights).all()


def test_load_player_plays_like_the_learner(tmp_path: Path) -> None:
    learner = NTupleLearner(SMALL, seed=4)
    _learn(learner)
    learner.save(tmp_path)
    (tmp_path / "training.safetensors").unlink()  # the weights are all that playing needs
    saved, own = load_player(tmp_path, SMALL).play(50, 3), learner.player().play(50, 3)
    np.testing.assert_array_equal(saved.score, own.score)


def test_files_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    learner = NTupleLearner(SMALL, seed=4)
    learner.save(tmp_path)
    with pytest.raises(ValueError, match="network = '012,0134', but the config says '012'"):
        load_player(tmp_path, replace(SMALL, network="012"))
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
        load_player(tmp_path, SMALL)


def test_undivided_rates_of_autostep_are_refused_and_their_weights_are_not(tmp_path: Path) -> None:
    config = replace(SMALL, step_size=StepSizeConfig(adaptive="autostep"))
    learner = NTupleLearner(config, seed=4)
    learner.advance()
    learner.save(tmp_path)
    tensors = load_tensors(tmp_path / TRAINING_FILE, config)
    tensors["third"] = tensors.pop("log_rate")  # as older versions named it
    save_tensors(tmp_path / TRAINING_FILE, tensors, config)
    with pytest.raises(ValueError, match=r"training\.safetensors: .* by run\.begin_from") as caught:
        NTupleLearner(config, 1).restore(tmp_path)
    assert "\n" not in str(caught.value)
    again = NTupleLearner(config, 1)
    again.begin_with(load_stored(tmp_path, config, with_memory=True))
    np.testing.assert_array_equal(read_field(again.network), read_field(learner.network))
    assert again.network.record_bits == 0  # no memory came along


def test_there_is_no_learned_model_to_probe() -> None:
    assert NTupleLearner(SMALL, 1).probes() == {}


@pytest.mark.parametrize("size", [TD, TC])
def test_new_tuples_learn_what_frozen_ones_leave(tmp_path: Path, size: StepSizeConfig) -> None:
    first = NTupleLearner(SMALL, seed=1)
    _learn(first)
    first.save(tmp_path)
    config = replace(SMALL, network="0124,012,0134,01245", v_init=24.0)
    learner = NTupleLearner(config, seed=2)
    learner.begin_with(load_stored(tmp_path, SMALL))  # wherever its tuples stand; the others begin new
    old, new = read_field(first.network), read_field(learner.network)
    start = 11**4
    np.testing.assert_array_equal(new[start : start + old.size], old)
    assert (new[:start] == np.float32(24 / 32)).all()
    assert (new[start + old.size :] == np.float32(24 / 32)).all()

    config = replace(SMALL, network="012,0134,01245", frozen_tuples=2, step_size=size)
    learner = NTupleLearner(config, seed=2)
    learner.begin_with(load_stored(tmp_path, SMALL))
    _learn(learner)
    after = read_field(learner.network)
    np.testing.assert_array_equal(after[: old.size], old)
    assert np.count_nonzero(after[old.size :]) > 200


def test_a_beginning_with_other_tuples_is_refused(tmp_path: Path) -> None:
    first = NTupleLearner(SMALL, seed=1)
    learner = NTupleLearner(replace(SMALL, network="012"), seed=2)
    first.save(tmp_path)
    with pytest.raises(ValueError, match="it has network"):
        learner.begin_with(load_stored(tmp_path, SMALL))
