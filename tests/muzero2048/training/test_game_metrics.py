"""Tests by hand of the statistics of games and their metrics."""

import jax
import jax.numpy as jnp

from muzero2048.training.actor import GameOutcome
from muzero2048.training.calibration import Mark
from muzero2048.training.game_metrics import GameStatistics, add_games, game_metrics, game_statistics
from ntuple.core.games.game_2048 import GAME_2048


def statistics(done: list[bool], score: list[int], level: list[int]) -> GameStatistics:
    """Return the statistics of a chunk of one move in each environment; every game has 7 moves."""
    rows = (jnp.array([row]) for row in (score, [7] * len(score), level))
    zeros = jnp.zeros((1, len(score)))
    return jax.device_get(game_statistics(jnp.array([done]), GameOutcome(*rows, Mark(zeros, zeros, zeros))))


def test_metrics_of_two_chunks() -> None:
    one = statistics([True, False, False], [100, 9000, 500], [12, 15, 11])
    other = statistics([True, False, False], [40, 1, 1], [10, 1, 1])
    found = game_metrics(jax.device_get(add_games(one, other)), GAME_2048)
    assert found["train/games"] == 2  # without the games in progress
    assert found["train/score_mean"] == 70
    assert found["train/score_max"] == 100
    assert found["train/moves_mean"] == 7
    assert found["train/reach_2048"] == 0.5
    assert found["train/reach_8192"] == 0
    assert found["value/error"] == 0


def test_without_a_game_there_is_their_number_alone() -> None:
    assert game_metrics(statistics([False, False], [4, 4], [2, 2]), GAME_2048) == {"train/games": 0}
