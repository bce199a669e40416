"""Tests of the environment against the plain rules and two other implementations; of random draws by chi-square."""

import functools
import itertools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from reference import positions, rules

from muzero2048.game.env import STEP_DRAWS, Game2048, where

SHAPES = [(4, 4), (3, 3), (2, 3), (3, 2), (2, 2)]
BATCH = 1024  # boards per call in most tests: one shape, so one compilation for each board size


@functools.cache
def jitted(rows: int, columns: int) -> dict[str, Callable[..., Any]]:
    """Compile the functions of the game on cells uint8[B, H, W]."""
    game = Game2048(rows, columns)

    def moves(cells: jax.Array) -> tuple[jax.Array, ...]:
        board = game.from_cells(cells)
        afterstates, rewards = zip(*(game.afterstate(board, action) for action in range(4)), strict=True)
        return (
            jnp.stack([game.to_cells(after) for after in afterstates], axis=1),
            jnp.stack(rewards, axis=1),
            jnp.stack([game.chance_probabilities(after) for after in afterstates], axis=1),
            game.legal_actions(board),
            game.is_over(board),
        )

    def place(cells: jax.Array, code: jax.Array) -> jax.Array:
        return game.to_cells(game.place(game.from_cells(cells), code))

    def spawn(key: jax.Array, cells: jax.Array) -> tuple[jax.Array, jax.Array]:
        board, code = game.spawn(key, game.from_cells(cells))
        return game.to_cells(board), code

    def step(key: jax.Array, cells: jax.Array, action: jax.Array) -> tuple[jax.Array, Any]:
        board, transition = game.step(key, game.from_cells(cells), action)
        return game.to_cells(board), transition

    def random_action(key: jax.Array, cells: jax.Array) -> jax.Array:
        return game.random_action(key, game.from_cells(cells))

    functions = (moves, place, spawn, step, random_action)
    return {function.__name__: jax.jit(function) for function in functions}


def check_moves(boards: list[rules.Board]) -> None:
    """Check all four actions on each board against the plain rules, in batches of BATCH."""
    rows, columns = len(boards[0]), len(boards[0][0])
    for some in (boards[i : i + BATCH] for i in range(0, len(boards), BATCH)):
        padded = [*some, *[some[0]] * (BATCH - len(some))]
        found = jitted(rows, columns)["moves"](np.array(padded, np.uint8))
        afterstates, rewards, chance, legal, over = map(np.asarray, found)
        for i, board in enumerate(some):
            assert tuple(legal[i]) == rules.legal_actions(board), board
            assert over[i] == rules.is_over(board), board
            for action in rules.ACTIONS:
                after, reward = rules.afterstate(board, action)
                assert positions.as_board(afterstates[i, action]) == after, (board, action)
                assert rewards[i, action] == reward, (board, action)
                expected = np.zeros(2 * rows * columns)
                for code, probability in rules.chance_probabilities(after).items():
                    expected[code] = float(probability)
                # Three rounding errors: two numbers rounded to float32 and their product.
                np.testing.assert_allclose(chance[i, action], expected, rtol=3 * 2.0**-24, atol=0)


def test_every_row_in_both_directions_and_every_column() -> None:
    slides = {row: rules.slide(row) for row in itertools.product(range(16), repeat=4)}
    rows = np.array(list(slides), np.uint8)  # [65536, 4]
    slid = np.array([after for after, _ in slides.values()])
    rewards = np.array([reward for _, reward in slides.values()]).reshape(-1, 4).sum(axis=1)
    boards = rows.reshape(-1, 4, 4)
    expected = slid.reshape(-1, 4, 4)
    orientations = {  # turn a slide to the left into a slide in the direction of the action
        rules.LEFT: lambda cells: cells,
        rules.RIGHT: lambda cells: cells[:, :, ::-1],
        rules.UP: lambda cells: cells.transpose(0, 2, 1),
        rules.DOWN: lambda cells: cells[:, :, ::-1].transpose(0, 2, 1),
    }
    for action, turn in orientations.items():
        for start in range(0, len(boards), BATCH):
            part = slice(start, start + BATCH)
            afterstates, found_rewards, *_ = jitted(4, 4)["moves"](turn(boards[part]))
            np.testing.assert_array_equal(afterstates[:, action], turn(expected[part]))
            np.testing.assert_array_equal(found_rewards[:, action], rewards[part])


