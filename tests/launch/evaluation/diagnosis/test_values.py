"""Values against returns: by hand, by other formulas, and with the exact values of a small board, which are right."""

import numpy as np
import pytest

from launch.evaluation.diagnosis.values import ValuedPositions, report_values, returns, value_positions
from launch.evaluation.loading import LoadedPlayer
from launch.evaluation.records.played import Game
from ntuple.core.interfaces import Analysis
from ntuple.exact.positions import LEVELS
from ntuple.exact.solution import Solution
from ntuple.exact.solver import solve
from ntuple.game.bitboard import encode


class ExactPlayer:
    """Plays best on average, and says the exact values."""

    effort_unit = "ply"
    plays_one_by_one = False

    def __init__(self, solution: Solution):
        self._solution = solution

    def analyse(self, boards: np.ndarray, seeds: np.ndarray, draws: np.ndarray | None = None) -> Analysis:
        value = self._solution.move_values(np.array([encode(levels).lo for levels in boards], np.uint64))
        action = np.where(np.isfinite(value).any(axis=1), value.argmax(axis=1), -1).astype(np.int8)
        nothing = np.zeros(value.shape, np.int64)
        return Analysis(action, nothing, value, nothing, None, None, None)


@pytest.fixture(scope="module")
def solution() -> Solution:
    return Solution(2, 3, LEVELS + 1, LEVELS + 1, solve(2, 3))


@pytest.fixture(scope="module")
def right(solution: Solution) -> ValuedPositions:
    return value_positions(LoadedPlayer(ExactPlayer(solution), "exact", 2, 3), 500, 1, 1.0, solution)


def test_returns_are_discounted_sums():
    rewards = np.array([[4, -1, -1, -1], [-1, 0, -1, -1], [8, -1, -1, -1], [-1, -1, -1, -1]], np.int64)
    boards, nothing = np.zeros((4, 2, 3), np.uint8), np.zeros(4, np.int64)
    moves, spawns = np.array([0, 1, 0], np.int8), np.zeros(3, np.int16)
    game = Game(1, moves, spawns, boards, rewards, nothing.astype(np.uint16), nothing)
    assert returns(game, 0.5).tolist() == [6.0, 4.0, 8.0]
    assert returns(game, 1.0).tolist() == game.rest.tolist() == [12, 8, 8]


def test_exact_values_are_returns_where_the_group_is_known(right: ValuedPositions):
    """They are not where the group tells how the game ends: so a large difference there is no fault of a value."""
    np.testing.assert_array_equal(right.value, right.exact)
    tables = right.tables()
    assert list(tables) == ["sum of tiles", "V", "tenth"]
    for name in ("sum of tiles", "V"):
        assert len(tables[name]) == 10
        misses = [abs(group.value - group.gain) / group.interval for group in tables[name]]
        assert sorted(misses)[-2] < 1.2  # intervals of 95%
        assert np.mean(misses) < 0.8
    first, last = tables["tenth"][0], tables["tenth"][-1]
    assert first.value < first.gain - first.interval
    assert last.value > 2 * last.gain
    assert 0.65 < right.correlation(right.value) < 0.85  # the best that a value can have on this board
    assert [group.key for group in tables["tenth"]] == list(range(1, 11))
    assert sum(right.lengths) == len(right.value) == len(right.gain)


def test_a_game_begins_with_its_score(right: ValuedPositions):
    starts = np.cumsum(right.lengths) - right.lengths
    assert right.gain[starts].tolist() == right.scores.tolist()
    assert right.tile_sum[starts].min() >= 4
    assert right.tile_sum[starts].max() <= 8


def test_every_game_counts_the_same_in_the_correlation(rng: np.random.Generator):
    lengths = np.array([3, 400, 20])
    value, gain = rng.normal(size=(2, lengths.sum()))
    gain += value
    found = ValuedPositions(lengths, lengths, value, value, gain, None).correlation(value)
    drawn = np.repeat(1 / lengths, lengths)
    covariance = np.cov(value, gain, aweights=drawn)
    assert found == pytest.approx(covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1]))
    assert found != pytest.approx(np.corrcoef(value, gain)[0, 1])


def test_the_interval_takes_games_as_independent_and_their_positions_not():
    """Two games, each with an error of its own in all its positions: the interval is that of two numbers."""
    lengths = np.array([50, 50])
    gain = np.repeat([10.0, 20.0], 50)
    positions = ValuedPositions(lengths, lengths, np.zeros(100), np.zeros(100), gain, None)
    (group,) = positions._groups(np.zeros(100), [np.arange(100)])
    assert group.gain == 15.0
    assert group.interval == pytest.approx(1.96 * 5.0 / np.sqrt(2), rel=1e-3)


def test_the_tables_fit_80_columns(right: ValuedPositions, capsys):
    large = ValuedPositions(
        right.lengths, right.scores, 100 * right.tile_sum, 1000 * right.value, 1000 * right.gain, None
    )
    report_values(large, 0.999)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert not any(line.startswith(" exact") for line in lines)
    numbers = [line for line in lines if line.startswith("     G")]
    assert len(numbers) == 3
    assert all(len(line.split()) == 11 for line in numbers)
