"""Exact values: known optima, known numbers of positions, and the Bellman equations by the plain rules."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import positions, rules

from muzero2048.exact import Solution, solve
from muzero2048.game.env import Game2048
from muzero2048.game.symmetry import symmetries, view_cells

SIZES = [(2, 2), (2, 3)]


def cells_of(solution: Solution, numbers: np.ndarray) -> np.ndarray:
    return np.array(solution.game.to_cells(solution.board(numbers)))


def number_of(solution: Solution, board: rules.Board) -> int:
    return int(solution.number(solution.game.from_cells(jnp.asarray(board, jnp.uint8))))


@pytest.mark.parametrize(("size", "score"), [((2, 2), 66.964149), ((2, 3), 480.258272)])
def test_the_optimal_expected_score(size: tuple[int, int], score: float) -> None:
    solution = solve(Game2048(*size))
    empty = ((0,) * size[1],) * size[0]
    expected = 0.0
    for first, p in rules.chance_probabilities(empty).items():
        one = rules.spawn(empty, first)
        for second, q in rules.chance_probabilities(one).items():
            expected += float(p * q) * solution.states[number_of(solution, rules.spawn(one, second))]
    assert expected == pytest.approx(score, abs=1e-6)


@pytest.mark.parametrize(("size", "count"), [((2, 2), 110), ((2, 3), 21_752)])
def test_the_number_of_positions_up_to_symmetry(size: tuple[int, int], count: int) -> None:
    solution = solve(Game2048(*size))
    numbers = np.flatnonzero(solution.reachable)
    cells = cells_of(solution, numbers).reshape(len(numbers), -1)
    views = symmetries(*size)
    seen = [view_cells(views, jnp.full(1, v), jnp.asarray(cells)) for v in range(views.num_views)]
    codes = np.array(seen).astype(np.int64) @ 16 ** np.arange(cells.shape[1])
    assert len(np.unique(codes.min(axis=0))) == count


@functools.cache
def value(board: rules.Board) -> float:
    """V(s) by recursion over the plain rules."""
    moves = [rules.afterstate(board, action) for action in rules.ACTIONS]
    return max((reward + expectation(after) for after, reward in moves if after != board), default=0.0)


@functools.cache
def expectation(afterstate: rules.Board) -> float:
    return sum(float(p) * value(rules.spawn(afterstate, c)) for c, p in rules.chance_probabilities(afterstate).items())


def test_every_value_of_2x2_equals_the_recursion() -> None:
    solution = solve(Game2048(2, 2))
    numbers = np.flatnonzero(solution.reachable)
    boards = [positions.as_board(board) for board in cells_of(solution, numbers)]
    np.testing.assert_allclose(solution.states[numbers], [value(board) for board in boards], rtol=1e-12)
    for board in boards:
        for after, _ in (rules.afterstate(board, action) for action in rules.ACTIONS):
            if after != board:
                assert solution.afterstates[number_of(solution, after)] == pytest.approx(expectation(after))


@pytest.mark.parametrize("size", SIZES)
def test_numbers_and_boards(size: tuple[int, int]) -> None:
    solution = solve(Game2048(*size))
    numbers = np.arange(0, len(solution.states), 7)
    np.testing.assert_array_equal(solution.number(solution.board(numbers)), numbers)
    # Inside a jitted search too.
    found = jax.jit(solution.number)(solution.board(numbers))
    np.testing.assert_array_equal(found, numbers)


def test_a_board_of_nine_cells_is_refused() -> None:
    with pytest.raises(ValueError, match="board 3x3: exact values are tabled for up to 6 cells"):
        solve(Game2048(3, 3))
