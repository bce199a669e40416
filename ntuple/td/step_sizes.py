"""Step sizes: how much an error changes each weight, by TD, temporal coherence (TC) or Autostep.

delta = target - V(afterstate). Each of the S M entries i of the afterstate is updated, where M counts only the tuples
that learn. TD and TC update an entry twice if the board has it twice.

    TD         w_i += alpha / (S M) * delta

    TC         w_i += alpha / (S M) * delta * beta_i,  with beta_i = |E_i| / A_i, or 1 if A_i = 0
               then E_i += delta and A_i += |delta|  (Guei et al. 2022, eq. 7-9; Jaskowski 2017, algorithm 2)
               or   E_i += d and A_i += |d|, where d is the change of w_i  (Matsuzaki 2017, algorithm 1)

    Autostep   g_i  = delta x_i h_i,  where x_i is the number of times that the board has the entry
               v_i  = max(|g_i|, v_i + tau a_i x_i^2 (|g_i| - v_i))
               a_i *= exp(mu g_i / v_i)  if v_i > 0
               a_i /= max(1, sum of a_j x_j^2)
               w_i += a_i delta x_i
               h_i  = h_i (1 - a_i x_i^2) + a_i delta x_i
               At the start a_i = first / (S M) and v_i = h_i = 0.
               (Mahmood et al. 2012, table 1; Jaskowski 2017, sec. V-B, whose tau is the paper's 1 / tau)

Autostep divides the first rates by S M, as TD divides alpha (Jaskowski 2017, sec. IV-D). Without this division the sum
exceeds 1 whenever a board has new entries, and the division by the sum then decreases the rates of all old entries of
the board. Entries that the board does not have keep their rates.

With traces, an error of k moves later has the factor `decay` = lambda^k. TD and Autostep multiply delta by it. TC
multiplies the change of w_i by it, while sums of errors E and A take the whole error.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from ntuple.game.bitboard import ONE, U2
from ntuple.game.jit import inline, inline_once, kernel
from ntuple.tables.entries import Lookup
from ntuple.tables.network import VIEWS, Network
from ntuple.tables.promotion import by_promotion, weight_of

TD, TC, AUTOSTEP = range(3)
RULES = {"td": TD, "tc": TC, "autostep": AUTOSTEP}
MEMORY_BITS = {"tc": 1, "autostep": 2}  # log2 of the floats that a rule keeps for each weight (Network.memory)
# Fields (ntuple.tables.file_order) of this memory. TC has E and A; Autostep has h, v and log(a S M / first).
FIRST, SECOND, THIRD = range(1, 4)


class StepSize(NamedTuple):
    """How an error changes the weights; only the fields of `rule` are read."""

    rule: int  # TD, TC or AUTOSTEP
    alpha: np.float32  # TD, TC: learning rate of all S M entries together
    takes_steps: bool  # TC: E and A sum the changes of the weight instead of the errors
    mu: np.float32  # Autostep: meta step size
    tau: np.float32  # Autostep: rate at which v decays
    first: np.float32  # Autostep: first rate of all S M entries together


def forget(network: Network) -> None:
    """Set all that the step size rule keeps to 0."""
    network.memory[:] = 0


@inline_once
def update(network: Network, lookup: Lookup, row: int, delta: np.float32, decay: np.float32, size: StepSize) -> None:
    """Update the weights of a board by an error.

    Args:
        decay: lambda^k for an error of k moves later, else 1.
    """
    if size.rule == TD:
        _td(network, lookup, row, delta * decay, size)
    elif size.rule == TC:
        _tc(network, lookup, row, delta, decay, size)
    else:
        _autostep(network, lookup, row, delta * decay, size)


@inline_once
def _share(network: Network, alpha: np.float32) -> np.float32:
    return alpha / np.float32(len(network.symmetries) * (network.tables.size - network.first_learned))


@inline
def _stored_weight(network: Network, base: np.uint64, m: int, place: np.uint32, at: np.uint64) -> np.float32:
    return network.weights[at]


@inline
def _promoted_weight(network: Network, base: np.uint64, m: int, place: np.uint32, at: np.uint64) -> np.float32:
    return weight_of(network, base, m, place)


_weight: Any = by_promotion(_stored_weight, _promoted_weight)


@inline_once
def _td(network: Network, lookup: Lookup, row: int, delta: np.float32, size: StepSize) -> None:
    weights = network.weights
    step = _share(network, size.alpha) * delta
    first, base = np.uint64(row) * lookup.row_size, lookup.bases[row]
    for m in range(network.first_learned, network.tables.size):
        table = base + network.tables[m]
        for view in range(len(network.symmetries)):
            place = lookup.entries[first + np.uint64(VIEWS * m + view)]
            at = table + np.uint64(place)
            weights[at] = _weight(network, base, m, place, at) + step


@inline_once
def _tc(network: Network, lookup: Lookup, row: int, delta: np.float32, decay: np.float32, size: StepSize) -> None:
    weights, memory = network.weights, network.memory
    step = _share(network, size.alpha) * delta * decay
    first, base = np.uint64(row) * lookup.row_size, lookup.bases[row]
    for m in range(network.first_learned, network.tables.size):
        table = base + network.tables[m]
        for view in range(len(network.symmetries)):
            place = lookup.entries[first + np.uint64(VIEWS * m + view)]
            at = table + np.uint64(place)
            slot = at << network.memory_bits
            error, absolute = memory[slot], memory[slot + ONE]
            moved = step * (abs(error) / absolute) if absolute > 0 else step
            weights[at] = _weight(network, base, m, place, at) + moved
            summed = moved if size.takes_steps else delta
            memory[slot] = error + summed
            memory[slot + ONE] = absolute + abs(summed)


@kernel
def _autostep(network: Network, lookup: Lookup, row: int, delta: np.float32, size: StepSize) -> None:
    """Update by Autostep in two passes: first all rates, because they are divided by their sum, then the weights."""
    weights, memory = network.weights, network.memory
    base = lookup.bases[row]
    initial = _share(network, size.first)
    total = np.float32(0)
    for m in range(network.first_learned, network.tables.size):
        for view in range(len(network.symmetries)):
            place, x = _occurrences(network, lookup, row, m, view)
            if x > 0:
                slot = (base + network.tables[m] + np.uint64(place)) << network.memory_bits
                gain = delta * x * memory[slot]
                rate = initial * np.float32(math.exp(memory[slot + U2]))
                scale = memory[slot + ONE] + size.tau * rate * x * x * (abs(gain) - memory[slot + ONE])
                memory[slot + ONE] = max(abs(gain), scale)
                if memory[slot + ONE] > 0:
                    memory[slot + U2] += size.mu * gain / memory[slot + ONE]
                total += initial * np.float32(math.exp(memory[slot + U2])) * x * x
    excess = np.float32(math.log(max(total, np.float32(1))))
    for m in range(network.first_learned, network.tables.size):
        for view in range(len(network.symmetries)):
            place, x = _occurrences(network, lookup, row, m, view)
            if x > 0:
                at = base + network.tables[m] + np.uint64(place)
                slot = at << network.memory_bits
                memory[slot + U2] -= excess
                rate = initial * np.float32(math.exp(memory[slot + U2]))
                step = rate * delta * x
                weights[at] = _weight(network, base, m, place, at) + step
                memory[slot] = memory[slot] * (np.float32(1) - rate * x * x) + step


@inline_once
def _occurrences(network: Network, lookup: Lookup, row: int, m: int, view: int) -> tuple[np.uint32, np.float32]:
    """Return the place of an entry and x, its number of views; x = 0 if an earlier view has the same entry."""
    first = np.uint64(row) * lookup.row_size + np.uint64(VIEWS * m)
    place = lookup.entries[first + np.uint64(view)]
    count = np.float32(0)
    for other in range(len(network.symmetries)):
        if lookup.entries[first + np.uint64(other)] == place:
            if other < view:
                return place, np.float32(0)
            count += np.float32(1)
    return place, count
