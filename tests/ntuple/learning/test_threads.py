import numpy as np

from ntuple import NTupleConfig, NTupleLearner
from ntuple.game.episode import MOVES
from tests.ntuple.learning.trainings import SMALL, learn


def test_games_in_turn_share_one_network() -> None:
    learner = NTupleLearner(SMALL, seed=1)
    learn(learner)
    moves = learner._state.games.rows[0, :, MOVES]
    assert (moves > 0).all()
    assert learner.progress["updates"] >= SMALL.env_steps - 2 * learner.progress["games"] - 2


def test_two_threads_share_the_budget_and_learn() -> None:
    config = NTupleConfig(network=("0123", "0145"), env_steps=600_001, report_env_steps=200_000, threads=2)
    learner = NTupleLearner(config, seed=1)
    reports = learn(learner)
    assert learner.progress["env_steps"] == 600_001
    assert reports[-2]["train/score_mean"] > 6_000  # random play has a mean score of 1,100
    assert np.isfinite(learner.network.weights).all()
