from collections.abc import Callable

import numpy as np
import pytest

from ntuple import GreedyPlayer, NTupleConfig, NTupleLearner, NTuplePlayer, RandomPlayer, make_rules
from ntuple.core.interfaces import SoFar, so_far
from ntuple.tables.network import make_network
from ntuple.td.state_and_q import KINDS


@pytest.mark.parametrize(
    ("player", "shape", "mean"),
    [
        (RandomPlayer, (2, 2), 19.66),
        (GreedyPlayer, (2, 2), 24.04),
        (RandomPlayer, (2, 3), 61.17),
        (GreedyPlayer, (2, 3), 77.61),
    ],
)
def test_scores_of_the_simple_players(player: type[RandomPlayer], shape: tuple[int, int], mean: float) -> None:
    games = player(make_rules(*shape), threads=2).play(100_000, seed=1)
    # Tolerance: three standard errors of the sample, and half a unit in the last digit of the known mean.
    assert games.score.mean() == pytest.approx(mean, abs=3 * games.score.std() / 100_000**0.5 + 0.005)


def test_random_play_on_the_real_board() -> None:
    games = RandomPlayer(make_rules(4, 4), threads=1).play(4000, seed=1)
    assert games.score.mean() == pytest.approx(1100, rel=0.04)
    assert games.moves.mean() == pytest.approx(118, rel=0.03)


def test_games_depend_on_seed_and_number_alone() -> None:
    rules = make_rules(4, 4)
    network = make_network("0123,4567", 4, 4, 0.0)
    for one, two in (
        (NTuplePlayer(rules, network, 1), NTuplePlayer(rules, network, 3)),
        (RandomPlayer(rules, 1), RandomPlayer(rules, 3)),
    ):
        alone, shared, fewer = one.play(101, 7), two.play(101, 7), two.play(40, 7)
        for name in ("score", "max_tile", "moves"):
            np.testing.assert_array_equal(getattr(alone, name), getattr(shared, name))
            np.testing.assert_array_equal(getattr(alone, name)[:40], getattr(fewer, name))
        assert not np.array_equal(alone.score, one.play(101, 8).score)
        assert len(np.unique(alone.score)) > 50


def test_play_can_be_watched() -> None:
    """What is read at the end are all games."""
    rules = make_rules(3, 3)
    network = make_network("0134", 3, 3, 0.0)
    for player in (
        NTuplePlayer(rules, network, 1),
        RandomPlayer(rules, 2),
    ):
        reads: list[Callable[[], SoFar]] = []
        games = player.play(12, 3, lambda read, reads=reads: (reads.append(read), read())[0])
        assert len(reads) == 1
        finished, left = reads[0]()
        assert left == 0.0
        np.testing.assert_array_equal(finished.score, games.score)
        np.testing.assert_array_equal(finished.moves, games.moves)
    results = np.array([[8, 4, 3], [0, 0, 0], [4, 4, 2], [0, 0, 0]])
    half = so_far(results, 10.0)
    assert (half.finished.score.tolist(), half.left) == ([8, 4], 10.0)
    assert so_far(results[1:2], 10.0).left is None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weight", [np.nan, -np.inf])
def test_a_network_of_no_numbers_ends_no_game(kind: str, weight: float) -> None:
    """Values of NaN or -inf raise an error; they do not count as the end of a game."""
    network = make_network("0134", 3, 3, 0.0, values=kind)
    network.weights[:] = weight
    player = NTuplePlayer(make_rules(3, 3), network, 1, KINDS[kind])
    with pytest.raises(ValueError, match="the values are no numbers"):
        player.play(20, seed=1)
    boards = np.array([[[0, 0, 1], [0, 1, 0], [0, 0, 0]]], np.uint8)
    with pytest.raises(ValueError, match="the values are no numbers"):
        player.analyse(boards, np.zeros(1, np.uint32))
    over = np.array([[[1, 2, 1], [2, 1, 2], [1, 2, 1]]], np.uint8)  # no legal move, so no values are compared
    assert player.analyse(over, np.zeros(1, np.uint32)).action.tolist() == [-1]


def test_games_have_the_agreed_types() -> None:
    config = NTupleConfig(rows=2, columns=2, network="0123", threads=1)
    games = NTupleLearner(config, 0).player().play(20, 0)
    assert games.score.dtype == games.max_tile.dtype == games.moves.dtype == np.int64
    assert games.score.shape == games.max_tile.shape == games.moves.shape == (20,)
    assert set(games.max_tile.tolist()) <= {4, 8, 16, 32}
    assert games.seconds > 0
