"""Several rounds of training in one call to the device.

A round takes the learner's state and returns the next state and a report. Reports of several rounds are added up on the
device. The number of rounds is a traced argument, so another number needs no new compilation; and the state and the
sums have the same bits for any division of rounds into calls.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

State = TypeVar("State")
Report = TypeVar("Report")


def run_rounds(
    one_round: Callable[[State], tuple[State, Report]],
    add: Callable[[Report, Report], Report],
    state: State,
    report: Report,
    count: Int[Array, ""],
) -> tuple[State, Report]:
    """Make `count` rounds.

    `report` is the sum of the reports of earlier rounds; theirs are added to it.
    """

    def body(_: Array, carry: tuple[State, Report]) -> tuple[State, Report]:
        state, total = carry
        state, report = one_round(state)
        return state, add(total, report)

    return jax.lax.fori_loop(0, count, body, (state, report))


def empty_report(one_round: Callable[[Any], tuple[Any, Report]], state: Any) -> Report:
    """Return the report of no rounds: zeros in the shapes of a round's report; `state` may be shapes alone."""
    report = jax.eval_shape(one_round, state)[1]
    return jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), report)
