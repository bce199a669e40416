"""Tests of each start rule against plain Python, with the same random numbers, on artificial games."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from muzero2048.game.config import StartConfig
from muzero2048.game.env import Board, Game2048
from muzero2048.game.starts import KEPT, Starts, Step, jump_boards, make_starts
from tests.settings import configured

GAME = Game2048(2, 2)
E = 8


def bits_of(starts: Starts, rng: np.random.Generator, num_envs: int = E) -> jax.Array:
    return jnp.asarray(rng.integers(0, 2**32, (starts.draws, num_envs), np.uint32))


def words(numbers: np.ndarray) -> Board:
    """Return artificial boards of two words: the number and its complement. So a test sees if words are mixed up."""
    return jnp.asarray(numbers, jnp.uint32), ~jnp.asarray(numbers, jnp.uint32)


def test_normal_starts_are_the_openings(rng: np.random.Generator) -> None:
    starts = make_starts(GAME, StartConfig())
    opening = words(rng.integers(0, 1000, E))
    done = jnp.arange(E) % 2 == 0
    state, board, special = starts.step(
        bits_of(starts, rng), starts.init(E), Step(words(np.zeros(E)), jnp.full(E, 9), opening, done)
    )
    assert all((a == b).all() for a, b in zip(board, opening, strict=True))
    assert not special.any()
    assert state == ()


def test_restart_in_the_middle(rng: np.random.Generator) -> None:
    """Compare with the whole history: the middle is exact up to KEPT moves, then within length / KEPT moves."""
    least = 20
    starts = make_starts(GAME, configured(StartConfig, kind="restart", restart_moves=least))
    step = jax.jit(starts.step)
    state, boards, latest = starts.init(E), np.arange(E), E
    histories: list[list[int]] = [[] for _ in range(E)]
    restarts = exact = long = 0
    for _ in range(2500):
        for history, board in zip(histories, boards.tolist(), strict=True):
            history.append(board)
        number = np.array([len(history) - 1 for history in histories])
        after, latest = latest + np.arange(E), latest + E
        done = rng.random(E) < np.array([1e-3, 3e-3, 0.01, 0.01, 0.03, 0.03, 0.1, 0.1])
        state, (found, other), special = jax.device_get(
            step(bits_of(starts, rng), state, Step(words(boards), jnp.asarray(number), words(after), jnp.asarray(done)))
        )
        np.testing.assert_array_equal(found, ~other)
        for i, history in enumerate(histories):
            length = len(history)
            middle = length // 2
            restarted = bool(done[i]) and length - middle > least
            assert special[i] == restarted
            if not restarted:
                assert found[i] == after[i]
            else:
                missed = abs(history.index(int(found[i])) - middle)
                assert missed <= (length / KEPT if length > KEPT else 0)
                restarts, exact, long = restarts + 1, exact + (missed == 0), long + (length > 4 * KEPT)
        histories = [[] if done[i] else history for i, history in enumerate(histories)]
        boards = found.astype(np.int64)
    assert restarts > 50
    assert 0 < exact < restarts
    assert long > 5


def leveled(levels: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Return boards uint8[E, 4, 4]: the first cell is the level, the others are the base-3 digits of the number."""
    digits = numbers[:, None] // 3 ** np.arange(15) % 3
    return np.concatenate([levels[:, None], digits], axis=1).astype(np.uint8).reshape(-1, 4, 4)


@pytest.mark.parametrize("size", [2, 5])
def test_carousel(size: int, rng: np.random.Generator) -> None:
    game, limits = Game2048(4, 4), (4, 5, 7)
    starts = make_starts(game, configured(StartConfig, kind="carousel", stages="16 32 128", carousel_size=size))
    step, from_cells = jax.jit(starts.step), jax.jit(lambda cells: game.from_cells(jnp.asarray(cells)))
    state, cells, latest = starts.init(E), leveled(np.full(E, 3), np.arange(E)), E
    rings: list[list[np.ndarray]] = [[], [], []]
    added, stages, began = [0, 0, 0], [0] * E, np.zeros(4, int)
    crowded = False
    for _ in range(800):
        done = rng.random(E) < 0.1
        levels = np.where(done, 2, np.minimum(cells[:, 0, 0] + (rng.random(E) < 0.3), 8))
        after, latest = leveled(levels, latest + np.arange(E)), latest + E
        bits = bits_of(starts, rng)
        state, board, special = step(
            bits, state, Step(from_cells(cells), jnp.zeros(E, int), from_cells(after), jnp.asarray(done))
        )
        expected, here = after.copy(), [0, 0, 0]
        for i in range(E):
            before, now = (sum(int(x[i].max()) >= limit for limit in limits) for x in (cells, after))
            if not done[i] and now > before:
                stage, here[now - 1] = now - 1, here[now - 1] + 1
                if here[stage] > size:  # one move of all environments stores at most `size` boards of a stage
                    crowded = True
                    continue
                place, added[stage] = added[stage] % size, added[stage] + 1
                rings[stage][place : place + 1] = [after[i]]
        for i in np.flatnonzero(done):
            stages[i] = stages[i] + 1 if stages[i] < 3 and rings[stages[i]] else 0
            began[stages[i]] += 1
            if stages[i]:
                ring = rings[stages[i] - 1]
                expected[i] = ring[int(bits[0, i]) % len(ring)]
        np.testing.assert_array_equal(game.to_cells(board), expected)
        np.testing.assert_array_equal(special, done & (np.array(stages) > 0))
        cells = expected
    assert (began > 50).all()
    assert max(added) > 10 * size
    assert crowded == (size == 2)


