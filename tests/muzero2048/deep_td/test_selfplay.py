"""Tests of a chunk of self-play: moves obey the rules, targets equal plain Python, epsilon sets the random moves."""

import dataclasses
import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import positions, rules, targets

from muzero2048.deep_td import selfplay
from muzero2048.deep_td.config import DeepTDConfig
from muzero2048.deep_td.network import q_values
from muzero2048.deep_td.selfplay import Experience, play_chunk
from muzero2048.game.env import Game2048
from muzero2048.training.actor import init_actor
from muzero2048.training.game_metrics import GameStatistics
from tests.muzero2048.deep_td.toy_network import METHODS, random_network, small_config, values_of

GAME = Game2048(2, 3)
DISCOUNT, LAMBDA, STEPS = 0.9, 0.5, 3
T, E = 30, 5


class Chunk(NamedTuple):
    """Compiled functions of one method."""

    of: Callable[[float], tuple[Experience, GameStatistics]]  # epsilon -> a chunk of self-play
    best: Callable[[np.ndarray], jax.Array]  # boards [B, H, W] -> greedy moves [B]


def config_of(method: str) -> DeepTDConfig:
    replay = dataclasses.replace(small_config().replay, capacity=T * E, batch_size=T * E)
    return small_config(method, num_envs=E, chunk=T, td_lambda=LAMBDA, td_steps=STEPS, replay=replay)


Values = Callable[[list[rules.Board]], np.ndarray]


def plain_q(values_of_boards: Values, method: str, board: rules.Board) -> list[float]:
    """Compute Q of the four moves; -inf for illegal moves."""
    moves = [rules.afterstate(board, action) for action in range(4)]
    boards = [after for after, _ in moves] if method == "td_afterstate" else [board]
    values = values_of_boards(boards).ravel()
    if method == "td_afterstate":
        values = np.array([reward for _, reward in moves]) + DISCOUNT * values
    return [float(q) if legal else -np.inf for q, legal in zip(values, rules.legal_actions(board), strict=True)]


def recorded_games(rng: np.random.Generator, values: Values, method: str) -> list[positions.Step]:
    """Play games one after the other by the plain rules, half of the moves random; return the first T + 1 moves."""
    steps: list[positions.Step] = []
    while len(steps) <= T:
        board, done = positions.opening(rng, 2, 3), False
        while not done:
            q = plain_q(values, method, board)
            action = int(np.argmax(q))
            if rng.random() < 0.5:
                action = int(rng.choice(np.flatnonzero(rules.legal_actions(board))))
            after, reward = rules.afterstate(board, action)
            code = positions.draw_code(rng, after)
            following = rules.spawn(after, code)
            done = rules.is_over(following)
            steps.append(positions.Step(board, action, reward, after, code, following, done))
            board = following
    return steps[: T + 1]


def plain_targets(steps: list[positions.Step], q: list[list[float]], method: str) -> list[float]:
    """Compute the value targets of the first T moves; the return is cut before a random move."""
    values, rewards, dones = [max(row) for row in q], [s.reward for s in steps], [s.done for s in steps]
    greedy = [row[s.action] == max(row) for row, s in zip(q, steps, strict=True)]
    assert 3 < sum(greedy) < T - 3
    found = []
    for t in range(T):
        # The return contains the rewards up to the next random move, at most STEPS, and then the value.
        cut = next((k for k in range(t + 1, T) if not greedy[k]), T)
        total = targets.lambda_return(
            0, rewards[t:cut], dones[t:cut], values[t : cut + 1], DISCOUNT, LAMBDA, min(STEPS, cut - t)
        )
        found.append(total if method == "q_learning" else (total - rewards[t]) / DISCOUNT)
    return found


