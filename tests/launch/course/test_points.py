"""The formulas of the points, against numbers computed by hand (Guei 2023, tables 21, 23, 25, 29 and 34)."""

import pytest

from launch.course import points
from launch.course.games import played_of
from launch.course.points import Formula, Played
from launch.course.report import Grade, Points, less_if_slow
from ntuple.core.games.known import find_game


@pytest.mark.parametrize(
    ("formula", "played", "expected"),
    [
        (points.environment_2584, Played(10_640, 0.0, 16), [85, 10.64, 3]),
        (points.environment_2584, Played(20_000, 0.0, 13), [85, 15, 0]),
        (points.environment_threes, Played(384, 0.0, 9), [85, 8, 0]),  # log2(128) + 1
        (points.environment_threes, Played(3 * 2**12, 0.0, 15), [85, 10, 5]),
        (points.environment_threes, Played(0, 0.0, 0), [85, 0, 0]),
        (points.wins, Played(0, 0.859, 11), [85.9]),
        (points.wins_2584, Played(0, 0.961, 21), [96.1, 4]),
        (points.wins_threes, Played(0, 0.935, 13), [93.5, 4]),
        (points.losses_2584, Played(0, 0.125, 15), [87.5, 2]),
        (points.losses_threes, Played(0, 0.473, 9), [52.7, 5]),
        (points.losses_threes, Played(0, 1.0, 14), [0, 0]),
        (points.losses_threes, Played(0, 0.6, 10, share=0.75), [40, 3]),
        (points.share_of_optimum, Played(5468.49 * 0.2, 0.0, 9), [50]),
        (points.share_of_optimum, Played(5468.49 * 0.9, 0.0, 9), [100]),
    ],
)
def test_points_of_games(formula: Formula, played: Played, expected: list[float]) -> None:
    assert [part.points for part in formula(played)] == pytest.approx(expected)


def test_points_of_answers_ranks_and_samples() -> None:
    assert points.answers(97, 100)[0].points == pytest.approx(97)
    assert [part.points for part in points.rank(0, 100, 1)] == [70, 0]
    assert [part.points for part in points.rank(75, 100, 1)] == pytest.approx([70, 22.5])
    assert [part.points for part in points.rank(20, 100, 0.5)] == pytest.approx([35, 6])
    assert points.by_sample(0.4, 0.8, 500)[0].points == pytest.approx(50)
    assert points.by_sample(0.8, 0.8, 2 * points.FREE_SAMPLES)[0].points == pytest.approx(50)
    assert points.by_sample(0.9, 0.8, 1)[0].points == 100


def test_games_that_are_missing_count_as_lost() -> None:
    played = played_of(find_game("2584"), [(30_000, 2584), (10_000, 1597)], 4)
    assert played == Played(mean_score=10_000, win_rate=0.25, largest=17, share=0.5)
    assert played_of(find_game("2584"), [], 4) == Played(0, 0, 0, 0)
    assert [part.points for part in points.environment_2584(played)] == [42.5, 10, 4]


def test_a_slow_program_loses_30_percent() -> None:
    parts = (Points(85, "right"), Points(5, "more"))
    assert Grade({}, less_if_slow(parts, 99.0, 100.0, "moves/s")).total == pytest.approx(63)
    assert less_if_slow(parts, 100.0, 100.0, "moves/s") == parts
