"""Games against an adversary. With exact values on both sides every game earns its exact value."""

import functools

import numpy as np
import pytest

from ntuple.core.games.known import find_game
from ntuple.core.interfaces import Games
from ntuple.exact.positions import board_of
from ntuple.expectimax.adversary import Adversary, PlayerAgainst
from ntuple.expectimax.config import ExpectimaxConfig
from ntuple.expectimax.player import ExpectimaxPlayer
from ntuple.game.any_game import make_game_rules
from ntuple.game.bitboard import Board, decode
from ntuple.game.family_events import decode_state
from ntuple.game.rollout import states_of
from ntuple.tables.entries import make_lookup
from ntuple.tables.network import Network, make_network
from tests.ntuple.drivers import back, find
from tests.ntuple.exact.solutions import solution


@functools.cache
def exact_network(game: str, kind: str) -> Network:
    """Return a network whose values on 2x2 are the exact ones."""
    asked = solution(2, 2, game=game, opponent=kind)
    others = {"game": game, "levels": 16} if game != "2048" else {}
    network = make_network("0123", 2, 2, 0.0, **others)
    rules, lookup = make_game_rules(game, 2, 2), make_lookup(network, 1)
    for code in asked.solved.afters:
        board = back(board_of(rules, code))
        worth = asked.look_up(decode(rules, board)).afterstate
        assert worth is not None
        find(rules, network, board, lookup)
        # The eight views of a position share entries; each view of a symmetric board counts as often as it is read.
        entries = lookup.entries[:8]
        network.weights[np.unique(entries)] = worth.expected / 8
    return network


def play(game: str, kind: str, count: int, threads: int = 2, plies: int = 1) -> tuple[PlayerAgainst, Games]:
    rules, network = make_game_rules(game, 2, 2), exact_network(game, kind)
    search = ExpectimaxConfig(plies=plies, opponent=kind)  # type: ignore[arg-type]
    adversary = Adversary(rules, network, search, threads)
    player = PlayerAgainst(rules, ExpectimaxPlayer(rules, network, search, threads), adversary)
    return player, player.play(count, 3)


@pytest.mark.slow
@pytest.mark.parametrize("game", ["2048", "2584"])
def test_a_minimax_game_of_exact_values_earns_its_value(game: str) -> None:
    player, games = play(game, "minimax", 60)
    asked = solution(2, 2, game=game, opponent="minimax")
    for played in player.play_each(range(60), 3):
        (lo, hi), *_ = states_of(asked.rules, played.opening, played.actions, played.spawns)
        state = decode_state(asked.rules, Board(lo, hi))
        worth = asked.look_up(np.array(state.board)).state
        assert worth is not None
        assert played.score == games.score[played.number] == worth.expected
    assert len(set(games.score.tolist())) > 1


@pytest.mark.slow
def test_expectiminimax_games_of_exact_values_earn_it_on_average() -> None:
    _, games = play("2048", "expectiminimax", 4000)
    error = games.score.std() / np.sqrt(len(games.score))
    assert abs(games.score.mean() - solution(2, 2, opponent="expectiminimax").start().expected) < 4 * error


@pytest.mark.parametrize("kind", [pytest.param("minimax", marks=pytest.mark.slow), "expectiminimax"])
def test_a_game_depends_on_its_number_alone(kind: str) -> None:
    _, games = play("2048", kind, 300, threads=2, plies=3)
    _, fewer = play("2048", kind, 40, threads=1, plies=3)
    for some, all_of_them in ((fewer.score, games.score), (fewer.moves, games.moves)):
        np.testing.assert_array_equal(some, all_of_them[:40])


def test_an_opponent_of_drawn_tiles_draws_them_as_the_game_does() -> None:
    player, _ = play("2048", "expectiminimax", 1)
    game, counts, games_with_both = find_game("2048"), np.zeros(4), 0
    for played in player.play_each(range(2000), 3):
        levels = 1 + played.spawns % 2
        counts += np.bincount(levels, minlength=4)
        games_with_both += len(set(levels.tolist())) == 2
    share = counts[1] / counts.sum()
    assert abs(share - game.spawns[0][1]) < 4 * np.sqrt(0.09 / counts.sum())
    assert counts[3] == 0
    assert games_with_both > 1000
