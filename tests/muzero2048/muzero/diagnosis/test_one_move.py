"""Tests of the diagnostics of the model: models with known errors, and a computation in plain Python."""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx
from reference import positions, rules

from launch.experiment.metrics import REGISTRY
from muzero2048.models.base import AfterstatePrediction, Model, Prediction
from muzero2048.models.chance_encoders import CHANCE_ENCODERS
from muzero2048.muzero.batches import Sequence
from muzero2048.muzero.config import ChanceConfig
from muzero2048.muzero.diagnosis.one_move import Mean, buffer_boards, diagnose, measure
from muzero2048.training.replay import ReplayState
from tests.muzero2048.toy_model import GAME, PlainCodec, buffer_of, random_model, small_config

Wrong = Callable[[jax.Array, jax.Array], jax.Array]  # (cells [M, N], action [M]) -> bool [M], or of one move

CONFIG = small_config(discount=0.5)
CODES, LEVELS, BONUS = 14, 12, 500.0  # two unused codes; boards have tiles beyond the last level
WEIGHTS = np.arange(1.0, 7.0)


class RulesModel(Model):
    """The rules as a model; a latent is a board.

    Where `wrong` is true, one level is added to the first cell of the afterstate and `BONUS` to the reward.
    """

    grounded, chance_encoder = True, CHANCE_ENCODERS["oracle"]
    codes, tile_levels = CODES, LEVELS

    def __init__(self, wrong: Wrong):
        self._wrong = wrong
        self.codec = PlainCodec()

    def representation(self, cells: jax.Array) -> jax.Array:
        return cells

    def decode(self, latent: jax.Array) -> jax.Array:
        return jax.nn.one_hot(jnp.minimum(latent, LEVELS - 1), LEVELS)

    def prediction(self, state: jax.Array) -> Prediction:
        return Prediction(jnp.zeros((len(state), 4)), jnp.zeros((len(state), 1)))

    def afterstate_dynamics(self, state: jax.Array, action: jax.Array) -> tuple[jax.Array, jax.Array]:
        after, reward = GAME.afterstate(GAME.from_cells(state.reshape(-1, 2, 3)), action)
        cells, wrong = GAME.to_cells(after).reshape(-1, 6), self._wrong(state, action)
        return cells.at[:, 0].add(wrong.astype(jnp.uint8)), reward + BONUS * wrong

    def represent_afterstate(self, cells: jax.Array, action: jax.Array, afterstate_cells: jax.Array) -> jax.Array:
        return afterstate_cells

    def afterstate_prediction(self, afterstate: jax.Array) -> AfterstatePrediction:
        chances = GAME.chance_probabilities(GAME.from_cells(afterstate.reshape(-1, 2, 3)))
        logits = jnp.log(jnp.maximum(jnp.pad(chances, ((0, 0), (0, 2))), 1e-30))
        return AfterstatePrediction(
            logits, (afterstate.astype(jnp.float32) @ jnp.asarray(WEIGHTS, jnp.float32))[:, None]
        )

    def reward(self, reward_head: jax.Array) -> jax.Array:
        return reward_head


@functools.cache
def boards() -> tuple[list[rules.Board], np.ndarray]:
    """Return boards that are not over, from empty to full, some with late tiles, and a random legal action of each."""
    rng = np.random.default_rng(4)
    plain = []
    while len(plain) < 60:
        board = positions.random_board(rng, 2, 3, largest=6 if len(plain) % 3 else 12)
        if not rules.is_over(board):
            plain.append(board)
    played = np.array([rng.choice(np.flatnonzero(rules.legal_actions(board))) for board in plain], np.int32)
    return plain, played


def cells_of(plain: list[rules.Board]) -> np.ndarray:
    return np.array([rules.cells(board) for board in plain], np.uint8)


def diagnosed(model: Model, plain: list[rules.Board], played: np.ndarray) -> dict[str, float]:
    @jax.jit
    def found() -> dict[str, Mean]:
        return diagnose(model, CONFIG, jnp.asarray(cells_of(plain)), jnp.asarray(played))

    means = found()
    assert set(means) <= set(REGISTRY)
    return {name: float(mean.total / mean.counted) for name, mean in means.items()}


