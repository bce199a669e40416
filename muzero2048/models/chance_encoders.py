"""Chance encoders: how the code of an observed chance event is chosen. One row of CHANCE_ENCODERS is all of an encoder.

A row added before muzero2048/muzero/config.py is imported is a value of the key `chance.encoder`, so a program of one
file can train with an encoder of its own (tests/muzero2048/models/test_chance_encoders.py). Models have what the rows
call: `encode` a network, `surprise` the model of cells.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, UInt8


class Observed(NamedTuple):
    """Observed transitions."""

    cells: UInt8[Array, "B O"]  # o_t, observations of the boards before the move
    action: Int[Array, "B"]
    afterstate_cells: UInt8[Array, "B O"]
    next_cells: UInt8[Array, "B O"]  # o_{t+1}, the boards after the chance event
    spawn_code: Int[Array, "B"]  # the true chance event


Code = tuple[Float[Array, "B C"], Float[Array, "B"]]


@dataclass(frozen=True)
class ChanceEncoder:
    """How chance codes are chosen."""

    meaning: str  # for the help of the key
    # (model, transitions) -> one-hot codes, and the distances of the encoder's output from them (commitment loss)
    code: Callable[[Any, Observed], Code]
    has_network: bool = False  # the model makes `encoder`, which is trained by the gradient of the code
    tells_spawns: bool = False  # codes are true spawns
    check: Callable[[Any], None] = lambda config: None  # refuses a MuZeroConfig


def straight_through_code(logits: Float[Array, "B C"]) -> Float[Array, "B C"]:
    """Return onehot(argmax), with the gradient of softmax (Stochastic MuZero, sec. 4.1)."""
    probabilities = jax.nn.softmax(logits)
    hard = jax.nn.one_hot(jnp.argmax(logits, axis=-1), logits.shape[-1])
    return hard + (probabilities - jax.lax.stop_gradient(probabilities))  # the bracket is exactly 0


def _learned(model: Any, observed: Observed) -> Code:
    logits = model.encode(observed)
    code = straight_through_code(logits)
    return code, jnp.sum((jax.nn.softmax(logits) - jax.lax.stop_gradient(code)) ** 2, axis=-1)


def _surprise(model: Any, observed: Observed) -> Code:
    scores = jax.lax.stop_gradient(model.surprise(observed))
    return jax.nn.one_hot(jnp.argmax(scores, axis=-1), model.codes), jnp.zeros(len(scores))


def _oracle(model: Any, observed: Observed) -> Code:
    return jax.nn.one_hot(observed.spawn_code, model.codes), jnp.zeros(len(observed.spawn_code))


def _check_surprise(config: Any) -> None:
    by_cell = config.network.model == "cells" and config.network.cells.code_input == "cell"
    if not (by_cell and config.losses.consistency):
        needed = "network.model=cells, network.cells.code_input=cell and a losses.consistency above 0"
        config.chance.refuse("encoder", f"learned or oracle: surprise needs {needed}")


def _check_oracle(config: Any) -> None:
    spawns, codes = config.spawn_codes, config.chance.codes
    if codes < spawns:
        config.chance.refuse(
            "codes", f"{spawns} or more: the oracle on {config.rows}x{config.columns} cells needs them"
        )
    if config.network.model == "cells" and config.network.cells.code_input == "cell" and codes != spawns:
        config.chance.refuse(
            "codes", f"{spawns}: the oracle has a code for each spawn, with network.cells.code_input=cell"
        )


CHANCE_ENCODERS = {
    "learned": ChanceEncoder(
        "straight-through one-hot codes of a network (Stochastic MuZero, sec. 4.1).", _learned, has_network=True
    ),
    "surprise": ChanceEncoder(
        "the cell where h of the next board is farthest from the predicted afterstate, and the learned vector that "
        "fits best there (models/cells.py).",
        _surprise,
        check=_check_surprise,
    ),
    "oracle": ChanceEncoder("the true spawn code.", _oracle, tells_spawns=True, check=_check_oracle),
}
