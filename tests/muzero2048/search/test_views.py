"""Tests of the average over views: against searches of turned boards, and equal for all views of a board."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx
from reference import positions, rules

from muzero2048.game.env import Game2048
from muzero2048.muzero.network_player import NetworkSetting
from muzero2048.players.expectimax_player import make_expectimax_player
from muzero2048.players.search_player import SearchPlayer
from muzero2048.search.base import Plan
from muzero2048.search.config import NetworkExpectimaxConfig, SearchConfig
from muzero2048.search.views import plan_views, view_back, view_boards
from ntuple.core.interfaces import Analysis
from tests.muzero2048.toy_model import random_model, small_config

PUCT = SearchConfig(simulations=12, root="puct", views=8)
GUMBEL = SearchConfig(simulations=6, views=8)
PLIES = NetworkExpectimaxConfig(plies=1, views=8)
UP, RIGHT, DOWN, LEFT = range(4)


def player_of(search: SearchConfig | NetworkExpectimaxConfig, rows: int, columns: int) -> SearchPlayer:
    graphdef, params = nnx.split(random_model(small_config(rows=rows, columns=columns), seed=4))
    tree = search if isinstance(search, SearchConfig) else SearchConfig()
    setting = NetworkSetting(Game2048(rows, columns), 0.9, tree, graphdef)
    return SearchPlayer(setting, params) if tree is search else make_expectimax_player(setting, params, search)


def boards_of(rows: int, columns: int) -> np.ndarray:
    rng, boards = np.random.default_rng(6), []
    while len(boards) < 6:
        board = positions.random_board(rng, rows, columns, largest=6)
        boards += [] if rules.is_over(board) else [board]
    return np.array(boards, np.uint8)


def turned(board: np.ndarray, actions: list[int]) -> tuple[np.ndarray, list[int]]:
    """Turn a board by 90 degrees to the left; return it and the names of its moves on the board before."""
    return np.rot90(board), [actions[a] for a in (RIGHT, DOWN, LEFT, UP)]


def mirrored(board: np.ndarray, actions: list[int]) -> tuple[np.ndarray, list[int]]:
    return board[:, ::-1], [actions[a] for a in (UP, LEFT, DOWN, RIGHT)]


def all_views(board: np.ndarray) -> list[tuple[np.ndarray, list[int]]]:
    """Return the different views of a board that have its shape, with the names of their moves on the board."""
    found, view = [], (board, [UP, RIGHT, DOWN, LEFT])
    for _ in range(4):
        found += [view, mirrored(*view)] if view[0].shape == board.shape else []
        view = turned(*view)
    return found


def analyse(player: SearchPlayer, boards: np.ndarray) -> Analysis:
    return player.analyse(np.ascontiguousarray(boards), np.zeros(len(boards), np.uint32))


@pytest.mark.parametrize(
    ("search", "shape"),
    [
        pytest.param(PUCT, (2, 2), marks=pytest.mark.slow),
        (GUMBEL, (2, 3)),
        pytest.param(PLIES, (3, 3), marks=pytest.mark.slow),
    ],
)
def test_q_is_the_mean_over_turned_boards(
    search: SearchConfig | NetworkExpectimaxConfig, shape: tuple[int, int]
) -> None:
    boards, averaged = boards_of(*shape), player_of(search, *shape)
    single = player_of(dataclasses.replace(search, views=1), *shape)
    found = analyse(averaged, boards)
    differ = 0.0
    for i, board in enumerate(boards):
        legal = rules.legal_actions(positions.as_board(board))
        values, efforts = np.full((8, 4), np.nan), np.zeros((8, 4), int)
        for v, (view, names) in enumerate(all_views(board)):
            alone = analyse(single, view[None])
            values[v, names], efforts[v, names] = alone.value[0], alone.effort[0]
        for action in np.flatnonzero(legal):
            if efforts[:, action].any():
                np.testing.assert_allclose(found.value[i, action], np.nanmean(values[:, action]), rtol=1e-4, atol=1e-3)
                differ = max(differ, np.nanstd(values[:, action]))
            else:
                assert np.isnan(found.value[i, action])
        if isinstance(search, SearchConfig):
            assert found.effort[i].tolist() == efforts.sum(axis=0).tolist()
            if search.root == "puct":  # the policy is the share of the visits
                assert efforts.sum(axis=0)[found.action[i]] == efforts.sum(axis=0).max()
        else:
            assert found.action[i] == np.nanargmax(np.where(legal, found.value[i], np.nan))
    assert differ > 1.0  # the network is not symmetric


@pytest.mark.parametrize("search", [PUCT, *(pytest.param(one, marks=pytest.mark.slow) for one in (GUMBEL, PLIES))])
def test_all_views_of_a_board_get_the_same_move(search: SearchConfig | NetworkExpectimaxConfig) -> None:
    boards, player = boards_of(3, 3), player_of(search, 3, 3)
    found = analyse(player, boards)
    for i, board in enumerate(boards):
        views, names = zip(*all_views(board), strict=True)
        of_views = analyse(player, np.array(views))
        for v, moves in enumerate(names):
            np.testing.assert_allclose(of_views.value[v], found.value[i][list(moves)], rtol=1e-4, atol=1e-3)
        tied = search is PUCT and np.sum(found.effort[i] == found.effort[i].max()) > 1  # the first move is played
        if len({tuple(view.ravel()) for view in views}) == 8 and not tied:
            assert {moves[of_views.action[v]] for v, moves in enumerate(names)} == {found.action[i]}


def test_the_average_by_hand() -> None:
    """Two views of one 2x2 board: the board, and it mirrored, where right and left change places."""
    game, board = Game2048(2, 2), Game2048(2, 2).from_cells(jnp.array([[[1, 2], [3, 4]]], jnp.uint8))
    assert game.to_cells(view_boards(game, 2, board)).tolist() == [[[1, 2], [3, 4]], [[2, 1], [4, 3]]]
    assert view_back(game, 2, jnp.array([[1, 2, 3, 4], [5, 6, 7, 8]])).tolist() == [[[1, 2, 3, 4], [5, 8, 7, 6]]]
    plans = Plan(
        action=jnp.array([0, 1]),
        policy_target=jnp.array([[0.4, 0.3, 0.1, 0.2], [0.3, 0.2, 0.1, 0.4]]),
        q_values=jnp.array([[10.0, 20.0, 7.0, 40.0], [30.0, 50.0, 9.0, 60.0]]),
        visits=jnp.array([[3, 1, 0, 0], [2, 0, 0, 4]]),
        value=jnp.array([20.0, 60.0]),
    )
    found = plan_views(game, 2, lambda board, seeds: plans, board, jnp.zeros(1, jnp.uint32))
    # right: 0.3 and 0.4, Q 20 and 60; left: 0.2 and 0.2, never visited.
    np.testing.assert_allclose(found.policy_target, [[0.35, 0.35, 0.1, 0.2]])
    np.testing.assert_allclose(found.q_values, [[20.0, 40.0, 8.0, 45.0]])
    assert (found.visits.tolist(), found.value.tolist()) == ([[5, 5, 0, 0]], [40.0])
    assert found.action.tolist() == [0]


def test_an_action_that_no_view_visited_is_not_played() -> None:
    game, board = Game2048(2, 3), Game2048(2, 3).from_cells(jnp.ones((1, 2, 3), jnp.uint8))
    policy, visits = jnp.tile(jnp.array([0.1, 0.1, 0.7, 0.1]), (4, 1)), jnp.tile(jnp.array([0, 1, 0, 0]), (4, 1))
    plans = Plan(jnp.zeros(4, jnp.int32), policy, jnp.zeros((4, 4)), visits, jnp.zeros(4))
    found = plan_views(game, 8, lambda board, seeds: plans, board, jnp.zeros(1, jnp.uint32))
    assert found.visits.tolist() == [[0, 2, 0, 2]]  # 4 views: two of them change right and left
    assert found.action.tolist() == [1]
