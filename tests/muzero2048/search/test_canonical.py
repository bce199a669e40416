"""Tests of canonical views: against searches of the canonical board by the same model, and equal for all views."""

import numpy as np
import pytest
from flax import nnx

from muzero2048.game.env import Game2048
from muzero2048.muzero.config import ChanceConfig
from muzero2048.muzero.network_player import NetworkSetting
from muzero2048.players.expectimax_player import make_expectimax_player
from muzero2048.players.search_player import SearchPlayer
from muzero2048.search.config import GumbelConfig, NetworkExpectimaxConfig, SearchConfig
from tests.muzero2048.search.test_views import all_views, analyse, boards_of
from tests.muzero2048.toy_model import random_model, small_config

TREE = SearchConfig(simulations=12, gumbel=GumbelConfig(considered_actions=2))
PLIES = NetworkExpectimaxConfig(plies=2)
IN_THE_RULES = NetworkExpectimaxConfig(plies=2, model="simulator")  # a tree would try spawns by their places


def player_of(search: SearchConfig | NetworkExpectimaxConfig, rows: int, columns: int, canonical: bool) -> SearchPlayer:
    """Return a player whose parameters do not depend on `canonical`."""
    chance = ChanceConfig("learned", 2 * rows * columns)
    config = small_config("cells", rows=rows, columns=columns, canonical=canonical, chance=chance)
    graphdef, params = nnx.split(random_model(config, seed=4))
    tree = search if isinstance(search, SearchConfig) else TREE
    setting = NetworkSetting(Game2048(rows, columns), 0.9, tree, graphdef)
    return SearchPlayer(setting, params) if tree is search else make_expectimax_player(setting, params, search)


def canonical_of(board: np.ndarray) -> tuple[np.ndarray, list[int]]:
    """Return the view with the largest sum of 2^level 0.9^i, with the names of its moves on the board."""
    return max(all_views(board), key=lambda seen: sum(2.0**x * 0.9**i for i, x in enumerate(seen[0].ravel().tolist())))


def unsymmetric_boards(rows: int, columns: int) -> np.ndarray:
    """Return boards whose views differ; of two equal views, either may be searched."""
    views = [[view.tobytes() for view, _ in all_views(board)] for board in boards_of(rows, columns)]
    boards = [board for board, seen in zip(boards_of(rows, columns), views, strict=True) if len({*seen}) == len(seen)]
    assert len(boards) > 2
    return np.array(boards)


@pytest.mark.parametrize("search", [TREE, pytest.param(PLIES, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "shape", [(2, 2), *(pytest.param(shape, marks=pytest.mark.slow) for shape in [(2, 3), (3, 3)])]
)
def test_boards_are_searched_in_their_canonical_views(
    search: SearchConfig | NetworkExpectimaxConfig, shape: tuple[int, int]
) -> None:
    boards = unsymmetric_boards(*shape)
    found = analyse(player_of(search, *shape, canonical=True), boards)
    views, names = zip(*map(canonical_of, boards), strict=True)
    assert any(moves != [0, 1, 2, 3] for moves in names)
    expected = analyse(player_of(search, *shape, canonical=False), np.array(views))
    for i, moves in enumerate(names):
        np.testing.assert_allclose(found.value[i][moves], expected.value[i], rtol=1e-4, atol=1e-3)
        assert found.effort[i][moves].tolist() == expected.effort[i].tolist()
        assert found.action[i] == moves[expected.action[i]]


@pytest.mark.parametrize("search", [IN_THE_RULES, pytest.param(TREE, marks=pytest.mark.slow)])
def test_all_views_of_a_board_get_the_same_values(search: SearchConfig | NetworkExpectimaxConfig) -> None:
    boards, player = unsymmetric_boards(2, 3), player_of(search, 2, 3, canonical=True)
    found, differ = analyse(player, boards), 0.0
    for i, board in enumerate(boards):
        views, names = zip(*all_views(board), strict=True)
        of_views = analyse(player, np.array(views))
        plain = analyse(player_of(search, 2, 3, canonical=False), np.array(views))
        for v, moves in enumerate(names):
            np.testing.assert_allclose(of_views.value[v], found.value[i][moves], rtol=1e-4, atol=1e-3)
            same, other = plain.value[0][moves], plain.value[v]
            both = np.isfinite(same) & np.isfinite(other)
            differ = max(differ, np.abs(same[both] - other[both]).max(initial=0.0))
    assert differ > 1.0  # the network is not symmetric
