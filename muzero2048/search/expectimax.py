"""Expectimax over the values of a model, to a fixed depth, in the learned dynamics or in the simulator.

    Q_d(s, a) = r(s, a) + gamma V_d(as)
    V_1(as)   = V(as) of the model
    V_d(as)   = sum_c p(c) max_a' Q_{d-1}(s_c, a'),   0 for a state s_c without a considered move

d counts layers of afterstates, the plies (Guei 2023, eq. 20-22; the searches of "TD with DCNN" in table 20). The codes
of a chance event are evaluated one after another, in order of probability, so a batch of B boards needs room for B A^d
rows. The loop ends after the last code that is possible for any row of the batch.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from muzero2048.game.env import NUM_ACTIONS
from muzero2048.models.base import State
from muzero2048.search.base import Afterstate, Decision, Dynamics
from muzero2048.search.plan_move import move_all

# states -> the moves that a maximum is over
Considered = Callable[[Decision], Bool[Array, "B A"]]


def search_plies(
    dynamics: Dynamics, considered: Considered, state: State, plies: int, discount: float
) -> Float[Array, "B A"]:
    """Search states.

    Returns Q of all four moves, in points. `considered` gives the moves of a state below the root.
    """
    after = move_all(dynamics, state)
    value = after.value if plies == 1 else _expectation(dynamics, considered, after, plies - 1, discount)
    return (after.reward + discount * value).reshape(-1, NUM_ACTIONS)


def _expectation(
    dynamics: Dynamics, considered: Considered, after: Afterstate, plies: int, discount: float
) -> Float[Array, "B"]:
    """Compute the expectation over the chance codes of the best Q of `plies` plies."""
    probabilities, codes = jax.lax.top_k(after.probabilities, dynamics.codes)

    def add(i: Int[Array, ""], total: Float[Array, "B"]) -> Float[Array, "B"]:
        decision = dynamics.spawn(after.state, codes[:, i])
        moves = considered(decision)
        q = search_plies(dynamics, considered, decision.state, plies, discount)
        best = jnp.where(moves, q, -jnp.inf).max(axis=-1)
        return total + probabilities[:, i] * jnp.where(moves.any(axis=-1), best, 0.0)

    most = jnp.max(jnp.sum(probabilities > 0, axis=-1))
    return jax.lax.fori_loop(0, most, add, jnp.zeros_like(after.value))


def likely_moves(least_prior: float, decision: Decision) -> Bool[Array, "B A"]:
    """Return the moves with at least this probability under the policy, and the most probable move.

    A learned model does not know which moves are illegal below the root, and its values of such moves were never
    trained; its policy was trained to be 0 there.
    """
    prior = jax.nn.softmax(decision.policy_logits)
    return prior >= jnp.minimum(least_prior, prior.max(axis=-1, keepdims=True))


def all_moves(decision: Decision) -> Bool[Array, "B A"]:
    """Return every move."""
    return jnp.ones_like(decision.policy_logits, bool)
