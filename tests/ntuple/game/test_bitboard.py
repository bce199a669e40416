import random

import numpy as np
import pytest
from reference import rules as reference
from scipy import stats

from ntuple.core.rules import LEFT, RIGHT
from ntuple.game.bitboard import Board, afterstate, make_rules
from ntuple.game.rng import stream
from tests.ntuple.drivers import afterstates, spawns, to_board, to_reference

SHAPES = [(4, 4), (3, 3), (2, 3), (3, 2), (2, 2), (1, 4), (4, 3)]


@pytest.mark.parametrize("action", [LEFT, RIGHT])
def test_all_rows_in_both_directions(action: int) -> None:
    rules = make_rules(4, 4)
    rows = np.arange(65536, dtype=np.uint64)
    # The row is the third row of the board; all other rows are empty.
    boards = np.stack([rows << np.uint64(32), np.zeros_like(rows)], axis=1)
    after, rewards = np.zeros_like(boards), np.zeros(65536, np.uint64)
    afterstates(rules, boards, action, after, rewards)
    for row in range(65536):
        tiles = tuple(row >> 4 * i & 15 for i in range(4))
        slid, reward = reference.slide(tiles[::-1] if action == RIGHT else tiles)
        slid = slid[::-1] if action == RIGHT else slid
        lo = sum((tile & 15) << 4 * i for i, tile in enumerate(slid)) << 32
        hi = sum((tile >> 4) << 4 * i for i, tile in enumerate(slid)) << 32
        assert (int(after[row, 0]), int(after[row, 1]), int(rewards[row])) == (lo, hi, reward), tiles


def _equal_moves(rules, board: reference.Board) -> list[tuple[reference.Board, int]]:
    """Compare all four moves with the reference, and return its afterstates and rewards."""
    expected = [reference.afterstate(board, action) for action in reference.ACTIONS]
    for action, (after, reward) in zip(reference.ACTIONS, expected, strict=True):
        moved, points = afterstate(rules, to_board(board), action)
        assert (to_reference(rules, moved), int(points)) == (after, reward), (board, action)
    return expected


@pytest.mark.parametrize("shape", SHAPES)
def test_random_games_move_by_move(shape: tuple[int, int]) -> None:
    rules = make_rules(*shape)
    rng = random.Random(5)
    for _ in range(8):
        board = ((0,) * shape[1],) * shape[0]
        for _ in range(2):
            board = reference.spawn(board, rng.choice(list(reference.chance_probabilities(board))))
        while not reference.is_over(board):
            expected = _equal_moves(rules, board)
            legal = [action for action in reference.ACTIONS if expected[action][0] != board]
            after = expected[rng.choice(legal)][0]
            board = reference.spawn(after, rng.choice(list(reference.chance_probabilities(after))))
        _equal_moves(rules, board)


@pytest.mark.parametrize("shape", [(4, 4), (3, 4), (2, 2)])
def test_tiles_up_to_131072_and_beyond(shape: tuple[int, int]) -> None:
    rules = make_rules(*shape)
    rng = random.Random(6)
    for _ in range(400):
        tiles = rng.choices([0, 1, 14, 15, 16, 17, 18], k=shape[0] * shape[1])
        board = tuple(tuple(tiles[r * shape[1] : (r + 1) * shape[1]]) for r in range(shape[0]))
        _equal_moves(rules, board)


@pytest.mark.parametrize(
    "board",
    [
        ((0, 3, 0, 1), (2, 0, 16, 4), (5, 15, 0, 6), (0, 0, 17, 0)),
        ((0, 1, 2), (3, 0, 16)),
        ((0, 0), (0, 0)),
    ],
)
def test_spawn_frequencies(board: reference.Board) -> None:
    rules = make_rules(len(board), len(board[0]))
    draws = 200_000
    boards = np.zeros((draws, 2), np.uint64)
    spawns(rules, to_board(board), stream(np.uint64(3), np.uint64(1)), boards)
    distinct, counts = np.unique(boards, axis=0, return_counts=True)
    seen = {to_reference(rules, Board(lo, hi)): n for (lo, hi), n in zip(distinct, counts, strict=True)}
    expected = {reference.spawn(board, code): p for code, p in reference.chance_probabilities(board).items()}
    assert set(seen) == set(expected)
    observed = [seen[after] for after in expected]
    assert stats.chisquare(observed, [float(p) * draws for p in expected.values()]).pvalue > 1e-3


def test_move_that_frees_the_only_cell_of_a_full_board() -> None:
    rules = make_rules(4, 4)
    board = ((1, 2, 1, 2), (2, 1, 2, 1), (1, 2, 3, 3), (2, 1, 2, 1))
    assert [after != board for after, _ in _equal_moves(rules, board)] == [False, True, False, True]
    after, reward = afterstate(rules, to_board(board), LEFT)
    assert int(reward) == 16
    boards = np.zeros((50, 2), np.uint64)
    spawns(rules, after, np.uint64(1), boards)
    for lo, hi in boards:
        spawned = to_reference(rules, Board(lo, hi))
        assert spawned[2][:3] == (1, 2, 4)
        assert spawned[2][3] in (1, 2)


@pytest.mark.parametrize("shape", [(5, 4), (4, 0), (1, 1)])
def test_impossible_boards_are_refused(shape: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match=f"board of {shape[0]}x{shape[1]}"):
        make_rules(*shape)
