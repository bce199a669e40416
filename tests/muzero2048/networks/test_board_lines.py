"""Tests of the lines, squares and rectangles of a board against plain loops, and against the rules of the game."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import positions, rules

from muzero2048.networks.board_lines import from_lines, look_up, placed_cells, placed_products, placements, to_lines
from tests.slow import others_slow

SHAPES = [(2, 2), (2, 3), (3, 2), (3, 3), (4, 2), (4, 4)]
D = 3  # length of the vector of a cell


def latents(shape: tuple[int, int], boards: int = 8) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(boards, shape[0] * shape[1], D)).astype(np.float32)


@pytest.mark.parametrize("shape", SHAPES)
def test_lines_equal_a_plain_reading(shape: tuple[int, int]) -> None:
    """Each board of the batch has an action of its own; the cells that a short line lacks, and missing lines, are 0."""
    state, action, size = latents(shape), np.arange(8) % 4, max(shape)
    found = to_lines(jnp.asarray(state), jnp.asarray(action), shape)
    expected = np.zeros((8, size, size, D), np.float32)
    for board in range(8):
        for i, line in enumerate(rules.lines(*shape, int(action[board]))):
            for place, cell in enumerate(line):
                expected[board, i, place] = state[board, cell]
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(from_lines(found, jnp.asarray(action), shape), state)


@pytest.mark.parametrize("shape", [(2, 3), (4, 2), (4, 4)])
def test_gradients_reach_the_cells_that_were_read(shape: tuple[int, int], rng: np.random.Generator) -> None:
    """The gradient of sum(w . lines) at a cell is w at its place in the lines, and of sum(u . cells) u at the cell."""
    state, action, size = latents(shape), np.arange(8) % 4, max(shape)
    w, u = rng.normal(size=(8, size, size, D)).astype(np.float32), rng.normal(size=state.shape).astype(np.float32)
    to = jax.grad(lambda x: jnp.sum(w * to_lines(x, jnp.asarray(action), shape)))(jnp.asarray(state))
    back = jax.grad(lambda x: jnp.sum(u * from_lines(x, jnp.asarray(action), shape)))(jnp.asarray(w))
    expected_to, expected_back = np.zeros_like(state), np.zeros_like(w)
    for board in range(8):
        for i, line in enumerate(rules.lines(*shape, int(action[board]))):
            for place, cell in enumerate(line):
                expected_to[board, cell] = w[board, i, place]
                expected_back[board, i, place] = u[board, cell]
    np.testing.assert_array_equal(to, expected_to)
    np.testing.assert_array_equal(back, expected_back)


def test_a_look_up_and_its_gradient(rng: np.random.Generator) -> None:
    """Equal to reading the rows, and to adding the change of each reader to its row; a row without readers gets 0."""
    table, rows = rng.normal(size=(5, D)).astype(np.float32), np.array([[0, 3, 3], [4, 3, 0]])
    change = rng.normal(size=(2, 3, D)).astype(np.float32)
    np.testing.assert_array_equal(look_up(jnp.asarray(table), jnp.asarray(rows)), table[rows])
    found = jax.jit(jax.grad(lambda t: jnp.sum(change * look_up(t, jnp.asarray(rows)))))(jnp.asarray(table))
    expected = np.zeros_like(table)
    np.add.at(expected, rows, change)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert not np.any(found[1:3])


@pytest.mark.parametrize("shape", SHAPES)
def test_lines_that_slide_are_moves_of_the_game(shape: tuple[int, int], rng: np.random.Generator) -> None:
    """If each line slides towards its first cell, the board makes the move of the rules. So the wall comes first."""
    moves = [(positions.random_board(rng, *shape, largest=4), action) for _ in range(6) for action in rules.ACTIONS]
    cells = jnp.array([rules.cells(board) for board, _ in moves], jnp.float32)[..., None]
    action = jnp.array([action for _, action in moves])
    lines = np.asarray(to_lines(cells, action, shape))[..., 0].astype(int)
    slid = np.array([[rules.slide(tuple(line))[0] for line in board] for board in lines.tolist()], np.float32)
    found = np.asarray(from_lines(jnp.asarray(slid)[..., None], action, shape))[..., 0]
    expected = [rules.cells(rules.afterstate(board, action)[0]) for board, action in moves]
    np.testing.assert_array_equal(found, expected)


def plain_placements(rows: int, columns: int) -> dict[str, list[list[int]]]:
    """Return the cells of the placements of each shape, by plain loops."""
    wide = [(2, 3, row, column) for row in range(rows - 1) for column in range(columns - 2)]
    tall = [(3, 2, row, column) for column in range(columns - 1) for row in range(rows - 2)]
    # The cells of 2x3 by rows; those of 3x2 by columns.
    rects = [[(r + i) * columns + c + j for i in range(2) for j in range(3)] for _, _, r, c in wide]
    rects += [[(r + i) * columns + c + j for j in range(2) for i in range(3)] for _, _, r, c in tall]
    squares = [
        [(row + down) * columns + column + right for down in (0, 1) for right in (0, 1)]
        for row in range(rows - 1)
        for column in range(columns - 1)
    ]
    lines = rules.lines(rows, columns, rules.LEFT) + rules.lines(rows, columns, rules.UP)
    return {"lines": [list(line) for line in lines], "squares": squares, "rects": rects}


@pytest.mark.parametrize("shape", others_slow(SHAPES, (2, 3), (4, 4)))
def test_placements_equal_plain_loops(shape: tuple[int, int]) -> None:
    """Cells and products; a missing cell of a short line is 0 and has the product 0 with every cell."""
    state, size = latents(shape), max(shape)
    expected = plain_placements(*shape)
    products = placed_products(jnp.asarray(state), shape, tuple(expected))
    for (name, cells), product in zip(expected.items(), products, strict=True):
        length = size if name == "lines" else len(cells[0]) if cells else {"squares": 4, "rects": 6}[name]
        found = placements(jnp.asarray(state), shape, name)
        assert found.shape == (8, len(cells), length, D)
        padded = np.array([[*line, *[-1] * (length - len(line))] for line in cells], int).reshape(-1, length)
        np.testing.assert_array_equal(placed_cells(shape, name), padded)
        with_zero = np.concatenate([state, np.zeros((8, 1, D), np.float32)], axis=1)  # -1 reads the zeros
        np.testing.assert_array_equal(found, with_zero[:, padded])
        pairs = [(i, j) for i in range(length) for j in range(i + 1, length)]
        dots = [(found[:, :, i] * found[:, :, j]).sum(-1) / np.sqrt(D) for i, j in pairs]
        assert product.shape == (8, len(cells), len(pairs))
        np.testing.assert_allclose(product, np.stack(dots, -1), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("shape", [(2, 3), (4, 4)])
def test_gradients_of_products_reach_both_cells(shape: tuple[int, int], rng: np.random.Generator) -> None:
    """The gradient of sum(w . products) at a cell of a pair is w times the other cell / sqrt(D)."""
    state, shapes = latents(shape), ("lines", "squares", "rects")
    weights = [rng.normal(size=x.shape).astype(np.float32) for x in placed_products(jnp.asarray(state), shape, shapes)]

    @jax.jit
    @jax.grad
    def gradient(x: jax.Array) -> jax.Array:
        products = placed_products(x, shape, shapes)
        return sum((jnp.sum(w * p) for w, p in zip(weights, products, strict=True)), jnp.zeros(()))

    expected = np.zeros_like(state)
    for name, w in zip(shapes, weights, strict=True):
        placed = placed_cells(shape, name)
        pairs = [(i, j) for i in range(placed.shape[1]) for j in range(i + 1, placed.shape[1])]
        for place, cells in enumerate(placed):
            for k, (i, j) in enumerate(pairs):
                a, b = cells[i], cells[j]
                if min(a, b) >= 0:
                    expected[:, a] += w[:, place, k, None] * state[:, b] / np.sqrt(D)
                    expected[:, b] += w[:, place, k, None] * state[:, a] / np.sqrt(D)
    np.testing.assert_allclose(gradient(jnp.asarray(state)), expected, rtol=1e-4, atol=1e-5)
