"""The errors by depth of models whose errors are known: the rules themselves, and rules broken in one place."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx
from jaxtyping import Array

from launch.experiment.metrics import DEPTH_NUMBERS
from muzero2048.game.env import Board
from muzero2048.models.base import AfterstatePrediction, Model, Prediction
from muzero2048.models.chance_encoders import CHANCE_ENCODERS, ChanceEncoder, Observed
from muzero2048.muzero.diagnosis.depth_errors import depth_errors
from muzero2048.networks.value_codec import ScalarCodec, transform
from tests.muzero2048.toy_model import GAME

DEPTH, BOARDS = 3, 32


@dataclasses.dataclass(frozen=True)
class Faults:
    """What is wrong with a model of the rules."""

    reward: float = 0.0  # added to each reward
    blind_after: bool = False  # g ignores its code
    always_up: bool = False  # phi moves up, whatever the action
    coarse_codes: bool = False  # the code tells the cell of the spawn, and not its tile


def cell_of_spawn(model: Model, observed: Observed) -> tuple[Array, Array]:
    cell = jnp.argmax(observed.next_cells != observed.afterstate_cells, axis=-1)
    return jax.nn.one_hot(cell, model.codes), jnp.zeros(len(cell))


COARSE = ChanceEncoder("the cell of the spawn", cell_of_spawn)


class Rules(Model):
    """The rules of the game as a model with oracle codes; the latent state is the board."""

    codes = 12

    def __init__(self, faults: Faults):
        self.codec: Any = ScalarCodec()
        self.faults = faults
        self.chance_encoder = COARSE if faults.coarse_codes else CHANCE_ENCODERS["oracle"]

    def representation(self, cells: Array) -> Array:
        return cells.astype(jnp.uint8)

    def prediction(self, state: Array) -> Prediction:
        legal = GAME.legal_actions(_board(state))
        value = 2.0 ** state.astype(jnp.float32) @ jnp.arange(1.0, 7.0)
        return Prediction(jnp.where(legal, 0.0, -1e9), transform(value)[:, None])

    def afterstate_dynamics(self, state: Array, action: Array) -> tuple[Array, Array]:
        move = jnp.zeros_like(action) if self.faults.always_up else action
        after, reward = GAME.afterstate(_board(state), move)
        return GAME.flat_cells(after), reward.astype(jnp.float32) + self.faults.reward

    def afterstate_prediction(self, afterstate: Array) -> AfterstatePrediction:
        chances = GAME.chance_probabilities(_board(afterstate))
        value = 2.0 ** afterstate.astype(jnp.float32) @ jnp.arange(6.0, 0.0, -1.0)
        return AfterstatePrediction(jnp.log(jnp.maximum(chances, 1e-30)), transform(value)[:, None])

    def dynamics(self, afterstate: Array, code: Array) -> Array:
        if self.faults.blind_after:
            return afterstate
        return GAME.flat_cells(GAME.place(_board(afterstate), jnp.argmax(code, axis=-1)))

    def reward(self, reward_head: Array) -> Array:
        return reward_head


def _board(cells: Array) -> Board:
    return GAME.from_cells(cells.reshape(-1, 2, 3))


def _errors(board: Board | None = None, **faults: Any) -> dict[str, np.ndarray]:
    if board is None:
        board = GAME.init(jax.random.key(3), (BOARDS,))
    graphdef, state = nnx.split(Rules(Faults(**faults)))
    measure = jax.jit(lambda: depth_errors(nnx.merge(graphdef, state), GAME, 1.0, board, jax.random.key(4), DEPTH, 16))
    return {name: np.asarray(x) for name, x in measure().items()}


def test_the_rules_have_no_errors_at_any_depth() -> None:
    errors = _errors()
    assert set(errors) == {number.name for number in DEPTH_NUMBERS}
    assert all(x.shape == (DEPTH + 1,) for x in errors.values())
    for name in ("value_error", "reward_error", "reward_error_unplayed", "illegal_prior", "illegal_prior_root"):
        np.testing.assert_allclose(errors[name], 0.0, atol=1e-5, err_msg=name)
    np.testing.assert_allclose(errors["chance_distance"], 0.0, atol=1e-5)
    for name in ("value_correlation", "best_move", "spawn_correlation", "spawns_told"):
        np.testing.assert_allclose(errors[name], 1.0, atol=1e-4, err_msg=name)
    np.testing.assert_allclose(errors["spawn_spread"], errors["spawn_spread_true"], rtol=1e-4)
    assert np.all(errors["spawn_spread_true"] > 0.1)
    assert errors["boards"][0] == BOARDS


def test_a_wrong_reward_is_measured_at_every_depth() -> None:
    errors = _errors(reward=3.0)
    np.testing.assert_allclose(errors["reward_error"], 3.0, atol=1e-5)
    np.testing.assert_allclose(errors["reward_error_unplayed"], 3.0, atol=1e-5)
    np.testing.assert_allclose(errors["best_move"], 1.0)


def test_a_model_that_ignores_its_code_is_blind_from_depth_1_on() -> None:
    errors = _errors(blind_after=True)
    np.testing.assert_allclose(errors["spawn_spread"], 0.0, atol=1e-4)
    np.testing.assert_allclose(errors["spawn_correlation"], 0.0, atol=1e-4)
    np.testing.assert_allclose(errors["chance_distance"][0], 0.0, atol=1e-5)
    assert errors["value_error"][0] == pytest.approx(0.0, abs=1e-4)
    assert np.all(errors["value_error"][1:] > 1.0)


def test_codes_that_tell_the_cell_alone_tell_a_share_of_the_spawn_by_hand() -> None:
    """Depth 0, after the greedy move: ln(e) of ln(e) + H(0.1) nats for an afterstate with e empty cells."""
    afters = np.asarray(GAME.flat_cells(_greedy_afterstate(GAME.init(jax.random.key(3), (BOARDS,)))))[:16]
    told = np.log((afters == 0).sum(axis=1)).sum()
    tiles = 16 * -(0.9 * np.log(0.9) + 0.1 * np.log(0.1))
    assert _errors(coarse_codes=True)["spawns_told"][0] == pytest.approx(told / (told + tiles), rel=1e-4)


def test_a_spawn_that_ends_the_game_is_worth_0_by_hand() -> None:
    """2 8 16 / 8 2 2, best move left: a 2 in the free corner ends the game, a 4 does not."""
    errors = _errors(_board(jnp.array([[1, 3, 4, 3, 1, 1]], jnp.uint8)))
    value = _plain_value(np.array([1, 3, 4, 3, 2, 2]))
    assert errors["spawn_spread_true"][0] == pytest.approx(np.sqrt(0.1 * 0.9) * value, rel=1e-3)


def test_a_model_that_mistakes_the_move_is_caught_at_unplayed_moves_and_below_the_root() -> None:
    errors = _errors(always_up=True)
    assert errors["best_move"][0] == 1.0  # the same model on both sides: depth 0 shows errors of rewards alone
    assert errors["reward_error_unplayed"][0] > 0.0
    assert errors["value_error"][0] == pytest.approx(0.0, abs=1e-4)
    assert np.all(errors["value_error"][1:] > 0.5)


def test_value_error_at_depth_1_equals_a_plain_loop_over_boards() -> None:
    """A model without spawns: V(s^1) is that of the greedy afterstate, V(h(o_1)) has the spawned tile besides."""
    board = GAME.init(jax.random.key(3), (BOARDS,))
    key = jax.random.key(4)
    errors = _errors(blind_after=True)
    first = jax.random.split(key, DEPTH + 1)[0]
    after = _greedy_afterstate(board)
    following, _ = GAME.spawn(first, after)
    over, expected = np.asarray(GAME.is_over(following)), []
    for cells, next_cells in zip(
        np.asarray(GAME.flat_cells(after)), np.asarray(GAME.flat_cells(following)), strict=True
    ):
        expected.append(abs(_plain_value(cells) - _plain_value(next_cells)))
    assert errors["value_error"][1] == pytest.approx(np.mean(np.array(expected)[~over]), rel=1e-3)
    assert errors["boards"][1] == np.sum(~over)


def _greedy_afterstate(board: Board) -> Board:
    """Make the best legal move by Q of the rules as a model."""
    model, legal = Rules(Faults()), np.asarray(GAME.legal_actions(board))
    afters = [GAME.afterstate(board, jnp.full((BOARDS,), a)) for a in range(4)]
    q = np.stack([np.asarray(r) + _value_after(model, after) for after, r in afters], axis=1)
    return GAME.afterstate(board, jnp.asarray(np.where(legal, q, -np.inf).argmax(axis=1)))[0]


def _plain_value(cells: np.ndarray) -> float:
    return sum(2.0 ** int(level) * (i + 1) for i, level in enumerate(cells))


def _value_after(model: Rules, after: Board) -> np.ndarray:
    return np.asarray(model.codec.decode(model.afterstate_prediction(GAME.flat_cells(after)).value_logits))
