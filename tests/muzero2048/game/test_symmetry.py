"""Tests of the views (symmetries) of a board: playing and viewing commute."""

import jax.numpy as jnp
import numpy as np
import pytest
from reference import positions, rules

from muzero2048.game.symmetry import symmetries, view_actions, view_cells, view_policies, view_spawn_codes

SHAPES = [(4, 4), (3, 3), (2, 2), (2, 3), (3, 2), (3, 4)]


def turn(board: rules.Board, view: int) -> rules.Board:
    """Return the board in a view, computed by the function under test."""
    shape = (len(board), len(board[0]))
    cells = jnp.asarray(np.array(board, np.uint8).reshape(1, -1))
    return positions.as_board(view_cells(symmetries(*shape), jnp.array([view]), cells).reshape(shape))


@pytest.mark.parametrize("shape", SHAPES)
def test_all_views_of_a_board(shape: tuple[int, int]) -> None:
    board = positions.as_board(np.arange(shape[0] * shape[1]).reshape(shape))
    views = [turn(board, view) for view in range(symmetries(*shape).num_views)]
    assert len(views) == (8 if shape[0] == shape[1] else 4)
    assert set(views) == set(rules.symmetries(board))
    assert len(set(views)) == len(views)
    assert views[0] == board


@pytest.mark.parametrize("shape", SHAPES)
def test_playing_and_viewing_commute(rng: np.random.Generator, shape: tuple[int, int]) -> None:
    views = symmetries(*shape)
    for _ in range(3):
        board = positions.random_board(rng, *shape, largest=3)
        for view in range(views.num_views):
            for action in rules.ACTIONS:
                after, reward = rules.afterstate(board, action)
                seen = int(view_actions(views, jnp.array([view]), jnp.array([[action]]))[0, 0])
                assert rules.afterstate(turn(board, view), seen) == (turn(after, view), reward)


@pytest.mark.parametrize("shape", SHAPES)
def test_spawns_move_along(shape: tuple[int, int]) -> None:
    views = symmetries(*shape)
    empty = ((0,) * shape[1],) * shape[0]
    codes = jnp.arange(2 * shape[0] * shape[1])
    for view in range(views.num_views):
        seen = view_spawn_codes(views, jnp.array([view]), codes[None])[0]
        for code in codes.tolist():
            assert rules.spawn(empty, int(seen[code])) == turn(rules.spawn(empty, code), view)


@pytest.mark.parametrize("shape", [(4, 4), (2, 3)])
def test_policies_move_with_their_actions(shape: tuple[int, int]) -> None:
    views = symmetries(*shape)
    policy = jnp.array([0.1, 0.2, 0.3, 0.4])
    batch = jnp.arange(views.num_views)
    seen = view_policies(views, batch, jnp.broadcast_to(policy, (views.num_views, 2, 4)))
    actions = view_actions(views, batch, jnp.broadcast_to(jnp.arange(4), (views.num_views, 4)))
    for view in range(views.num_views):
        for action in rules.ACTIONS:
            assert (seen[view, :, actions[view, action]] == policy[action]).all()


def test_view_0_is_the_identity() -> None:
    for shape in SHAPES:
        views = symmetries(*shape)
        for permutation in views:
            assert permutation[0].tolist() == list(range(permutation.shape[1]))
