"""What a search reads and returns, and the model of the world that it plans with.

Glossary of shapes: `B` boards, `A` = 4 actions, `C` chance codes, `N` simulations, `S` = max(A, C) slots of a node.
"""

from typing import NamedTuple, Protocol, runtime_checkable

from jaxtyping import Array, Bool, Float, Int, UInt32

from muzero2048.game.env import Board
from muzero2048.models.base import State

ILLEGAL = -1e9  # logit of an illegal action; finite: a softmax over no legal action must not be NaN


class Decision(NamedTuple):
    """States, evaluated: the player moves next."""

    state: State
    value: Float[Array, "B"]  # V(s), in points; 0 where the game is known to be over
    policy_logits: Float[Array, "B A"]  # ILLEGAL where the action is known to be illegal


class Afterstate(NamedTuple):
    """Afterstates, evaluated: chance moves next."""

    state: State
    value: Float[Array, "B"]  # V(as), in points, without the reward of the move that led here
    reward: Float[Array, "B"]  # of that move, in points
    probabilities: Float[Array, "B C"]  # of the chance codes


@runtime_checkable
class Dynamics(Protocol):
    """The world as the search sees it: a learned model, or the game itself (dynamics.py)."""

    @property
    def codes(self) -> int:
        """C, the number of chance codes."""

    def root(self, board: Board) -> Decision:
        """Boards of the game, evaluated."""

    def move(self, state: State, action: Int[Array, "B"]) -> Afterstate:
        """What the player's move makes of states."""

    def spawn(self, afterstate: State, code: Int[Array, "B"]) -> Decision:
        """What the chance event of the code makes of afterstates."""


class Root(NamedTuple):
    """A batch of positions to plan from."""

    state: State
    policy_logits: Float[Array, "B A"]  # ILLEGAL on illegal actions
    value: Float[Array, "B"]
    legal: Bool[Array, "B A"]
    gumbel: Float[Array, "B A"]  # noise of the choice, already scaled; zeros for the deterministic one
    seeds: UInt32[Array, "B"]  # of the chance rules that draw


class Statistics(NamedTuple):
    """What the simulations found out about the actions of the root."""

    q_values: Float[Array, "B A"]  # r + gamma V(as), in points; of no meaning where not visited
    visits: Int[Array, "B A"]
    bounds: Float[Array, "B 2"]  # least and greatest Q met in the tree (search/qtransforms.py)


class Plan(NamedTuple):
    """What a search returns."""

    action: Int[Array, "B"]
    policy_target: Float[Array, "B A"]  # improved policy, zero on illegal actions
    q_values: Float[Array, "B A"]  # r + gamma V(as), in points; completed where not visited
    visits: Int[Array, "B A"]
    value: Float[Array, "B"]  # the best visited Q (Guei 2023, eq. 35); read_out.bootstrap_value has others
