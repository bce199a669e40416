import time
from pathlib import Path

import numpy as np
import pytest

from ntuple import NTupleConfig, NTupleLearner
from ntuple.game.episode import MOVES
from ntuple.learning import threads
from ntuple.td.kernel import Training, train
from tests.ntuple.learning.trainings import CAROUSEL, METHODS, SMALL, learn


def test_games_in_turn_share_one_network() -> None:
    learner = NTupleLearner(SMALL, seed=1)
    learn(learner)
    moves = learner._state.games.rows[0, :, MOVES]
    assert (moves > 0).all()
    assert learner.progress["updates"] >= SMALL.env_steps - 2 * learner.progress["games"] - 2


def _advance_to_a_slice(learner: NTupleLearner, at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Advance in slices of 100 moves, and request a stop after `at` moves of this call.

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
    """The training stops about 200 moves after move 3000.

    This is between two reports, between two changes of the step-size rule, and between two networks of the average.
    """
    monkeypatch.setattr(threads, "SLICE_MOVES", 100)
    config = METHODS[name]
    whole, first = NTupleLearner(config, seed=2), NTupleLearner(config, seed=2)
    learn(whole)
    while first.progress["env_steps"] < 3000:
        first.advance()
    assert not first.within_report
    _advance_to_a_slice(first, 200, monkeypatch)
    assert 3200 <= first.progress["env_steps"] <= 3300
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
    learn(second)
    assert second.progress == whole.progress
    np.testing.assert_array_equal(second.network.weights, whole.network.weights)
    np.testing.assert_array_equal(second._state.games.rows, whole._state.games.rows)
    np.testing.assert_array_equal(second.player().play(20, 1).score, whole.player().play(20, 1).score)


def test_two_threads_share_the_budget_and_learn() -> None:
    config = NTupleConfig(network=("0123", "0145"), env_steps=600_001, report_env_steps=200_000, threads=2)
    learner = NTupleLearner(config, seed=1)
    reports = learn(learner)
    assert learner.progress["env_steps"] == 600_001
    assert reports[-2]["train/score_mean"] > 6_000  # random play has a mean score of 1,100
    assert np.isfinite(learner.network.weights).all()