@pytest.mark.parametrize("shape", SHAPES)
def test_random_boards(rng: np.random.Generator, shape: tuple[int, int]) -> None:
    check_moves([positions.random_board(rng, *shape, largest=17) for _ in range(BATCH)])


@pytest.mark.parametrize("shape", SHAPES)
def test_whole_games_move_by_move(rng: np.random.Generator, shape: tuple[int, int]) -> None:
    steps: list[positions.Step] = []
    while len(steps) < BATCH - 300:  # the longest random game on 4x4 has fewer than 300 moves
        steps += positions.random_game(rng, *shape)
    steps = steps[:BATCH]
    check_moves([step.board for step in steps] + [step.next_board for step in steps if step.done])
    codes = np.resize([step.spawn_code for step in steps], BATCH)
    afterstates = np.resize([step.afterstate for step in steps], (BATCH, *shape)).astype(np.uint8)
    placed = jitted(*shape)["place"](afterstates, codes)
    np.testing.assert_array_equal(placed, np.resize([step.next_board for step in steps], (BATCH, *shape)))


def test_no_cap_and_no_end_at_a_tile() -> None:
    game = Game2048()
    board = np.zeros((4, 4), np.uint8)
    for tile, reward in ((15, 65536), (16, 131072)):  # 32768 + 32768, 65536 + 65536
        board[2, 1:3] = tile
        after, found = game.afterstate(game.from_cells(jnp.asarray(board)), rules.LEFT)
        assert found == reward
        assert game.to_cells(after)[2].tolist() == [tile + 1, 0, 0, 0]
        assert not game.is_over(after)
        _, transition = game.step(jax.random.key(0), game.from_cells(jnp.asarray(board)), jnp.array(rules.LEFT))
        assert not transition.done
        assert transition.reward == reward


def test_cells_and_words_are_inverse(rng: np.random.Generator) -> None:
    for shape in SHAPES:
        cells = rng.integers(0, 18, (5, *shape)).astype(np.uint8)
        np.testing.assert_array_equal(Game2048(*shape).to_cells(Game2048(*shape).from_cells(jnp.asarray(cells))), cells)


def test_where_takes_each_board_whole() -> None:
    game = Game2048(2, 2)
    cells = jnp.arange(8, dtype=jnp.uint8).reshape(2, 2, 2)
    mixed = where(jnp.array([True, False]), game.from_cells(cells), game.from_cells(cells[::-1]))
    assert game.to_cells(mixed).tolist() == [cells[0].tolist(), cells[0].tolist()]


@pytest.mark.parametrize("shape", [(1, 4), (4, 5), (3, 0)])
def test_sizes_out_of_range_are_refused(shape: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="rows and columns must be between 2 and 4"):
        Game2048(*shape)


@pytest.mark.parametrize("batch_shape", [(), (3,), (2, 5)])
def test_batch_shapes(batch_shape: tuple[int, ...]) -> None:
    game = Game2048(2, 3)

    def everything(key: jax.Array) -> tuple[Any, ...]:
        board = game.init(key, batch_shape)
        action = game.random_action(key, board)
        after, reward = game.afterstate(board, action)
        spawned, code = game.spawn(key, after)
        next_board, transition = game.step(key, board, action)
        scalars = (game.is_over(board), action, reward, code, *board, *after, *spawned, *next_board, *transition)
        return scalars, game.to_cells(board), game.legal_actions(board), game.chance_probabilities(after)

    scalars, cells, legal, chance = jax.eval_shape(everything, jax.random.key(0))
    assert {x.shape for x in scalars} == {batch_shape}
    assert cells.shape == (*batch_shape, 2, 3)
    assert legal.shape == (*batch_shape, 4)
    assert chance.shape == (*batch_shape, 12)


def test_given_bits_play_like_the_key_they_came_from() -> None:
    game, key = Game2048(3, 2), jax.random.key(1)
    board = game.init(key, (7,))
    bits = jax.random.bits(key, (7,), jnp.uint32)
    np.testing.assert_array_equal(game.to_cells(board), game.to_cells(game.init_from_bits(bits)))
    action = game.random_action(key, board)
    bits = jax.random.bits(key, (STEP_DRAWS, 7), jnp.uint32)
    jax.tree.map(np.testing.assert_array_equal, game.step(key, board, action), game.step_from_bits(bits, board, action))


