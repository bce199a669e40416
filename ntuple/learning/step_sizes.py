"""How much an error moves each weight: TD, temporal coherence (TC), or Autostep.

With delta = target - V(afterstate), every one of the afterstate's S M entries i (an entry met twice counts twice; M are
the tuples that learn):

    TD         w_i += alpha / (S M) * delta
    TC         w_i += alpha / (S M) * delta * beta_i,   beta_i = |E_i| / A_i, or 1 where A_i = 0,
               then E_i += delta and A_i += |delta|     (Guei et al. 2022, eq. 7-9; Jaskowski 2017, algorithm 2)
               or E_i += d and A_i += |d| with d = what w_i was moved by   (Matsuzaki 2017, algorithm 1)
    Autostep   v_i = max(|g_i|, v_i + tau a_i x_i^2 (|g_i| - v_i)) with g_i = delta x_i h_i,
               a_i *= exp(mu g_i / v_i) if v_i > 0,  a_i /= max(1, sum of a_j x_j^2),  w_i += a_i delta x_i,
               h_i = h_i (1 - a_i x_i^2) + a_i delta x_i;  x_i is how often the board has the entry
               (Mahmood et al. 2012, table 1; Jaskowski 2017, sec. V-B, whose tau is the paper's 1 / tau)
               and at the start a_i = first / (S M), v_i = h_i = 0. A rate that is not divided by S M, like the
               alpha of TD (Jaskowski 2017, sec. IV-D), makes the sum exceed 1 whenever a board has new entries, and
               the division then shrinks the rates of all its old ones. Entries that the board lacks keep their rates.

An error that was made later counts `decay` = lambda^k times: it moves w_i so much less, while E and A take it whole.
"""

import math
from typing import NamedTuple

import numpy as np

from ntuple.game.bitboard import ONE, U2, U3
from ntuple.game.jit import inline, kernel
from ntuple.tables.entries import Lookup
from ntuple.tables.network import VIEWS, Network
from ntuple.tables.promotion import weight_of

TD, TC, AUTOSTEP = range(3)
RULES = {"td": TD, "tc": TC, "autostep": AUTOSTEP}
TD_RECORD_BITS, ADAPTIVE_RECORD_BITS = 0, 2
# The floats of a record after its weight: E and A of TC; h, v and log(a S M / first) of Autostep.
WEIGHT, FIRST, SECOND, THIRD = range(4)


class StepSize(NamedTuple):
    """How an error moves the weights; fields of other rules than `rule` are not read."""

    rule: int
    alpha: np.float32  # TD, TC: learning rate of all S M entries together
    takes_steps: bool  # TC: E and A sum the steps of the weight in place of the errors
    mu: np.float32  # Autostep: rate of the rates
    tau: np.float32  # Autostep: rate at which v forgets
    first: np.float32  # Autostep: rate of all S M entries together at the start


def forget(network: Network) -> None:
    """Forget what the adaptive rule has learned: all but the weights of a network of ADAPTIVE_RECORD_BITS."""
    network.weights.reshape(-1, 1 << ADAPTIVE_RECORD_BITS)[:, FIRST:] = 0


@inline
def update(network: Network, lookup: Lookup, row: int, delta: np.float32, decay: np.float32, size: StepSize) -> None:
    """Move V of the board of a row by the error `delta`."""
    if size.rule == TD:
        _td(network, lookup, row, delta * decay, size)
    elif size.rule == TC:
        _tc(network, lookup, row, delta, decay, size)
    else:
        _autostep(network, lookup, row, delta * decay, size)


@inline
def _share(network: Network, alpha: np.float32) -> np.float32:
    return alpha / np.float32(len(network.symmetries) * (network.tables.size - network.first_learned))


@inline
def _weight(network: Network, base: np.uint64, m: int, place: np.uint32, at: np.uint64) -> np.float32:
    return weight_of(network, base, m, place) if network.promotion else network.weights[at]


@inline
def _td(network: Network, lookup: Lookup, row: int, delta: np.float32, size: StepSize) -> None:
    weights = network.weights
    step = _share(network, size.alpha) * delta
    first, base = np.uint64(row) * lookup.row_size, lookup.bases[row]
    for m in range(network.first_learned, network.tables.size):
        table = base + network.tables[m]
        for view in range(len(network.symmetries)):
            place = lookup.entries[first + np.uint64(VIEWS * m + view)]
            at = (table + np.uint64(place)) << network.record_bits
            weights[at] = _weight(network, base, m, place, at) + step


@inline
def _tc(network: Network, lookup: Lookup, row: int, delta: np.float32, decay: np.float32, size: StepSize) -> None:
    weights = network.weights
    step = _share(network, size.alpha) * delta * decay
    first, base = np.uint64(row) * lookup.row_size, lookup.bases[row]
    for m in range(network.first_learned, network.tables.size):
        table = base + network.tables[m]
        for view in range(len(network.symmetries)):
            place = lookup.entries[first + np.uint64(VIEWS * m + view)]
            at = (table + np.uint64(place)) << network.record_bits
            error, absolute = weights[at + ONE], weights[at + U2]
            moved = step * (abs(error) / absolute) if absolute > 0 else step
            weights[at] = _weight(network, base, m, place, at) + moved
            summed = moved if size.takes_steps else delta
            weights[at + ONE] = error + summed
            weights[at + U2] = absolute + abs(summed)


@kernel
def _autostep(network: Network, lookup: Lookup, row: int, delta: np.float32, size: StepSize) -> None:
    """Two passes: all rates first, since they are divided by their sum. Feature x is how often an entry occurs."""
    weights = network.weights
    base = lookup.bases[row]
    initial = _share(network, size.first)
    total = np.float32(0)
    for m in range(network.first_learned, network.tables.size):
        for view in range(len(network.symmetries)):
            place, x = _occurrences(network, lookup, row, m, view)
            if x > 0:
                at = (base + network.tables[m] + np.uint64(place)) << network.record_bits
                gain = delta * x * weights[at + ONE]
                rate = initial * np.float32(math.exp(weights[at + U3]))
                scale = weights[at + U2] + size.tau * rate * x * x * (abs(gain) - weights[at + U2])
                weights[at + U2] = max(abs(gain), scale)
                if weights[at + U2] > 0:
                    weights[at + U3] += size.mu * gain / weights[at + U2]
                total += initial * np.float32(math.exp(weights[at + U3])) * x * x
    excess = np.float32(math.log(max(total, np.float32(1))))
    for m in range(network.first_learned, network.tables.size):
        for view in range(len(network.symmetries)):
            place, x = _occurrences(network, lookup, row, m, view)
            if x > 0:
                at = (base + network.tables[m] + np.uint64(place)) << network.record_bits
                weights[at + U3] -= excess
                rate = initial * np.float32(math.exp(weights[at + U3]))
                step = rate * delta * x
                weights[at] = _weight(network, base, m, place, at) + step
                weights[at + ONE] = weights[at + ONE] * (np.float32(1) - rate * x * x) + step


@inline
def _occurrences(network: Network, lookup: Lookup, row: int, m: int, view: int) -> tuple[np.uint32, np.float32]:
    """An entry's place and how often the board has it; 0 times for all but the first of the views that share it."""
    first = np.uint64(row) * lookup.row_size + np.uint64(VIEWS * m)
    place = lookup.entries[first + np.uint64(view)]
    count = np.float32(0)
    for other in range(len(network.symmetries)):
        if lookup.entries[first + np.uint64(other)] == place:
            if other < view:
                return place, np.float32(0)
            count += np.float32(1)
    return place, count
