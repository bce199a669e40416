"""Search with a model that knows boards in their canonical view alone (`muzero.canonical`).

A board and its symmetric views have the same value, and a model that sees random views learns this from samples. A
model that sees one of them, always the same (`canonical_views`), need not learn it: eight boards are one. The view of
the root holds for the whole search, in which the model goes on with the latent of that view. Its moves and policies are
translated here, so that the search names the moves of the board that it was given.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from muzero2048.game.env import Board, BoardGame
from muzero2048.game.symmetry import canonical_views, symmetries, view_cells
from muzero2048.models.base import State
from muzero2048.search.base import Afterstate, Decision, Dynamics, Evaluator


class Turned(NamedTuple):
    """A state or afterstate of the model."""

    state: State
    view: Int[Array, "B"]  # of the board at the root


class _Views:
    """The symmetries of a game, applied to its boards."""

    def __init__(self, game: BoardGame):
        self._game, self._views = game, symmetries(game.rows, game.columns)

    def canonical(self, board: Board) -> Int[Array, "B"]:
        """Return the canonical view of each board."""
        return canonical_views(self._views, self._game.observe(board))

    def turn(self, board: Board, view: Int[Array, "B"]) -> Board:
        """Return boards in a view each."""
        return self._game.from_observation(view_cells(self._views, view, self._game.observe(board)))

    def forth(self, values: Array, view: Int[Array, "B"]) -> Array:
        """Return values [B, A] of the moves of the board as those of the moves in a view."""
        return jnp.take_along_axis(values, jnp.asarray(self._views.action_from)[view], axis=-1)

    def back(self, values: Array, view: Int[Array, "B"]) -> Array:
        """Return values [B, A] of the moves in a view as those of the moves of the board."""
        return jnp.take_along_axis(values, jnp.asarray(self._views.action_to)[view], axis=-1)

    def moves(self, action: Int[Array, "B"], view: Int[Array, "B"]) -> Int[Array, "B"]:
        """Return moves of the board as moves in a view."""
        return jnp.asarray(self._views.action_to)[view, action]


class CanonicalDynamics:
    """The dynamics of a model, for boards in any view."""

    def __init__(self, dynamics: Dynamics, game: BoardGame):
        self.codes = dynamics.codes
        self._dynamics, self._views = dynamics, _Views(game)

    def root(self, board: Board) -> Decision:
        """Evaluate the canonical views of the boards."""
        view = self._views.canonical(board)
        return self._turned_back(self._dynamics.root(self._views.turn(board, view)), view)

    def move(self, state: Turned, action: Int[Array, "B"]) -> Afterstate:
        """Make the moves that the actions are in the view of the root."""
        after = self._dynamics.move(state.state, self._views.moves(action, state.view))
        return after._replace(state=Turned(after.state, state.view))

    def spawn(self, afterstate: Turned, code: Int[Array, "B"]) -> Decision:
        """Make the chance event of the model's code: codes are not translated."""
        return self._turned_back(self._dynamics.spawn(afterstate.state, code), afterstate.view)

    def _turned_back(self, decision: Decision, view: Int[Array, "B"]) -> Decision:
        logits = self._views.back(decision.policy_logits, view)
        return decision._replace(state=Turned(decision.state, view), policy_logits=logits)


class CanonicalEvaluator:
    """The values of a model for true boards in any view, each in its own canonical view."""

    def __init__(self, evaluator: Evaluator, game: BoardGame):
        self._evaluator, self._views = evaluator, _Views(game)

    def states(self, board: Board, legal: Bool[Array, "B A"]) -> tuple[Float[Array, "B"], Float[Array, "B A"]]:
        """Evaluate the canonical views of the boards."""
        view = self._views.canonical(board)
        value, logits = self._evaluator.states(self._views.turn(board, view), self._views.forth(legal, view))
        return value, self._views.back(logits, view)

    def afterstates(self, board: Board, action: Int[Array, "B"], afterstate: Board) -> Float[Array, "B"]:
        """Evaluate the afterstates in the canonical views of the boards before the moves."""
        view = self._views.canonical(board)
        seen, after = (self._views.turn(x, view) for x in (board, afterstate))
        return self._evaluator.afterstates(seen, self._views.moves(action, view), after)
