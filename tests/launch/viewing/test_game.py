"""The game of `serve` and `play` against the rules and the random numbers in plain Python."""

import numpy as np
import pytest
from reference import positions, rules, splitmix

from launch.errors import UserError
from launch.evaluation.boards.analyse import NAMES
from launch.viewing import game

SEEDS = (0, 1, 2**32 - 1)


def spawned(board: rules.Board, seed: int, number: int) -> rules.Board:
    """Return the board after spawn `number` of a seed: the first draw of that stream."""
    return rules.spawn(board, splitmix.Spawns(splitmix.stream(seed, number)).draw(board))


@pytest.mark.parametrize(("rows", "columns"), [(4, 4), (3, 4), (2, 3)])
@pytest.mark.parametrize("seed", SEEDS)
def test_an_opening_has_the_spawns_0_and_1(rows: int, columns: int, seed: int):
    empty: rules.Board = ((0,) * columns,) * rows
    expected = spawned(spawned(empty, seed, 0), seed, 1)
    assert positions.as_board(game.open_game(rows, columns, seed)) == expected


@pytest.mark.parametrize(("rows", "columns"), [(4, 4), (3, 4), (2, 3)])
def test_moves_are_those_of_the_rules(rng: np.random.Generator, rows: int, columns: int):
    """Boards with tiles of all sizes: words above 2^63 are signed integers if they are not handled as words."""
    for moves in range(60):
        board = positions.random_board(rng, rows, columns, largest=17)
        described = game.describe(np.array(board))
        legal = [name for name, able in zip(NAMES, rules.legal_actions(board), strict=True) if able]
        assert (described["legal"], described["over"]) == (legal, not legal)
        for action, name in enumerate(NAMES):
            if name not in legal:
                with pytest.raises(UserError, match=f"{name} is not legal"):
                    game.make_move(np.array(board), name, 7, moves)
                continue
            after, reward = rules.afterstate(board, action)
            step = game.make_move(np.array(board), name, 7, moves)
            assert step.reward == reward
            assert positions.as_board(step.levels) == spawned(after, 7, 2 + moves)
            row, column, tile = step.spawn
            assert (after[row][column], 2 ** int(step.levels[row, column])) == (0, tile)


def test_two_players_get_the_same_spawn_where_their_empty_cells_are_the_same():
    """Two boards whose other tiles differ: the cell and the tile of the spawn do not depend on them."""
    one, other = (np.array([[1, 1, 0], [level, 0, 0]]) for level in (3, 5))
    for moves in range(40):
        assert game.make_move(one, "left", 3, moves).spawn == game.make_move(other, "left", 3, moves).spawn
    drawn = {game.make_move(one, "left", 3, moves).spawn for moves in range(40)}
    assert len({(row, column) for row, column, _ in drawn}) == 4
    assert {tile for *_, tile in drawn} == {2, 4}