def plainly(wrong: Wrong, plain: list[rules.Board], played: np.ndarray) -> dict[str, float]:
    """Compute the same metrics in plain Python, move by move."""
    right: dict[str, list[bool]] = {"all": [], "unplayed": [], "late": []}
    reward_errors, q_errors, agreements, distances = [], [], [], []
    for board, action_played in zip(plain, played, strict=True):
        q: dict[int, tuple[float, float]] = {}
        for action in np.flatnonzero(rules.legal_actions(board)):
            after, reward = rules.afterstate(board, action)
            mistaken = bool(wrong(np.array(rules.cells(board)), action))
            guess = np.array(rules.cells(after))
            guess[0] += mistaken
            hit = bool((np.minimum(guess, LEVELS - 1) == np.minimum(rules.cells(after), LEVELS - 1)).all())
            right["all"].append(hit)
            if action != action_played:
                right["unplayed"].append(hit)
            if max(rules.cells(board)) >= 11:
                right["late"].append(hit)
            true_q = reward + CONFIG.discount * float(WEIGHTS @ rules.cells(after))
            q[action] = reward + BONUS * mistaken + CONFIG.discount * float(WEIGHTS @ guess), true_q
            reward_errors.append(BONUS * mistaken)
            q_errors.append(abs(q[action][0] - q[action][1]))
            chances, guessed = (
                rules.chance_probabilities(b) for b in (after, tuple(map(tuple, guess.reshape(2, 3).tolist())))
            )
            truth = np.array([float(chances.get(code, 0)) for code in range(CODES)])
            belief = np.array([float(guessed.get(code, 0)) for code in range(CODES)])
            belief = belief if guessed else np.full(CODES, 1 / CODES)
            distances.append(0.5 * np.abs(truth - belief).sum())
        agreements.append(max(q, key=lambda a: q[a][0]) == max(q, key=lambda a: q[a][1]))
    return {
        **{f"model/afterstate_accuracy_{which}": float(np.mean(hits)) for which, hits in right.items()},
        "model/reward_error_all": float(np.mean(reward_errors)),
        "model/chance_distance": float(np.mean(distances)),
        "swap/q_error": float(np.mean(q_errors)),
        "swap/agreement": float(np.mean(agreements)),
    }


def check_close(found: dict[str, float], expected: dict[str, float]) -> None:
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-4, atol=1e-4, err_msg=name)


def test_figures_equal_a_plain_computation() -> None:
    def wrong(cells: jax.Array, action: jax.Array) -> jax.Array:
        return (cells.sum(axis=-1) + 2 * action) % 5 == 0

    expected = plainly(wrong, *boards())
    assert all(0.01 < value < 0.99 or value > 20 for value in expected.values())
    assert len(set(expected.values())) == len(expected)
    check_close(diagnosed(RulesModel(wrong), *boards()), expected)


def test_a_latent_model_is_swapped_in_its_rewards_alone() -> None:
    """Both Q of the swap test contain the same afterstate value, so their difference is the error of the reward."""
    plain, played = boards()
    model = random_model(CONFIG, seed=5)
    found = diagnosed(model, plain, played)
    cells = jnp.asarray(cells_of(plain))
    errors = []
    for action in rules.ACTIONS:
        _, head = model.afterstate_dynamics(model.representation(cells), jnp.full(len(cells), action))
        predicted = np.asarray(model.reward(head))
        errors += [
            abs(predicted[i] - rules.afterstate(board, action)[1])
            for i, board in enumerate(plain)
            if rules.legal_actions(board)[action]
        ]
    assert found.keys() == {"model/reward_error_all", "swap/q_error", "swap/agreement"}
    np.testing.assert_allclose(found["model/reward_error_all"], np.mean(errors), rtol=1e-4)
    np.testing.assert_allclose(found["swap/q_error"], np.mean(errors), rtol=1e-4)
    assert 0 < found["swap/agreement"] < 1


def filled(size: int, position: int) -> ReplayState:
    """Return a buffer of three environments and eight columns; the cells of a board are its column and environment."""
    env, column = np.meshgrid(np.arange(3), np.arange(8), indexing="ij")
    cells = np.stack([column, env], axis=-1).astype(np.uint8)
    blank = jnp.zeros((3, 8))
    storage = Sequence(jnp.asarray(cells), jnp.asarray(column + env, jnp.int8), blank, blank, blank, blank, blank)
    return ReplayState(storage, None, jnp.asarray(position), jnp.asarray(size))


@pytest.mark.parametrize(
    ("size", "position", "count", "columns"),
    [
        (8, 3, 2, [2, 6]),  # fewer boards than environments: the newest column, and 4 columns before it (modulo 8)
        (8, 3, 7, [2, 1, 0, 7, 6, 5, 4]),
        (4, 4, 6, [3, 3, 2, 1, 1, 0]),  # filled columns only
        (2, 2, 12, [1] * 6 + [0] * 6),
    ],
)
def test_boards_of_the_buffer(size: int, position: int, count: int, columns: list[int]) -> None:
    cells, action = buffer_boards(filled(size, position), count)
    assert cells.tolist() == [[column, i % 3] for i, column in enumerate(columns)]
    assert action.tolist() == [column + i % 3 for i, column in enumerate(columns)]


@pytest.mark.parametrize("kind", ["residual_mlp", "grounded"])
def test_a_learner_is_measured_on_its_buffer(kind: str, rng: np.random.Generator) -> None:
    config = small_config(kind, rows=2, columns=2, chance=ChanceConfig("oracle", 12))
    graphdef, params = nnx.split(random_model(config, seed=0))
    buffer = buffer_of(rng, (2, 2))
    found = measure(config, graphdef, params, buffer)
    accuracies = {"model/afterstate_accuracy_all", "model/afterstate_accuracy_unplayed"}  # no 2x2 board is late
    every = {"model/reward_error_all", "model/chance_distance", "swap/q_error", "swap/agreement"}
    assert found.keys() == (every | accuracies if kind == "grounded" else every)
    assert all(type(value) is float and np.isfinite(value) for value in found.values())
    assert found == measure(config, graphdef, params, buffer)
