"""The worlds that a search can plan in: what a network has learned of the game, or the game itself."""

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, UInt32

from muzero2048.game.env import NUM_ACTIONS, Board, Game2048
from muzero2048.models.base import Model, State
from muzero2048.search.base import ILLEGAL, Afterstate, Decision, Dynamics
from muzero2048.search.config import SearchConfig


def make_dynamics(model: Model, game: Game2048, config: SearchConfig) -> Dynamics:
    """The world that the config names, evaluated by the networks of the model."""
    if config.model == "simulator":
        return SimulatorDynamics(game, NetworkEvaluator(model, game))
    return LearnedDynamics(model, game)


class LearnedDynamics:
    """The learned model: of the board it sees nothing but the root."""

    def __init__(self, model: Model, game: Game2048):
        self.codes = model.codes
        self._model, self._game = model, game

    def root(self, board: Board) -> Decision:
        """H and f."""
        return self._decide(self._model.representation(flat_cells(self._game, board)))

    def move(self, state: State, action: Int[Array, "B"]) -> Afterstate:
        """Phi and psi."""
        afterstate, reward_head = self._model.afterstate_dynamics(state, action)
        prediction = self._model.afterstate_prediction(afterstate)
        return Afterstate(
            afterstate,
            self._model.codec.decode(prediction.value_logits),
            self._model.reward(reward_head),
            jax.nn.softmax(prediction.chance_logits),
        )

    def spawn(self, afterstate: State, code: Int[Array, "B"]) -> Decision:
        """G and f."""
        return self._decide(self._model.dynamics(afterstate, jax.nn.one_hot(code, self.codes)))

    def _decide(self, state: State) -> Decision:
        prediction = self._model.prediction(state)
        return Decision(state, self._model.codec.decode(prediction.value_logits), prediction.policy_logits)


@runtime_checkable
class Evaluator(Protocol):
    """Values of true boards, for a search in the simulator."""

    def states(self, board: Board, legal: Bool[Array, "B A"]) -> tuple[Float[Array, "B"], Float[Array, "B A"]]:
        """Value in points, and logits of a policy; neither has to mind what is illegal or over."""

    def afterstates(self, board: Board, action: Int[Array, "B"], afterstate: Board) -> Float[Array, "B"]:
        """Value in points, without the reward of the move that led there."""


class SimulatorDynamics:
    """The game itself, its true rewards, chances and legal moves: the AlphaZero-style ceiling of a learned model."""

    def __init__(self, game: Game2048, evaluator: Evaluator):
        self.codes = game.num_spawn_codes
        self._game, self._evaluator = game, evaluator

    def root(self, board: Board) -> Decision:
        """The boards as they are."""
        legal = self._game.legal_actions(board)
        value, logits = self._evaluator.states(board, legal)
        return Decision(board, jnp.where(legal.any(axis=-1), value, 0.0), jnp.where(legal, logits, ILLEGAL))

    def move(self, state: Board, action: Int[Array, "B"]) -> Afterstate:
        """Slide and merge."""
        afterstate, reward = self._game.afterstate(state, action)
        value = self._evaluator.afterstates(state, action, afterstate)
        return Afterstate(afterstate, value, reward.astype(jnp.float32), self._game.chance_probabilities(afterstate))

    def spawn(self, afterstate: Board, code: Int[Array, "B"]) -> Decision:
        """Add the tile of the spawn code."""
        return self.root(self._game.place(afterstate, code))


class NetworkEvaluator:
    """The networks of a model on true boards; its dynamics are used nowhere but where it has no other afterstate."""

    def __init__(self, model: Model, game: Game2048):
        self._model, self._game = model, game

    def states(self, board: Board, legal: Bool[Array, "B A"]) -> tuple[Float[Array, "B"], Float[Array, "B A"]]:
        """F and h."""
        prediction = self._model.prediction(self._model.representation(flat_cells(self._game, board)))
        return self._model.codec.decode(prediction.value_logits), prediction.policy_logits

    def afterstates(self, board: Board, action: Int[Array, "B"], afterstate: Board) -> Float[Array, "B"]:
        """Psi of the afterstate as the model represents it."""
        cells, after_cells = (flat_cells(self._game, words) for words in (board, afterstate))
        latent = self._model.represent_afterstate(cells, action, after_cells)
        return self._model.codec.decode(self._model.afterstate_prediction(latent).value_logits)


class BoardEvaluator:
    """Any function of afterstates, such as an n-tuple network, with V(s) = max_a r(s, a) + gamma V(as).

    The policy is softmax(q / temperature) of the same four values.
    """

    def __init__(
        self, game: Game2048, value: Callable[[Board], Float[Array, "*B"]], discount: float, temperature: float
    ):
        self._game, self._value, self._discount, self._temperature = game, value, discount, temperature

    def states(self, board: Board, legal: Bool[Array, "B A"]) -> tuple[Float[Array, "B"], Float[Array, "B A"]]:
        """The best of the four moves."""
        afterstate, reward = all_afterstates(self._game, board)
        q = jnp.where(legal, reward + self._discount * self._value(afterstate), -jnp.inf)
        best = jnp.where(legal.any(axis=-1), q.max(axis=-1), 0.0)
        return best, jnp.where(legal, (q - best[:, None]) / self._temperature, ILLEGAL)

    def afterstates(self, board: Board, action: Int[Array, "B"], afterstate: Board) -> Float[Array, "B"]:
        """The function itself."""
        return self._value(afterstate)


def all_afterstates(game: Game2048, board: Board) -> tuple[tuple[UInt32[Array, "B A"], ...], Int[Array, "B A"]]:
    """Afterstates and rewards of the four moves, legal or not."""
    boards = tuple(jnp.broadcast_to(word[:, None], (*word.shape, NUM_ACTIONS)) for word in board)
    actions = jnp.broadcast_to(jnp.arange(NUM_ACTIONS), boards[0].shape)
    return game.afterstate(boards, actions)


def flat_cells(game: Game2048, board: Board) -> Array:
    """Cells uint8[*B, N] of boards, row by row."""
    return game.to_cells(board).reshape(*board[0].shape, game.num_cells)