def test_a_game_starts_with_two_tiles_anywhere() -> None:
    game = Game2048(2, 2)
    cells = np.asarray(game.to_cells(game.init(jax.random.key(0), (60_000,)))).reshape(-1, 4)
    assert ((cells > 0).sum(axis=1) == 2).all()
    # Six pairs of cells, each with (2, 2), (2, 4), (4, 2), (4, 4).
    pairs = list(itertools.combinations(range(4), 2))
    found = [
        (cells[:, [i, j]] == tiles).all(axis=1).sum() for i, j in pairs for tiles in itertools.product((1, 2), repeat=2)
    ]
    expected = [len(cells) / len(pairs) * p for _ in pairs for p in (0.81, 0.09, 0.09, 0.01)]
    assert scipy.stats.chisquare(found, expected).pvalue > 1e-3


@pytest.mark.parametrize("cells", [[[0, 0], [1, 2]], [[3, 0, 0], [0, 1, 0]], [[0] * 4, [5] * 4, [0, 1, 0, 1], [7] * 4]])
def test_spawn_frequencies(cells: list[list[int]]) -> None:
    draws = 100_000
    shape = (len(cells), len(cells[0]))
    boards = np.broadcast_to(np.array(cells, np.uint8), (draws, *shape))
    spawned, codes = jitted(*shape)["spawn"](jax.random.key(3), boards)
    probabilities = rules.chance_probabilities(positions.as_board(np.array(cells)))
    counts = np.bincount(codes, minlength=2 * shape[0] * shape[1])
    expected = np.array([float(probabilities.get(code, 0)) * draws for code in range(len(counts))])
    assert counts[expected == 0].sum() == 0
    assert scipy.stats.chisquare(counts[expected > 0], expected[expected > 0]).pvalue > 1e-3
    np.testing.assert_array_equal(spawned[:500], jitted(*shape)["place"](boards, codes)[:500])
    assert positions.as_board(spawned[0]) == rules.spawn(positions.as_board(boards[0]), int(codes[0]))


def test_random_actions_are_legal_and_uniform() -> None:
    cells = np.broadcast_to(np.array([[1, 2, 3], [0, 0, 0]], np.uint8), (30_000, 2, 3))  # only down is legal
    assert set(np.asarray(jitted(2, 3)["random_action"](jax.random.key(0), cells)).tolist()) == {rules.DOWN}
    cells = np.broadcast_to(np.array([[1, 1, 2], [0, 0, 0]], np.uint8), (30_000, 2, 3))  # all but up are legal
    counts = np.bincount(jitted(2, 3)["random_action"](jax.random.key(1), cells), minlength=4)
    assert counts[rules.UP] == 0
    assert scipy.stats.chisquare(counts[1:]).pvalue > 1e-3


def test_the_spawn_that_fills_the_last_cell() -> None:
    # One cell is empty, next to a 2. A spawned 2 leaves a legal move; a spawned 4 ends the game.
    cells = np.broadcast_to(np.array([[0, 3], [1, 4]], np.uint8), (2000, 2, 2))
    spawned, codes = map(np.asarray, jitted(2, 2)["spawn"](jax.random.key(0), cells))
    assert set(codes.tolist()) == {0, 1}
    over = Game2048(2, 2).is_over(Game2048(2, 2).from_cells(jnp.asarray(spawned)))
    np.testing.assert_array_equal(over, codes == 1)


def test_the_move_that_frees_the_only_cell_of_a_full_board() -> None:
    # Left merges the two 2s, and only cell 3 becomes empty. The new tile, 2 or 4, must appear there, next to an 8 and
    # above a 256. The game goes on: the two 4s in the first row can merge.
    cells = np.array([[1, 1, 2, 3], [4, 5, 6, 8], [8, 9, 10, 11], [12, 13, 14, 15]], np.uint8)
    assert rules.legal_actions(positions.as_board(cells)) == (False, True, False, True)
    boards = np.broadcast_to(cells, (2000, 4, 4))
    moved, transition = jitted(4, 4)["step"](jax.random.key(5), boards, np.full(2000, rules.LEFT))
    codes = np.asarray(transition.spawn_code)
    assert set(codes.tolist()) == {6, 7}
    assert scipy.stats.binomtest(int((codes == 7).sum()), 2000, 0.1).pvalue > 1e-3
    assert not np.asarray(transition.done).any()
    assert set(np.asarray(transition.reward).tolist()) == {4}
    for tile in (1, 2):
        expected = np.array([[2, 2, 3, tile], *cells[1:]])
        np.testing.assert_array_equal(
            moved[codes == 5 + tile], np.broadcast_to(expected, moved[codes == 5 + tile].shape)
        )