@pytest.mark.parametrize("method", METHODS)
def test_targets_of_recorded_games(rng: np.random.Generator, method: str) -> None:
    config = config_of(method)
    values = values_of(random_network(config))
    columns = [recorded_games(rng, values, method) for _ in range(2)]
    q = [[plain_q(values, method, step.board) for step in steps] for steps in columns]
    expected = np.array([plain_targets(*column, method) for column in zip(columns, q, strict=True)]).T

    def field(name: str, dtype: type) -> jax.Array:
        return jnp.asarray(np.array([[getattr(step, name) for step in steps[:T]] for steps in columns], dtype).T)

    value = jnp.asarray(np.max(q, axis=-1).T, jnp.float32)
    greedy = field("action", np.int32) == np.argmax(q, axis=-1).T[:T]
    blank = jnp.zeros((T, 2, 6), jnp.uint8)
    moves = selfplay.Moves(blank, field("action", np.int8), field("reward", np.float32), field("done", bool),
                       value[:T], greedy, None)  # fmt: skip
    found = selfplay.targets(moves, value[T], config)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-3)


@functools.cache
def chunk_of(method: str) -> Chunk:
    """Compile self-play, with epsilon as an argument, and the greedy moves."""
    config = config_of(method)
    network = random_network(config)

    @jax.jit
    def of(epsilon: float) -> tuple[Experience, GameStatistics]:
        actor = init_actor(GAME, jax.random.key(0), config.num_envs)
        return play_chunk(network, jax.random.key(1), actor, jnp.asarray(epsilon), config)[1:]

    best = jax.jit(lambda cells: jnp.argmax(q_values(network, GAME, GAME.from_cells(cells), DISCOUNT), axis=-1))
    return Chunk(lambda epsilon: jax.device_get(of(epsilon)), best)


@pytest.mark.parametrize("method", METHODS)
def test_every_move_is_the_best_of_a_real_game(method: str) -> None:
    chunk = chunk_of(method)
    played, ended = chunk.of(0.0)
    new_games = 0
    for e in range(E):
        for t in range(T - 1):
            cells, following = (positions.as_board(played.cells[i, e].reshape(2, 3)) for i in (t, t + 1))
            action = int(played.action[t, e])
            if method == "q_learning":
                assert action == chunk.best(np.array([cells], np.uint8))[0]
                after, _ = rules.afterstate(cells, action)
                candidates = spawned = spawns(after)
            else:
                spawned = spawns(cells)
                chosen = chunk.best(np.array(spawned + [spawned[0]] * (12 - len(spawned)), np.uint8))
                candidates = [rules.afterstate(board, int(a))[0] for board, a in zip(spawned, chosen, strict=False)]
            if following not in candidates:
                new_games += 1
                assert any(rules.is_over(board) for board in spawned)
                assert sum(2**tile for tile in rules.cells(following) if tile) <= 8
    assert 3 < new_games <= ended.games <= new_games + E  # the last move of each environment can end one more game


def test_random_moves_are_as_many_as_asked() -> None:
    """With epsilon = 0.5 and n legal moves, the move differs from the best one with probability (1 - 1/n) / 2."""
    chunk = chunk_of("q_learning")  # it stores the boards before the moves; td_afterstate stores those after
    played, _ = chunk.of(0.5)
    boards = [positions.as_board(cells.reshape(2, 3)) for cells in played.cells.reshape(-1, 6)]
    legal = np.array([rules.legal_actions(board) for board in boards])
    action = played.action.ravel()
    assert legal[np.arange(T * E), action].all()
    best = np.concatenate([chunk.best(np.array(part, np.uint8)) for part in np.split(np.array(boards), T * E // 10)])
    chance = 0.5 * (1 - 1 / legal.sum(axis=1))
    deviation = ((action != best).sum() - chance.sum()) / np.sqrt((chance * (1 - chance)).sum())
    assert abs(deviation) < 4


def spawns(after: rules.Board) -> list[rules.Board]:
    return [rules.spawn(after, code) for code in rules.chance_probabilities(after)]
