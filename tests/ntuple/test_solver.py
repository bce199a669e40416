"""The exact solver against plain recursion, an independent solver, and the numbers that two others found."""

import functools

import jax.numpy as jnp
import numpy as np
import pytest
from reference import rules

from muzero2048 import exact
from muzero2048.env import Game2048
from ntuple.board import Board, decode, make_rules
from ntuple.solver import LEVELS, Layer, canonize, first_boards, solve

OPTIMA = {(2, 2): (110, 66.964149), (2, 3): (21_752, 480.258272), (3, 2): (21_752, 480.258272)}
NO_TILE = LEVELS + 1


def total_of(word: int) -> int:
    return sum(1 << (word >> 4 * i & 15) for i in range(16) if word >> 4 * i & 15)


def start_value(layers: dict[int, Layer], shape: tuple[int, int], measure: str) -> float:
    values = []
    for p, code in first_boards(*shape):
        layer = layers[total_of(int(code))]
        place = np.searchsorted(layer.states, code)
        assert layer.states[place] == code
        values.append(p * getattr(layer.values, measure)[place])
    return float(sum(values))


def recursion(until: int, tile: int):
    """(expected, best, worst, reach) of a board that waits for a move, by the definition."""

    @functools.cache
    def state(board: rules.Board) -> tuple[float, int, int, float]:
        largest = max(rules.cells(board))
        moves = []
        if largest < until:
            found = [rules.afterstate(board, action) for action in rules.ACTIONS]
            moves = [(reward, after_state(after)) for after, reward in found if after != board]
        expected, best, worst = (max((r + value[i] for r, value in moves), default=0) for i in range(3))
        reach = max((value[3] for _, value in moves), default=0.0)
        return expected, best, worst, 1.0 if largest >= tile else reach

    @functools.cache
    def after_state(after: rules.Board) -> tuple[float, int, int, float]:
        chances = rules.chance_probabilities(after)
        found = [(float(p), state(rules.spawn(after, code))) for code, p in chances.items()]
        expected, reach = (sum(p * value[i] for p, value in found) for i in (0, 3))
        return expected, max(value[1] for _, value in found), min(value[2] for _, value in found), reach

    return state


@pytest.mark.parametrize("shape", OPTIMA)
def test_positions_and_optima(shape: tuple[int, int]) -> None:
    layers = solve(*shape)
    assert sum(layer.states.size for layer in layers.values()) == OPTIMA[shape][0]
    assert sum(p for p, _ in first_boards(*shape)) == pytest.approx(1)
    assert start_value(layers, shape, "expected") == pytest.approx(OPTIMA[shape][1], abs=1e-6)


@pytest.mark.parametrize(("shape", "until", "tile"), [((2, 2), NO_TILE, 4), ((2, 3), 4, 4), ((1, 4), NO_TILE, 3)])
def test_every_state_has_the_values_of_plain_recursion(shape: tuple[int, int], until: int, tile: int) -> None:
    game, state = make_rules(*shape), recursion(until, tile)
    seen = 0
    for total, layer in solve(*shape, until, tile).items():
        assert (np.diff(layer.states.astype(np.int64)) > 0).all()
        for i, word in enumerate(layer.states):
            assert total_of(int(word)) == total
            board = tuple(tuple(row) for row in decode(game, Board(word, np.uint64(0))).tolist())
            assert [values[i] for values in layer.values] == pytest.approx(state(board), rel=1e-12)
            seen += 1
    assert seen > 20


def test_the_dense_solver_of_the_search_agrees() -> None:
    dense = exact.solve(Game2048(2, 3))
    game, layers = make_rules(2, 3), solve(2, 3)
    words = np.concatenate([layer.states for layer in layers.values()])
    cells = np.stack([decode(game, Board(word, np.uint64(0))) for word in words])
    numbers = np.asarray(dense.number(dense.game.from_cells(jnp.asarray(cells, jnp.uint8))))
    expected = np.concatenate([layer.values.expected for layer in layers.values()])
    np.testing.assert_allclose(dense.states[numbers], expected, rtol=1e-9)


def test_views_of_a_board_have_one_name() -> None:
    game = make_rules(3, 3)
    board = ((1, 2, 0), (0, 3, 1), (4, 0, 2))
    words = [sum(cell << 4 * (4 * r + c) for r, row in enumerate(view) for c, cell in enumerate(row))
             for view in rules.symmetries(board)]  # fmt: skip
    codes = np.array(words, np.uint64)
    canonize(game, codes)
    assert set(codes.tolist()) == {min(words)}


def test_a_board_too_large_to_be_solved_is_refused() -> None:
    with pytest.raises(ValueError, match="3x4 cells has too many positions: give a tile that ends the game"):
        solve(3, 4)


@pytest.mark.slow
def test_three_by_three() -> None:
    layers = solve(3, 3)
    assert sum(layer.states.size for layer in layers.values()) == 48_713_519
    assert start_value(layers, (3, 3), "expected") == pytest.approx(5468.486797, abs=1e-6)
