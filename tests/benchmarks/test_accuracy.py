"""The accuracy of searches where exact values are known."""

import jax
import numpy as np
import pytest
from reference import exact as reference

from benchmarks.accuracy import ROOTS, Roots, bench, board_number, errors, exact_q, late_board, mcts_errors, tabulate
from muzero2048.search.config import SearchConfig


def test_late_roots_and_their_exact_values() -> None:
    exact = tabulate(2, 2)
    board = late_board(exact, ROOTS[0])
    cells = exact.game.to_cells(board).reshape(-1, 4).astype(int)
    assert len(cells) == 68
    assert (sum(2 ** cells[:, i] * (cells[:, i] > 0) for i in range(4)) >= 44).all()
    numbers = jax.jit(board_number, static_argnums=0)(exact.game, board)
    assert exact_q(exact, board).max(axis=1) == pytest.approx(exact.states[np.array(numbers)])


@pytest.mark.parametrize("size", [(2, 2), (2, 3)])
def test_tables_of_exact_values_equal_the_reference(size: tuple[int, int]) -> None:
    found, truth = tabulate(*size), reference.solve(*size)
    np.testing.assert_array_equal(found.reachable, np.flatnonzero(truth.reachable))
    np.testing.assert_allclose(found.states, np.where(truth.reachable, truth.states, 0), rtol=1e-12)
    moves = reference.moves(truth.boards(found.reachable).reshape(len(found.reachable), -1), *size)
    afters = np.unique(np.concatenate([after[legal] for after, _, legal in moves]))
    np.testing.assert_allclose(found.afterstates[afters], truth.afterstates[afters], rtol=1e-12)
    assert np.count_nonzero(found.afterstates) == np.count_nonzero(truth.afterstates[afters])


def test_a_board_too_large_for_tables_is_refused() -> None:
    with pytest.raises(ValueError, match="board 3x3: exact values are tabled for up to 6 cells"):
        tabulate(3, 3)


@pytest.mark.slow
def test_the_search_comes_near_the_exact_values() -> None:
    exact = tabulate(2, 2)
    board = late_board(exact, ROOTS[0])
    few = errors(exact, board, SearchConfig(simulations=64))
    many = errors(exact, board, SearchConfig(simulations=1024))
    assert many["zero", "expectimax"] < 0.05
    assert many["exact", "expectimax"] < 0.02
    assert all(many[key] < 0.5 * few[key] for key in few)


@pytest.mark.slow
@pytest.mark.parametrize("backup", ["mean", "expectimax"])
def test_mcts_comes_near_the_exact_values(backup: str) -> None:
    exact = tabulate(2, 2)
    board = late_board(exact, ROOTS[0])
    few, many = (mcts_errors(exact, board, n, backup) for n in (64, 4096))
    assert max(many.values()) < 0.2
    assert all(many[leaves] < 0.2 * few[leaves] for leaves in few)
    one = mcts_errors(exact, board, 1, backup)  # the values of the network, which are exact
    assert one["exact"] < 1e-5
    assert one["zero"] > 3


@pytest.mark.slow
@pytest.mark.parametrize("chance", ["ratio", "deficit", "quasi_random"])
def test_4096_simulations_with_zero_leaves(chance: str) -> None:
    exact = tabulate(2, 2)
    found = errors(exact, late_board(exact, ROOTS[0]), SearchConfig(simulations=4096, chance=chance))
    assert found["zero", "mean"] < 0.2
    assert found["zero", "expectimax"] < 0.05


@pytest.mark.slow
def test_rows_of_the_benchmark() -> None:
    found = bench((Roots(2, 2, least_sum=50, most=8),), simulations=(5,), chance_rules=("ratio",))
    assert len(found) == 2 * 2 + 2 * 2
    assert found[0].name == "2x2, zero leaves, ratio, mean, N = 5"
    assert all(row.unit == "points" and row.value >= 0 for row in found)
