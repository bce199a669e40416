"""All players are compared with the exact solution: points lost by their moves in the states of a small board."""

import functools

import numpy as np
import pytest
from flax import nnx

from launch.experiment.interfaces import Player
from muzero2048.game.env import Game2048
from muzero2048.muzero.network_player import NetworkSetting
from muzero2048.players.ntuple_player import NTupleSetting
from muzero2048.players.search_player import SearchPlayer
from muzero2048.search.config import SearchConfig
from ntuple import ExpectimaxConfig, GreedyPlayer, NTupleConfig, NTupleLearner, NTuplePlayer, RandomPlayer, make_rules
from ntuple.exact.positions import LEVELS
from ntuple.exact.solution import Solution
from ntuple.exact.solver import solve
from ntuple.expectimax.player import ExpectimaxPlayer
from ntuple.game.bitboard import Board, decode
from ntuple.game.rollout import play_by_analysis, states_of
from ntuple.tables.file_order import write_field
from ntuple.tables.network import Network, make_network
from ntuple.td.config import ExplorationConfig, StepSizeConfig
from tests.muzero2048.toy_model import random_model, small_config
from tests.ntuple.learning.trainings import learn
from tests.settings import configured

RULES = make_rules(2, 3)
TILES = 8  # levels of a cell, 0..7: the largest tile on 2x3 is 128
WHOLE = "012345"  # a tuple of all cells, with one entry for each afterstate
MOST_STATES = 400
OPTIMUM = 480.258272


@functools.cache
def solution() -> Solution:
    return Solution(2, 3, LEVELS + 1, LEVELS + 1, solve(2, 3))


@functools.cache
def states() -> tuple[np.ndarray, np.ndarray]:
    """Return words [N] and boards [N, 2, 3] of states with a legal move, spread over all sums of tiles."""
    words = solution().solved.states
    words = words[np.isfinite(solution().move_values(words)).any(axis=1)]
    words = words[np.linspace(0, len(words) - 1, MOST_STATES).astype(int)]
    return words, np.array([decode(RULES, Board(word, np.uint64(0))) for word in words], np.uint8)


def losses(player: Player) -> np.ndarray:
    """Return the points lost by the player's move in each state."""
    words, boards = states()
    return solution().losses(words, player.analyse(boards, np.arange(len(boards), dtype=np.uint32)).action)


@functools.cache
def exact_network() -> Network:
    """Make a network with the exact V of all afterstates.

    An entry holds V / 4, because the value of a board is the sum over the entries of its 4 views.
    """
    exact = np.zeros((TILES,) * 6, np.float32)  # the lowest digit of an index is the first cell
    for word in solution().solved.afters:
        board = decode(RULES, Board(word, np.uint64(0)))
        after = solution().look_up(board).afterstate
        assert after is not None
        for view in (board, board[::-1], board[:, ::-1], board[::-1, ::-1]):
            exact[tuple(view.ravel()[::-1])] = after.expected / 4
    network = make_network(WHOLE, 2, 3, 0.0)
    write_field(network, exact.ravel())
    return network


def test_all_states_are_there() -> None:
    words, boards = states()
    assert len(words) == len(np.unique(words)) == MOST_STATES
    assert boards.max() == 7


def test_players_that_know_nothing_lose() -> None:
    assert losses(RandomPlayer(RULES, threads=1)).mean() > 1
    assert losses(GreedyPlayer(RULES, threads=1)).mean() > 0.2


@pytest.mark.parametrize("plies", [1, 2, 3])
def test_exact_values_lose_nothing_at_any_depth(plies: int) -> None:
    assert losses(ExpectimaxPlayer(RULES, exact_network(), ExpectimaxConfig(plies=plies), threads=1)).max() < 1e-3
    assert losses(NTuplePlayer(RULES, exact_network(), threads=1)).max() < 1e-3


@pytest.mark.slow
def test_expectimax_without_values_is_optimal_when_deep_enough() -> None:
    """The search reaches the end of the game from late states; in the others a deeper search loses less."""
    network = make_network(WHOLE, 2, 3, 0.0)
    lost = [losses(ExpectimaxPlayer(RULES, network, ExpectimaxConfig(plies=p), threads=2)) for p in (1, 5, 9)]
    sums = np.where(states()[1] > 0, 1 << states()[1].astype(int), 0).sum(axis=(1, 2))
    assert (sums >= 200).sum() > 40
    assert lost[0][sums >= 200].max() > 50
    assert lost[2][sums >= 200].max() < 1e-3
    assert lost[0].mean() > 3 * lost[1].mean() > 3 * lost[2].mean()


@functools.cache
def trained_player() -> NTuplePlayer:
    config = NTupleConfig(
        rows=2,
        columns=3,
        network=WHOLE,
        env_steps=10_000_000,
        report_env_steps=10_000_000,
        threads=1,
        v_init=1000.0,
        step_size=StepSizeConfig(alpha=0.1, alpha_steps=((0.3, 0.02), (0.6, 0.005)), adaptive_fraction=0.0),
        exploration=ExplorationConfig(temperature=10.0, decay=0.8),
    )
    learner = NTupleLearner(config, seed=1)
    learn(learner)
    return learner.player()


@pytest.mark.parametrize(
    ("name", "least", "most"), [("greedy", 350, 450), ("searching", 200, 280), ("trained", 1, 100)]
)
def test_score_and_loss_make_up_the_optimum(name: str, least: float, most: float) -> None:
    """E[score] + E[loss of the moves] = V*(start) for any player."""
    if name == "searching":
        player = ExpectimaxPlayer(RULES, make_network(WHOLE, 2, 3, 0.0), ExpectimaxConfig(plies=3), threads=1)
    else:
        player = GreedyPlayer(RULES, threads=1) if name == "greedy" else trained_player()
    games = list(play_by_analysis(RULES, lambda *asked: player.analyse(*asked).action, range(1000), seed=3))
    lost = []
    for game in games:
        words = states_of(RULES, game.opening, game.actions, game.spawns)[:, 0]
        lost.append(solution().losses(words, game.actions).sum())
    together = np.array([game.score for game in games]) + lost
    error = together.std() / len(games) ** 0.5
    assert least < np.mean(lost) < most
    assert together.mean() == pytest.approx(OPTIMUM, abs=4 * error)


@pytest.mark.slow
@pytest.mark.parametrize("root", ["gumbel", "puct"])
def test_the_tree_search_of_the_true_game(root: str) -> None:
    """MuZero's search with an untrained network: its moves lose less with more simulations of the true game."""
    lost = []
    for simulations in (4, 256):
        search = configured(
            SearchConfig,
            root=root,
            simulations=simulations,
            model="simulator",
            read_out="expectimax",
            chance="weighted",
            c_scale=1.0,
        )
        graphdef, params = nnx.split(random_model(small_config(search=search), seed=0))
        lost.append(losses(SearchPlayer(NetworkSetting(Game2048(2, 3), 1.0, search, graphdef), params)).mean())
    assert lost[0] > 2 * lost[1]


def test_the_tree_search_over_exact_values_loses_nothing() -> None:
    search = SearchConfig(simulations=4, model="simulator", read_out="expectimax", chance="weighted")
    setting = NTupleSetting(Game2048(2, 3), 1.0, search, ((0, 1, 2, 3, 4, 5),))
    assert losses(SearchPlayer(setting, np.asarray(exact_network().weights))).max() < 1e-3
