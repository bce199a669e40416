"""Inputs and outputs of a search, and the interface of the dynamics that it plans with.

Glossary of shapes: `B` boards, `A` = 4 actions, `C` chance codes, `N` simulations, `S` = max(A, C) slots of a node.
"""

from typing import NamedTuple, Protocol, runtime_checkable

from jaxtyping import Array, Bool, Float, Int, UInt32

from muzero2048.game.env import Board
from muzero2048.models.base import State

Share = Float[Array, ""] | float  # of the planned updates of a training, 0 to 1

ILLEGAL = -1e9  # logit of an illegal action; finite: a softmax over no legal action must not be NaN


class Decision(NamedTuple):
    """Evaluated states: the player moves next."""

    state: State
    value: Float[Array, "B"]  # V(s) in points; 0 where the game is known to be over
    policy_logits: Float[Array, "B A"]  # ILLEGAL where the action is known to be illegal


class Afterstate(NamedTuple):
    """Evaluated afterstates: chance moves next."""

    state: State
    value: Float[Array, "B"]  # V(as) in points, without the reward of the move that led here
    reward: Float[Array, "B"]  # of that move in points
    probabilities: Float[Array, "B C"]  # of the chance codes


@runtime_checkable
class Dynamics(Protocol):
    """What the search plans in: a learned model, or the game itself (search/dynamics.py)."""

    @property
    def codes(self) -> int:
        """C, the number of chance codes."""

    def root(self, board: Board) -> Decision:
        """Evaluate boards of the game."""

    def move(self, state: State, action: Int[Array, "B"]) -> Afterstate:
        """Apply a move of the player to states, and evaluate the afterstates."""

    def spawn(self, afterstate: State, code: Int[Array, "B"]) -> Decision:
        """Apply the chance event of the code to afterstates, and evaluate the states."""


class Root(NamedTuple):
    """A batch of positions to plan from."""

    state: State
    policy_logits: Float[Array, "B A"]  # ILLEGAL on illegal actions
    value: Float[Array, "B"]
    legal: Bool[Array, "B A"]
    gumbel: Float[Array, "B A"]  # noise of the choice of the move, already scaled; zeros for none
    seeds: UInt32[Array, "B"]  # of the chance rules that draw


class Statistics(NamedTuple):
    """Results of the simulations for the actions of the root."""

    q_values: Float[Array, "B A"]  # r + gamma V(as) in points; undefined where not visited
    visits: Int[Array, "B A"]
    bounds: Float[Array, "B 2"]  # least and greatest Q of the tree (search/qtransforms.py)


class Plan(NamedTuple):
    """The result of a search."""

    action: Int[Array, "B"]
    policy_target: Float[Array, "B A"]  # improved policy, 0 on illegal actions
    q_values: Float[Array, "B A"]  # r + gamma V(as) in points; completed where not visited
    visits: Int[Array, "B A"]
    value: Float[Array, "B"]  # best visited Q (Guei 2023, eq. 35); root_rules.bootstrap_value computes others
