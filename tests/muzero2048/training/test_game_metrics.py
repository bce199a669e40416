"""Tests by hand of the statistics of games and their metrics."""

import jax
import jax.numpy as jnp
import pytest

from muzero2048.training.actor import Outcome
from muzero2048.training.calibration import Mark
from muzero2048.training.game_metrics import GameStatistics, add_games, game_metrics, game_statistics


def statistics(done: list[bool], normal: list[bool], score: list[int], level: list[int]) -> GameStatistics:
    """Return the statistics of a chunk of one move in each environment; every game has 7 moves."""
    rows = (jnp.array([row]) for row in (score, [7] * len(score), normal, level))
    zeros = jnp.zeros((1, len(score)))
    return jax.device_get(game_statistics(jnp.array([done]), Outcome(*rows, Mark(zeros, zeros, zeros))))


def test_metrics_of_two_chunks() -> None:
    one = statistics([True, True, False], [True, False, True], [100, 9000, 500], [12, 15, 11])
    other = statistics([True, False, False], [True, True, True], [40, 1, 1], [10, 1, 1])
    found = game_metrics(jax.device_get(add_games(one, other)), chunks=2)
    assert found["train/games"] == 2  # without the game from another start and the games in progress
    assert found["train/normal_start_share"] == pytest.approx((2 / 3 + 1) / 2)
    assert found["train/score_mean"] == 70
    assert found["train/score_max"] == 100
    assert found["train/moves_mean"] == 7
    assert found["train/reach_2048"] == 0.5
    assert found["train/reach_8192"] == 0
    assert found["value/error"] == 0  # over all three games that ended


def test_without_a_game_there_is_their_number_alone() -> None:
    none = statistics([False, False], [True, True], [4, 4], [2, 2])
    assert game_metrics(none, chunks=1) == {"train/games": 0, "train/normal_start_share": 1}