@pytest.mark.parametrize("shape", [(2, 2), (3, 2), (3, 3)])
def test_steps_and_auto_reset(shape: tuple[int, int]) -> None:
    """Check each step of random play against the rules; a new game follows each finished game."""
    batch, functions = 64, jitted(*shape)
    cells = np.asarray(Game2048(*shape).to_cells(Game2048(*shape).init(jax.random.key(0), (batch,))))
    finished = 0
    for t in range(60):
        action_key, step_key = jax.random.split(jax.random.key(t))
        actions = functions["random_action"](action_key, cells)
        next_cells, (rewards, dones, codes) = jax.device_get(functions["step"](step_key, cells, actions))
        actions = np.asarray(actions)
        for i in range(batch):
            board, next_board = positions.as_board(cells[i]), positions.as_board(next_cells[i])
            assert rules.legal_actions(board)[int(actions[i])]
            after, reward = rules.afterstate(board, int(actions[i]))
            moved = rules.spawn(after, int(codes[i]))
            assert rewards[i] == reward
            assert dones[i] == rules.is_over(moved)
            if not dones[i]:
                assert next_board == moved
            else:
                finished += 1
                assert sorted(rules.cells(next_board))[:-2] == [0] * (shape[0] * shape[1] - 2)
                assert set(sorted(rules.cells(next_board))[-2:]) <= {1, 2}
        cells = next_cells
    assert finished > 20


def test_an_illegal_move_leaves_the_board() -> None:
    game = Game2048(2, 2)
    cells = jnp.array([[1, 2], [0, 0]], jnp.uint8)
    after, reward = game.afterstate(game.from_cells(cells), rules.UP)
    assert game.to_cells(after).tolist() == cells.tolist()
    assert reward == 0


@pytest.fixture(scope="module")
def live_boards() -> np.ndarray:
    """Return boards that jumanji and pgx accept: not over, tiles below 65536."""
    rng = np.random.default_rng(7)
    boards = [positions.random_board(rng, 4, 4) for _ in range(2 * BATCH)]
    return np.array([board for board in boards if not rules.is_over(board)][:BATCH], np.uint8)


def test_afterstates_equal_jumanji(live_boards: np.ndarray) -> None:
    with jax.numpy_rank_promotion("allow"):
        from jumanji.environments.logic.game_2048.utils import move

        peer = jax.jit(jax.vmap(jax.vmap(move, in_axes=(None, 0)), in_axes=(0, None)))
        their_boards, their_rewards = peer(jnp.asarray(live_boards, jnp.int32), jnp.arange(4))  # same actions as ours
    afterstates, rewards, *_ = jitted(4, 4)["moves"](live_boards)
    np.testing.assert_array_equal(afterstates, their_boards)
    np.testing.assert_array_equal(rewards, their_rewards)


def test_steps_equal_pgx(live_boards: np.ndarray) -> None:
    afterstates, rewards, _, legal, _ = map(np.asarray, jitted(4, 4)["moves"](live_boards))
    with jax.numpy_rank_promotion("allow"):
        import pgx

        env = pgx.make("2048")
        fresh = jax.vmap(env.init)(jax.random.split(jax.random.key(0), len(live_boards)))
        state = fresh.replace(_board=jnp.asarray(live_boards.reshape(-1, 16), jnp.int32))
        step = jax.jit(jax.vmap(env.step))
        keys = jax.random.split(jax.random.key(1), len(live_boards))
        order = (rules.LEFT, rules.UP, rules.RIGHT, rules.DOWN)  # the order of actions in pgx
        state = state.replace(legal_action_mask=jnp.asarray(legal[:, order]))
        for theirs, ours in enumerate(order):
            moved = step(state, jnp.full(len(live_boards), theirs), keys)
            playable = legal[:, ours]
            after = afterstates[playable, ours].reshape(-1, 16)
            board = np.asarray(moved._board)[playable]
            np.testing.assert_array_equal(np.where(after > 0, board, 0), after)
            assert ((board > 0).sum(axis=1) == (after > 0).sum(axis=1) + 1).all()  # the spawn
            np.testing.assert_array_equal(np.asarray(moved.rewards)[playable, 0], rewards[playable, ours])
