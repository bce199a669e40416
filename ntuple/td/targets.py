"""Targets: from which error an afterstate learns, forward during a game or backward after it.

Move t leads to the afterstate as_t with the reward r_t: the points since as_{t-1}, in Threes! those of the placed tile
too. After the end of a game r = V = 0, but for the points of the last placed tile. Notation:

    delta_t = r_{t+1} + V(as_{t+1}) - V(as_t)
    R_t^(k) = r_{t+1} + .. + r_{t+k} + V(as_{t+k})

Errors from which as_t learns:

    td              delta_t
    n_step          R_t^(n) - V(as_t)   (Guei 2023, eq. 5-6)
    lambda_return   G_t - V(as_t)   ("n-step TD(lambda)", Guei 2023, eq. 7-8; TDL2048+ optimize:lambda-forward,
                    -backward), with
                    G_t = (1 - lambda) sum over k = 1..n-1 of lambda^{k-1} R_t^(k) + lambda^{n-1} R_t^(n)
                    and all V taken when as_t learns
    trace           lambda^k delta_{t+k} for k = 0..h, each one at move t+k   (Jaskowski 2017, algorithm 1)
    delayed         sum over k = 0..h of lambda^k delta_{t+k}, h moves later   (Jaskowski 2017, algorithm 3)
    expected        sum over spawns of p max_a (r + V(as)) - V(as_t)   (expected update, Sutton and Barto 2018, sec.
                    8.5); td is one sample of it; slow, but without the noise of the spawns

Forward learning updates during the game. Backward learning (td, n_step, lambda_return, trace) begins after the game and
goes from the last afterstate to the first, with the values at that time; in a restarted game, to the afterstate on
which it began (Matsuzaki 2017, algorithm 3, line 9). Backward, `trace` is not truncated:

    G_t = r_{t+1} + (1 - lambda) V(as_{t+1}) + lambda G_{t+1},  with V(as_{t+1}) after its update

Matsuzaki 2017, algorithm 2, is the case lambda = 0.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntuple.game.any_game import AnyRules
from ntuple.game.bitboard import Board
from ntuple.game.jit import inline, inline_once, kernel
from ntuple.tables.entries import Lookup, find_entries
from ntuple.tables.network import Network
from ntuple.tables.values import value_at
from ntuple.td.history import LONGEST_GAME, History, afterstate_at
from ntuple.td.step_sizes import StepSize, update

TD, N_STEP, TRACE, DELAYED, EXPECTED, LAMBDA_RETURN = range(6)
METHODS = {
    "td": TD,
    "n_step": N_STEP,
    "trace": TRACE,
    "delayed": DELAYED,
    "expected": EXPECTED,
    "lambda_return": LAMBDA_RETURN,
}
PLAIN, RECTIFIED, RELU = range(3)
RECTIFICATIONS = {"none": PLAIN, "target": RECTIFIED, "relu": RELU}
UNDECAYED = np.float32(1)


class Target(NamedTuple):
    """The rule that computes the error of an afterstate; only the fields of `method` are read."""

    method: int  # a value of METHODS
    is_backward: bool
    steps: int  # n_step, lambda_return: n
    decay: np.float32  # trace, delayed, lambda_return: lambda
    horizon: int  # trace and delayed, forward: h
    rectified: int  # PLAIN; RECTIFIED: V < 0 counts as 0 in targets; RELU: also an afterstate with V < 0 does not learn


def history_length(target: Target, needs_games: bool) -> int:
    """Return the number of moves to store, 0 or a power of 2: those that one update needs, or whole games."""
    if target.is_backward or needs_games:
        return LONGEST_GAME
    if target.method in (TD, EXPECTED):
        return 0
    moves = (target.steps if target.method in (N_STEP, LAMBDA_RETURN) else target.horizon) + 1
    return 1 << (moves - 1).bit_length()


@inline
def first_learned(target: Target, last: int) -> int:
    """Return the number of the afterstate that `learn_forward` updates first after move `last` + 1; -1 backward."""
    if target.is_backward:
        return -1
    if target.method == N_STEP or target.method == LAMBDA_RETURN:
        return last + 1 - target.steps
    return last - target.horizon if target.method == DELAYED else last


class Learning(NamedTuple):
    """Arguments that all functions below share."""

    network: Network
    lookup: Lookup
    row: int  # row of the lookup that updates overwrite
    target: Target
    size: StepSize
    counts: NDArray[np.float64]  # the first two: number of updates, and sum of |delta|


@inline
def rectify(target: Target, value: np.float32) -> np.float32:
    """Return V as it counts in targets."""
    return max(value, np.float32(0)) if target.rectified != PLAIN else value


@inline
def value_of(rules: AnyRules, learning: Learning, after: Board) -> np.float32:
    """Compute V of an afterstate; its entries are then in the row of `learning`."""
    find_entries(rules, learning.network, after, learning.lookup, learning.row)
    return value_at(learning.network, learning.lookup, learning.row)


@inline_once
def _learn(learning: Learning, delta: np.float32, decay: np.float32) -> None:
    """Update the afterstate in the row of `learning` by an error; one in a frozen stage or that RELU excludes stays."""
    if learning.target.rectified == RELU and value_at(learning.network, learning.lookup, learning.row) < 0:
        return
    if learning.lookup.bases[learning.row] < learning.network.frozen:
        return
    update(learning.network, learning.lookup, learning.row, delta, decay, learning.size)
    learning.counts[0] += 1
    learning.counts[1] += abs(delta)


@inline_once
def learn_found(learning: Learning, returned: np.float32) -> None:
    """Update the afterstate whose entries are in the row of `learning` towards a return, such as r + V of a move."""
    _learn(learning, returned - value_at(learning.network, learning.lookup, learning.row), UNDECAYED)


@kernel
def _learn_error(rules: AnyRules, learning: Learning, after: Board, delta: np.float32, decay: np.float32) -> None:
    """Update an afterstate by an error."""
    find_entries(rules, learning.network, after, learning.lookup, learning.row)
    _learn(learning, delta, decay)


@kernel
def _learn_return(rules: AnyRules, learning: Learning, after: Board, returned: np.float32) -> np.float32:
    """Update an afterstate towards a return; return its new value."""
    find_entries(rules, learning.network, after, learning.lookup, learning.row)
    learn_found(learning, returned)
    return value_at(learning.network, learning.lookup, learning.row)


@kernel
def learn_forward(
    rules: AnyRules, learning: Learning, history: History, game: int, first: int, last: int, returned: np.float32
) -> None:
    """Learn during the game from the move after afterstate `last`.

    Args:
        returned: r_{last + 1} + V(as_{last + 1}), without V at the end of the game; its mean if the target is EXPECTED.
    """
    target = learning.target
    if target.method == TD or target.method == EXPECTED:
        _learn_return(rules, learning, afterstate_at(history, game, last), returned)
        return
    if target.method == N_STEP or target.method == LAMBDA_RETURN:
        if last + 1 - target.steps >= first:
            _learn_n_steps(rules, learning, history, game, last + 1 - target.steps, last, returned)
        return
    delta = returned - value_of(rules, learning, afterstate_at(history, game, last))
    if target.method == TRACE:
        decay = UNDECAYED
        for k in range(min(target.horizon, last - first) + 1):
            _learn_error(rules, learning, afterstate_at(history, game, last - k), delta, decay)
            decay *= target.decay
    else:
        history.deltas[game, last & history.mask] = delta
        if last - target.horizon >= first:
            _learn_delayed(rules, learning, history, game, last - target.horizon, last)


@kernel
def _learn_n_steps(
    rules: AnyRules, learning: Learning, history: History, game: int, move: int, last: int, rest: np.float32
) -> None:
    """Update as_move towards the return of `_return_of_steps`."""
    returned = _return_of_steps(rules, learning, history, game, move, last, rest)
    _learn_return(rules, learning, afterstate_at(history, game, move), returned)


@inline
def _return_of_steps(
    rules: AnyRules, learning: Learning, history: History, game: int, move: int, last: int, rest: np.float32
) -> np.float32:
    """Compute the n-step return or the truncated lambda-return of as_move.

        G_last  = rest
        G_{k-1} = r_k + G_k                                  for k = last .. move + 1   (n_step)
        G_{k-1} = r_k + (1 - lambda) V(as_k) + lambda G_k    for k = last .. move + 1   (lambda_return)

    Args:
        last: number of the last move that counts: n - 1 moves later, or the last of the game.
        rest: return of as_last: r_{last + 1} + V(as_{last + 1}), without V at the end of the game.
    """
    target, returned = learning.target, rest
    for k in range(last, move, -1):
        if target.method == LAMBDA_RETURN:
            value = rectify(target, value_of(rules, learning, afterstate_at(history, game, k)))
            returned = (UNDECAYED - target.decay) * value + target.decay * returned
        returned += history.rewards[game, k & history.mask]
    return returned


@kernel
def _learn_delayed(rules: AnyRules, learning: Learning, history: History, game: int, move: int, last: int) -> None:
    """Update as_move by the sum of lambda^k delta_{move + k} up to delta_last."""
    total, decay = np.float32(0), UNDECAYED
    for k in range(move, last + 1):
        total += decay * history.deltas[game, k & history.mask]
        decay *= learning.target.decay
    _learn_error(rules, learning, afterstate_at(history, game, move), total, UNDECAYED)


@kernel
def learn_end(
    rules: AnyRules, learning: Learning, history: History, game: int, first: int, last: int, returned: np.float32
) -> None:
    """Make the remaining updates of a game that is over; `returned` is r_{last + 1}."""
    target = learning.target
    if target.is_backward:
        first = max(first, last - history.mask)  # earlier moves are no longer stored
        _learn_backward(rules, learning, history, game, first, last, returned)
        return
    learn_forward(rules, learning, history, game, first, last, returned)
    if target.method == N_STEP or target.method == LAMBDA_RETURN:
        for move in range(max(first, last + 2 - target.steps), last + 1):
            _learn_n_steps(rules, learning, history, game, move, last, returned)
    elif target.method == DELAYED:
        for move in range(max(first, last + 1 - target.horizon), last + 1):
            _learn_delayed(rules, learning, history, game, move, last)


@inline
def _lambda_return_backward(
    rules: AnyRules, learning: Learning, history: History, game: int, move: int, last: int, rest: np.float32
) -> np.float32:
    """Compute the truncated lambda-return of as_move in a finished game whose last move is `last`.

    `rest` is r_{last + 1}.
    """
    end = move + learning.target.steps
    if end <= last:
        rest = rectify(learning.target, value_of(rules, learning, afterstate_at(history, game, end)))
        rest += history.rewards[game, end & history.mask]
    return _return_of_steps(rules, learning, history, game, move, min(end - 1, last), rest)


@inline
def _learn_backward(
    rules: AnyRules, learning: Learning, history: History, game: int, first: int, last: int, rest: np.float32
) -> None:
    """Update the afterstates `last` .. `first` of a finished game in this order; `rest` is r_{last + 1}."""
    target = learning.target
    returned = after_value = np.float32(0)  # G and V of the next afterstate
    decay = target.decay if target.method == TRACE else np.float32(0)
    rewards = np.float32(0)  # n_step: sum of the rewards of the next n moves
    for move in range(last, first - 1, -1):
        reward = history.rewards[game, (move + 1) & history.mask] if move < last else rest
        if target.method == N_STEP:
            end = move + target.steps
            rewards += reward
            if end <= last:
                rewards -= history.rewards[game, (end + 1) & history.mask] if end < last else rest
            returned = rewards
            if end <= last:
                returned += rectify(target, value_of(rules, learning, afterstate_at(history, game, end)))
        elif target.method == LAMBDA_RETURN:
            returned = _lambda_return_backward(rules, learning, history, game, move, last, rest)
        else:
            returned = reward + (UNDECAYED - decay) * rectify(target, after_value) + decay * returned
        after_value = _learn_return(rules, learning, afterstate_at(history, game, move), returned)