def test_made_up_boards_by_hand() -> None:
    found = Game2048(2, 3)
    boards = np.asarray(found.to_cells(tuple(jnp.asarray(word) for word in jump_boards(found, (7, 6, 5)).T)))
    snakes = [np.array([row, [0, 0, 0]]) for row in ([7, 0, 0], [7, 6, 0], [7, 6, 5])]
    expected = [view for snake in snakes for flip in (snake, snake[::-1]) for view in (flip, flip[:, ::-1])]
    assert sorted(board.tolist() for board in boards) == sorted(board.tolist() for board in expected)


def test_a_snake_turns_back_in_all_views() -> None:
    game = Game2048(3, 3)
    boards = np.asarray(game.to_cells(tuple(jnp.asarray(word) for word in jump_boards(game, (9, 8, 7, 6, 5)).T)))
    snake = np.array([[9, 8, 7], [0, 5, 6], [0, 0, 0]])
    expected = [np.rot90(x, turns).tolist() for x in (snake, snake.T) for turns in range(4)]
    assert sorted(boards[-8:].tolist()) == sorted(expected)
    assert len(boards) == 5 * 8


@pytest.mark.parametrize("fraction", [0.0, 0.3, 1.0])
def test_jump_start(fraction: float, rng: np.random.Generator) -> None:
    game, tiles, envs = Game2048(2, 3), [7, 6, 5], 20_000
    config = configured(StartConfig, kind="jump_start", jump_tiles="128 64 32", jump_fraction=fraction)
    starts = make_starts(game, config)
    opening, done = game.init(jax.random.key(0), (envs,)), jnp.arange(envs) % 4 > 0
    _, board, special = jax.jit(starts.step)(
        bits_of(starts, rng, envs), starts.init(envs), Step(opening, jnp.zeros(envs, int), opening, done)
    )
    assert not special[~done].any()
    assert special[done].mean() == pytest.approx(fraction, abs=0.02 * (0 < fraction < 1))
    cells = np.asarray(game.to_cells(board)).reshape(envs, -1)
    ordinary = np.asarray(game.to_cells(opening)).reshape(envs, -1)
    np.testing.assert_array_equal(cells[~special], ordinary[~special])
    made_up, counts = cells[np.asarray(special)], np.zeros(3, int)
    for row in made_up:
        large = sorted((tile for tile in row if tile > 2), reverse=True)
        assert large == tiles[: len(large)]
        assert sum(row > 0) == len(large) + 2  # and two spawned tiles
        counts[len(large) - 1] += 1
    assert not game.is_over(board).any()
    if fraction:
        np.testing.assert_allclose(counts / len(made_up), 1 / 3, atol=0.03)
        assert {int(row.argmax()) for row in made_up} == {0, 2, 3, 5}  # the largest tile occurs in all four corners


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"restart_moves": 0}, "start.restart.moves is 0"),
        ({"carousel_size": 0}, "start.carousel.size is 0"),
        ({"jump_fraction": 1.5}, "start.jump_start.fraction is 1.5"),
        ({"stages": ""}, r"start.carousel.stages is \(\)"),
        ({"stages": "512 1000"}, r"start.carousel.stages is \(512, 1000\)"),
        ({"stages": "1024 512"}, "each is larger than the one before"),
        ({"stages": "512 512"}, "each is larger than the one before"),
        ({"jump_tiles": "4"}, r"start.jump_start.tiles is \(4,\)"),
    ],
)
def test_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        configured(StartConfig, **changes)
    assert "\n" not in str(error.value)
