"""The exact solver, compared with plain recursion, an independent solver, and the results of two other solvers."""

import numpy as np
import pytest
from reference import exact, rules
from reference.positions import as_board

from ntuple.exact.positions import canonical
from ntuple.exact.solver import first_positions, solve
from ntuple.game.bitboard import Board, decode, encode, make_rules
from tests.ntuple.exact.solutions import solution

OPTIMA = {(2, 2): (110, 66.964149), (2, 3): (21_752, 480.258272), (3, 2): (21_752, 480.258272)}


@pytest.mark.parametrize("shape", OPTIMA)
def test_positions_and_optima(shape: tuple[int, int]) -> None:
    asked = solution(*shape)
    assert asked.solved.states.size == OPTIMA[shape][0]
    assert sum(p for p, _, _ in first_positions(make_rules(*shape), "2048")) == pytest.approx(1)
    assert asked.start().expected == pytest.approx(OPTIMA[shape][1], abs=1e-6)


@pytest.mark.parametrize(("tiles", "worst"), [(((2, 4, 0), (0, 8, 2)), 36), (((2, 8, 0), (0, 0, 0)), 32)])
def test_best_and_worst_follow_the_play_that_is_optimal_for_the_expected_value(tiles: rules.Board, worst: int) -> None:
    """Guei 2023, sec. 5.4.3. Play that maximised the worst value itself would have 4 points more."""
    levels = np.array([[tile.bit_length() - 1 if tile else 0 for tile in row] for row in tiles])
    state = solution(2, 3).look_up(levels).state
    assert state is not None
    assert state.worst == worst
    start = solution(2, 3).start()
    assert (round(start.expected, 6), start.best, start.worst) == (480.258272, 1260, 40)


def test_the_dense_solver_agrees() -> None:
    dense = exact.solve(2, 3)
    game, solved = make_rules(2, 3), solution(2, 3).solved
    cells = np.stack([decode(game, Board(word, np.uint64(0))) for word in solved.states])
    np.testing.assert_allclose(dense.states[dense.number(cells)], solved.values.expected, rtol=1e-9)
    boards = dense.boards(np.flatnonzero(dense.reachable)).tolist()
    assert len({min(rules.symmetries(as_board(board))) for board in boards}) == solved.states.size
    afters = np.stack([decode(game, Board(word, np.uint64(0))) for word in solved.afters])
    expected = [solution(2, 3).look_up(after).afterstate.expected for after in afters]
    np.testing.assert_allclose(dense.afterstates[dense.number(afters)], expected, rtol=1e-9)


def test_views_of_a_board_have_one_name() -> None:
    game = make_rules(3, 3)
    board = ((1, 2, 0), (0, 3, 1), (4, 0, 2))
    words = [encode(np.array(view)).lo for view in rules.symmetries(board)]
    assert {int(canonical(game, word)) for word in words} == {int(min(words))}


def test_a_board_too_large_to_be_solved_is_refused() -> None:
    with pytest.raises(ValueError, match="3x4 cells has too many positions: give a tile that ends the game"):
        solve(3, 4)


def test_no_more_memory_is_taken_than_given() -> None:
    needed = 45 * 110 + 12 * 70  # 2x2 has 110 states and fewer afterstates
    assert solve(2, 2, most_bytes=needed).states.size == 110
    with pytest.raises(MemoryError, match=r"the positions up to \d+, the sum of their tiles, need [\d,]+ bytes"):
        solve(3, 3, most_bytes=1e6)
