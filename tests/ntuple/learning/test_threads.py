from dataclasses import replace
from pathlib import Path

import numpy as np

from ntuple import NTupleConfig, NTupleLearner
from ntuple.game.episode import MOVES
from ntuple.td.config import PositionsConfig, StartConfig
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


def _pools(learner: NTupleLearner) -> list[np.ndarray]:
    return [starts.pools for starts in learner._state.games.starts if starts]


def test_threads_share_the_positions_of_the_file_that_the_config_names(tmp_path: Path) -> None:
    """A resumed training begins games on the positions of its config, whatever those of the checkpoint were."""
    boards = np.eye(9, dtype=np.uint8).reshape(-1, 3, 3)

    def learner(first: int, end: int) -> NTupleLearner:
        file = tmp_path / f"{first}.npy"
        np.save(file, boards[first:end])
        start = StartConfig("positions", positions=PositionsConfig(str(file)))
        return NTupleLearner(replace(SMALL, threads=2, start=start), seed=1)

    saved = learner(0, 2)
    one, other = _pools(saved)
    assert one is other
    saved.save(tmp_path)
    for first, end in ((2, 5), (5, 7)):  # another number of boards, and as many
        resumed = learner(first, end)
        resumed.restore(tmp_path)
        np.testing.assert_array_equal(_pools(resumed), _pools(learner(first, end)))
