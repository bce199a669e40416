"""The environments that a search can plan in: a learned model, or the game itself."""

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from muzero2048.game.env import Board, BoardGame
from muzero2048.models.base import Model, State
from muzero2048.search.base import ILLEGAL, Afterstate, Decision, Dynamics
from muzero2048.search.config import SearchConfig


def make_dynamics(model: Model, game: BoardGame, config: SearchConfig) -> Dynamics:
    """Make the dynamics that `search.model` names."""
    if config.model == "simulator":
        return SimulatorDynamics(game, NetworkEvaluator(model, game))
    return LearnedDynamics(model, game)


class LearnedDynamics:
    """The learned model; it reads the board at the root only.

    The symbols h, f, phi, psi and g are the functions of models/base.py.
    """

    def __init__(self, model: Model, game: BoardGame):
        self.codes = model.codes
        self._model, self._game = model, game

    def root(self, board: Board) -> Decision:
        """Represent boards (h), then predict policy and value (f)."""
        return self._decide(self._model.representation(self._game.observe(board)))

    def move(self, state: State, action: Int[Array, "B"]) -> Afterstate:
        """Predict afterstate and reward (phi), then its value and the chance probabilities (psi)."""
        afterstate, reward_head = self._model.afterstate_dynamics(state, action)
        prediction = self._model.afterstate_prediction(afterstate)
        return Afterstate(
            afterstate,
            self._model.codec.decode(prediction.value_logits),
            self._model.reward(reward_head),
            jax.nn.softmax(prediction.chance_logits),
        )

    def spawn(self, afterstate: State, code: Int[Array, "B"]) -> Decision:
        """Predict the state after the chance event (g), then its policy and value (f)."""
        return self._decide(self._model.dynamics(afterstate, jax.nn.one_hot(code, self.codes)))

    def _decide(self, state: State) -> Decision:
        prediction = self._model.prediction(state)
        return Decision(state, self._model.codec.decode(prediction.value_logits), prediction.policy_logits)


@runtime_checkable
class Evaluator(Protocol):
    """Values of true boards, for a search in the simulator."""

    def states(self, board: Board, legal: Bool[Array, "B A"]) -> tuple[Float[Array, "B"], Float[Array, "B A"]]:
        """Return values in points and policy logits; the caller masks illegal actions and finished games."""

    def afterstates(self, board: Board, action: Int[Array, "B"], afterstate: Board) -> Float[Array, "B"]:
        """Return V(as) in points, without the reward of the move that leads from `board` to `afterstate`."""


class SimulatorDynamics:
    """The game itself: true rewards, chance probabilities and legal moves.

    A search in it (as in AlphaZero) shows how well a perfect learned model would play with the same values.
    """

    def __init__(self, game: BoardGame, evaluator: Evaluator):
        self.codes = game.num_spawn_codes
        self._game, self._evaluator = game, evaluator

    def root(self, board: Board) -> Decision:
        """Evaluate boards; the state of the search is the board."""
        legal = self._game.legal_actions(board)
        value, logits = self._evaluator.states(board, legal)
        return Decision(board, jnp.where(legal.any(axis=-1), value, 0.0), jnp.where(legal, logits, ILLEGAL))

    def move(self, state: Board, action: Int[Array, "B"]) -> Afterstate:
        """Slide and merge; the reward includes the expected points of the tile that will be placed."""
        afterstate, reward = self._game.afterstate(state, action)
        value = self._evaluator.afterstates(state, action, afterstate)
        reward = self._game.expected_reward(afterstate, reward)
        return Afterstate(afterstate, value, reward, self._game.chance_probabilities(afterstate))

    def spawn(self, afterstate: Board, code: Int[Array, "B"]) -> Decision:
        """Make the chance event of the spawn code."""
        return self.root(self._game.place(afterstate, code))


class NetworkEvaluator:
    """The networks of a model, evaluated on true boards.

    The model's dynamics (phi) are used only by models that have no other representation of an afterstate.
    """

    def __init__(self, model: Model, game: BoardGame):
        self._model, self._game = model, game

    def states(self, board: Board, legal: Bool[Array, "B A"]) -> tuple[Float[Array, "B"], Float[Array, "B A"]]:
        """Represent boards (h), then predict policy and value (f)."""
        prediction = self._model.prediction(self._model.representation(self._game.observe(board)))
        return self._model.codec.decode(prediction.value_logits), prediction.policy_logits

    def afterstates(self, board: Board, action: Int[Array, "B"], afterstate: Board) -> Float[Array, "B"]:
        """Represent afterstates as the model does, then predict their value (psi)."""
        cells, after_cells = (self._game.observe(x) for x in (board, afterstate))
        latent = self._model.represent_afterstate(cells, action, after_cells)
        return self._model.codec.decode(self._model.afterstate_prediction(latent).value_logits)


class BoardEvaluator:
    """Any value function of afterstates, such as an n-tuple network.

    V(s)   = max over legal a of q(s, a),   q(s, a) = r(s, a) + gamma V(as);   0 if no action is legal
    policy = softmax(q / temperature)
    """

    def __init__(
        self, game: BoardGame, value: Callable[[Board], Float[Array, "*B"]], discount: float, temperature: float
    ):
        self._game, self._value, self._discount, self._temperature = game, value, discount, temperature

    def states(self, board: Board, legal: Bool[Array, "B A"]) -> tuple[Float[Array, "B"], Float[Array, "B A"]]:
        """Evaluate the four moves; return the best value and the policy logits."""
        afterstate, reward = self._game.all_afterstates(board)
        expected = self._game.expected_reward(afterstate, reward)
        q = jnp.where(legal, expected + self._discount * self._value(afterstate), -jnp.inf)
        best = jnp.where(legal.any(axis=-1), q.max(axis=-1), 0.0)
        return best, jnp.where(legal, (q - best[:, None]) / self._temperature, ILLEGAL)

    def afterstates(self, board: Board, action: Int[Array, "B"], afterstate: Board) -> Float[Array, "B"]:
        """Apply the value function."""
        return self._value(afterstate)
