"""The game of `serve` and `play` against the rules and the random numbers in plain Python."""

import numpy as np
import pytest
from reference import positions, rules, splitmix

from launch.errors import UserError
from launch.evaluation.boards.analyse import NAMES
from launch.evaluation.boards.notation import parse_named_board, parse_state
from launch.viewing import game
from ntuple.core.games.definition import State
from ntuple.core.games.game_2048 import GAME_2048
from ntuple.core.games.known import GAMES

SEEDS = (0, 1, 2**32 - 1)


def spawned(board: rules.Board, seed: int, number: int) -> rules.Board:
    """Return the board after spawn `number` of a seed: the first draw of that stream."""
    return rules.spawn(board, splitmix.Spawns(splitmix.stream(seed, number)).draw(board))


@pytest.mark.parametrize(("rows", "columns"), [(4, 4), (3, 4), (2, 3)])
@pytest.mark.parametrize("seed", SEEDS)
def test_an_opening_has_the_spawns_0_and_1(rows: int, columns: int, seed: int):
    empty: rules.Board = ((0,) * columns,) * rows
    expected = spawned(spawned(empty, seed, 0), seed, 1)
    assert game.open_game(f"{rows}x{columns}", seed) == (State(expected), 0, 0, None)


@pytest.mark.parametrize(("rows", "columns"), [(4, 4), (3, 4), (2, 3)])
def test_moves_are_those_of_the_rules(rng: np.random.Generator, rows: int, columns: int):
    """Boards with tiles of all sizes: words above 2^63 are signed integers if they are not handled as words."""
    for moves in range(60):
        board = positions.random_board(rng, rows, columns, largest=17)
        described = game.describe(State(board), GAME_2048)
        legal = [name for name, able in zip(NAMES, rules.legal_actions(board), strict=True) if able]
        assert (described["legal"], described["over"], described["next"]) == (legal, not legal, "")
        for action, name in enumerate(NAMES):
            if name not in legal:
                with pytest.raises(UserError, match=f"{name} is not legal"):
                    game.make_move(State(board), GAME_2048, name, 7, moves)
                continue
            after, reward = rules.afterstate(board, action)
            step = game.make_move(State(board), GAME_2048, name, 7, moves)
            assert step.reward == reward
            assert step.state == State(spawned(after, 7, 2 + moves))
            row, column, tile = step.spawn
            assert (after[row][column], 2 ** step.state.board[row][column]) == (0, tile)


def test_two_players_get_the_same_spawn_where_their_empty_cells_are_the_same():
    """Two boards whose other tiles differ: the cell and the tile of the spawn do not depend on them."""
    states = [State(((1, 1, 0), (level, 0, 0))) for level in (3, 5)]
    drawn = set()
    for moves in range(40):
        one, other = (game.make_move(state, GAME_2048, "left", 3, moves).spawn for state in states)
        assert one == other
        drawn.add(one)
    assert len({(row, column) for row, column, _ in drawn}) == 4
    assert {tile for *_, tile in drawn} == {2, 4}


@pytest.mark.parametrize("board", ["2584 4x4", "2584-hard 3x3", "threes 4x4", "threes-easy 4x4", "threes 2x3"])
def test_games_follow_their_definition(board: str):
    """Whole games: each board is the end of an event of the definition, with the points of move and tile."""
    kind, rows, columns = parse_named_board(board)
    hints = set()
    for seed in range(4):
        state, score, *_ = game.open_game(board, seed)
        tiles = [level for line in state.board for level in line if level]
        assert (len(tiles), score) == (kind.initial_tiles, sum(map(kind.place_points, tiles)))
        assert not kind.fault_of(state)
        moves = 0
        while legal := game.describe(state, kind)["legal"]:
            assert legal == [name for action, name in enumerate(NAMES) if kind.move(state, action)]
            name = legal[(seed + moves) % len(legal)]
            move = kind.move(state, NAMES.index(name))
            assert move
            step = game.make_move(state, kind, name, seed, moves)
            events = [event for event in kind.events(move.after) if event.state == step.state]
            assert step.reward == move.points + events[0].points
            row, column, tile = step.spawn
            assert (move.after.board[row][column], kind.tiles[step.state.board[row][column]]) == (0, tile)
            described = game.describe(step.state, kind)
            hints.add(described["next"])
            assert parse_state(described["position"], rows, columns, kind) == step.state
            state, moves = step.state, moves + 1
    assert hints >= ({"1", "2", "3"} if kind.bag else {""})


def test_openings_differ_from_seed_to_seed():
    states = [game.open_game("threes 4x4", seed).state for seed in range(60)]
    assert {state.hint for state in states} == {1, 2, 3}
    assert len(set(states)) == 60
    assert GAMES["threes"].hint_name(4) == "bonus"
