"""Points of pairings, and ratings against a search over a grid and known values."""

import itertools

import numpy as np
import pytest

from launch.tournament.ratings import ELO, ratings
from launch.tournament.referee import Match
from launch.tournament.standings import pairings, points_of, standings


def match(player: str, adversary: str, score: int, opening: int = 0, at_fault: str = "") -> Match:
    return Match(player, adversary, opening, score, 4, 1, "", "wrong" if at_fault else "", at_fault)


@pytest.mark.parametrize(
    ("scores", "faults", "points"),
    [
        ((200, 100), ("", ""), (1, 0)),
        ((100, 200), ("", ""), (0, 1)),
        ((100, 100), ("", ""), (0.5, 0.5)),
        ((900, 100), ("a", ""), (0, 1)),
        ((900, 100), ("", "a"), (0, 1)),
        ((900, 100), ("b", "b"), (1, 0)),
        ((900, 100), ("a", "b"), (0, 0)),
    ],
)
def test_points_of_a_pairing(scores: tuple, faults: tuple, points: tuple) -> None:
    one, other = match("a", "b", scores[0], 0, faults[0]), match("b", "a", scores[1], 0, faults[1])
    assert points_of(one, other) == points


def test_a_pairing_needs_both_games_of_an_opening() -> None:
    games = [match("a", "b", 1, 0), match("b", "a", 2, 1), match("a", "b", 3, 1), match("c", "a", 4, 0)]
    assert [(one.score, other.score) for one, other in pairings(games)] == [(3, 2)]


def test_the_table_counts_whole_games_alone() -> None:
    games = [match("a", "b", 10), match("b", "a", 4), match("a", "b", 30, 1, "b"), match("b", "a", 8, 1)]
    first, second = standings(["b", "a"], games)
    assert (first.name, first.points, first.pairings, first.score, first.against, first.faults) == ("a", 2, 2, 10, 6, 0)
    assert (second.name, second.points, second.score, second.against, second.faults) == ("b", 0, 6, 10, 1)
    assert first.rating == pytest.approx(-second.rating)
    assert first.rating > 0


def test_ratings_are_the_most_probable() -> None:
    """No point of a grid around them has a higher posterior."""
    points = np.array([[0, 7, 9], [3, 0, 6.5], [1, 3.5, 0]])
    found, widths = ratings(points)

    def posterior(elo: np.ndarray) -> float:
        win = 1 / (1 + 10 ** ((elo[None] - elo[:, None]) / 400))
        prior = 1 / (1 + 10 ** (-elo / 400))
        return float((points * np.log(win)).sum() + 0.5 * (np.log(prior) + np.log(1 - prior)).sum())

    best = posterior(found)
    for beside in itertools.product((-5, 0, 5), repeat=3):
        assert posterior(found + np.array(beside)) <= best
    assert found[0] > found[1] > found[2]
    # The second derivative along one rating, from three points of the posterior.
    step = np.array([1, 0, 0])
    slope = (posterior(found + step) - 2 * best + posterior(found - step)) * ELO**2
    assert widths[0] > 1.96 * ELO / np.sqrt(-slope)


def test_a_program_that_won_everything_has_a_rating() -> None:
    found, widths = ratings(np.array([[0, 10.0], [0, 0]]))
    assert found[0] == pytest.approx(-found[1])
    assert 200 < found[0] < 1000
    assert np.isfinite(widths).all()
