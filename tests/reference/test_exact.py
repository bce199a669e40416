"""The dense reference solver: known optima, known numbers of positions, and the Bellman equations by plain rules."""

import functools

import numpy as np
import pytest
from reference import exact, positions, rules


@pytest.mark.parametrize(("size", "score"), [((2, 2), 66.964149), ((2, 3), 480.258272)])
def test_the_optimal_expected_score(size: tuple[int, int], score: float) -> None:
    solution = exact.solve(*size)
    empty = ((0,) * size[1],) * size[0]
    expected = 0.0
    for first, p in rules.chance_probabilities(empty).items():
        one = rules.spawn(empty, first)
        for second, q in rules.chance_probabilities(one).items():
            number = solution.number(np.array([rules.spawn(one, second)]))
            expected += float(p * q) * solution.states[number[0]]
    assert expected == pytest.approx(score, abs=1e-6)


@pytest.mark.parametrize(("size", "count"), [((2, 2), 110), ((2, 3), 21_752)])
def test_the_number_of_positions_up_to_symmetry(size: tuple[int, int], count: int) -> None:
    solution = exact.solve(*size)
    boards = solution.boards(np.flatnonzero(solution.reachable)).tolist()
    assert len({min(rules.symmetries(positions.as_board(board))) for board in boards}) == count


@functools.cache
def value(board: rules.Board) -> float:
    """Return V(s) by recursion over the plain rules."""
    moves = [rules.afterstate(board, action) for action in rules.ACTIONS]
    return max((reward + expectation(after) for after, reward in moves if after != board), default=0.0)


@functools.cache
def expectation(afterstate: rules.Board) -> float:
    return sum(float(p) * value(rules.spawn(afterstate, c)) for c, p in rules.chance_probabilities(afterstate).items())


def test_every_value_of_2x2_equals_the_recursion() -> None:
    solution = exact.solve(2, 2)
    numbers = np.flatnonzero(solution.reachable)
    boards = [positions.as_board(board) for board in solution.boards(numbers)]
    np.testing.assert_array_equal(solution.number(np.array(boards)), numbers)
    np.testing.assert_allclose(solution.states[numbers], [value(board) for board in boards], rtol=1e-12)
    for board in boards:
        for after, _ in (rules.afterstate(board, action) for action in rules.ACTIONS):
            if after != board:
                found = solution.afterstates[solution.number(np.array([after]))]
                assert found == pytest.approx(expectation(after))
