"""What an afterstate learns from: one step, n steps, or a lambda-weighted sum of steps, forward or backward.

Move t leads to the afterstate as_t with the reward r_t. With delta_t = r_{t+1} + V(as_{t+1}) - V(as_t), and r = V = 0
behind the end of a game:

    td          as_t learns delta_t
    n_step      as_t learns r_{t+1} + .. + r_{t+n} + V(as_{t+n}) - V(as_t)              (Guei 2023, eq. 5-6)
    lambda_return   as_t learns G_t - V(as_t) with G_t = (1 - lambda) sum over k = 1..n-1 of lambda^{k-1} R_t^(k)
                + lambda^{n-1} R_t^(n), where R_t^(k) = r_{t+1} + .. + r_{t+k} + V(as_{t+k}), all V of the moment when
                as_t learns   ("n-step TD(lambda)", Guei 2023, eq. 7-8; TDL2048+, optimize:lambda-forward, -backward)
    trace       delta_t is learned by as_{t-k} too, times lambda^k, k = 0..h            (Jaskowski 2017, algorithm 1)
    delayed     as_t learns the sum over k = 0..h of lambda^k delta_{t+k}, h moves late   (Jaskowski 2017, algorithm 3)
    expected    as_t learns the sum over spawns of p max_a (r + V(as)) - V(as_t), of which td has one sample   (an
                expected update, Sutton and Barto 2018, sec. 8.5: slow, but without noise)

These learn forward, during the game. Backward learning waits for its end and goes from the last afterstate to the first
with the values of then: td, n_step and lambda_return, or for trace the untruncated
G_t = r_{t+1} + (1 - lambda) V(as_{t+1}) + lambda G_{t+1} with V(as_{t+1}) as it has just been learned (Matsuzaki 2017,
algorithm 2, has lambda = 0).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntuple.game.bitboard import Board, Rules
from ntuple.game.jit import inline, kernel
from ntuple.learning.history import LONGEST_GAME, History, afterstate_at
from ntuple.learning.step_sizes import StepSize, update
from ntuple.tables.entries import Lookup, find_entries
from ntuple.tables.network import Network
from ntuple.tables.values import value_at

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
    """What an afterstate learns from; fields of other methods than `method` are not read."""

    method: int
    is_backward: bool
    steps: int  # n_step, lambda_return: n
    decay: np.float32  # trace, delayed, lambda_return: lambda
    horizon: int  # trace, delayed, forward: h
    rectified: int  # PLAIN; RECTIFIED: V below 0 counts 0 in targets; RELU: and is not learned from


def history_length(target: Target, needs_games: bool) -> int:
    """Moves to be remembered, 0 or a power of 2: those that one update looks back on, or whole games."""
    if target.is_backward or needs_games:
        return LONGEST_GAME
    if target.method in (TD, EXPECTED):
        return 0
    moves = (target.steps if target.method in (N_STEP, LAMBDA_RETURN) else target.horizon) + 1
    return 1 << (moves - 1).bit_length()


class Learning(NamedTuple):
    """All that the functions below need beside the game and the move."""

    network: Network
    lookup: Lookup
    row: int  # of the lookup, free to be written
    target: Target
    size: StepSize
    counts: NDArray[np.float64]  # the first two: updates, and the sum of |delta|


@inline
def rectify(target: Target, value: np.float32) -> np.float32:
    """V as targets see it."""
    return max(value, np.float32(0)) if target.rectified != PLAIN else value


@inline
def value_of(rules: Rules, learning: Learning, after: Board) -> np.float32:
    """V of an afterstate, whose entries then lie in the learning row."""
    find_entries(rules, learning.network, after, learning.lookup, learning.row)
    return value_at(learning.network, learning.lookup, learning.row)


@inline
def learn(learning: Learning, value: np.float32, delta: np.float32, decay: np.float32) -> None:
    """Let the afterstate of the learning row, whose value is `value`, learn an error, if it learns at all."""
    if learning.target.rectified == RELU and value < 0:
        return
    if learning.lookup.bases[learning.row] < learning.network.frozen:
        return
    update(learning.network, learning.lookup, learning.row, delta, decay, learning.size)
    learning.counts[0] += 1
    learning.counts[1] += abs(delta)


@inline
def learn_one_step(rules: Rules, learning: Learning, after: Board, returned: np.float32) -> None:
    """An afterstate learns r + V of the next move."""
    value = value_of(rules, learning, after)
    learn(learning, value, returned - value, UNDECAYED)


@kernel
def _learn_error(rules: Rules, learning: Learning, after: Board, delta: np.float32, decay: np.float32) -> None:
    """An afterstate learns an error."""
    learn(learning, value_of(rules, learning, after), delta, decay)


@kernel
def _learn_return(rules: Rules, learning: Learning, after: Board, returned: np.float32) -> np.float32:
    """An afterstate learns a return; its value from now on."""
    learn_one_step(rules, learning, after, returned)
    return value_at(learning.network, learning.lookup, learning.row)


@kernel
def learn_forward(
    rules: Rules, learning: Learning, history: History, game: int, first: int, last: int, returned: np.float32
) -> None:
    """Learn, during the game, from the move behind afterstate `last`.

    Args:
        rules: the game.
        learning: the network and the rule.
        history: the game's moves.
        game: which of the thread's.
        first: the first move of this episode.
        last: number of the last move.
        returned: r_{last + 1} + V(as_{last + 1}), or 0 behind the end; the mean of it with the target EXPECTED.
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
    rules: Rules, learning: Learning, history: History, game: int, move: int, last: int, rest: np.float32
) -> None:
    """as_move learns from what as_last learns, `rest`, and the moves in between; see `_return_of_steps`."""
    returned = _return_of_steps(rules, learning, history, game, move, last, rest)
    _learn_return(rules, learning, afterstate_at(history, game, move), returned)


@inline
def _return_of_steps(
    rules: Rules, learning: Learning, history: History, game: int, move: int, last: int, rest: np.float32
) -> np.float32:
    """The n-step return or the truncated lambda-return of as_move.

        G_last = rest,  G_{k-1} = r_k + G_k  or  r_k + (1 - lambda) V(as_k) + lambda G_k,  k = last .. move + 1

    Args:
        rules: the game.
        learning: the network and the rule.
        history: the game's moves.
        game: which of the thread's.
        move: number of the move to learn from.
        last: number of the last move that counts, n - 1 moves later or the last of the game.
        rest: what as_last learns: r_{last + 1} + V(as_{last + 1}), or 0 at the end of the game.

    Returns:
        G_move.
    """
    target, returned = learning.target, rest
    for k in range(last, move, -1):
        if target.method == LAMBDA_RETURN:
            value = rectify(target, value_of(rules, learning, afterstate_at(history, game, k)))
            returned = (UNDECAYED - target.decay) * value + target.decay * returned
        returned += history.rewards[game, k & history.mask]
    return returned


@kernel
def _learn_delayed(rules: Rules, learning: Learning, history: History, game: int, move: int, last: int) -> None:
    """as_move learns the sum of lambda^k delta_{move + k} up to delta_last."""
    total, decay = np.float32(0), UNDECAYED
    for k in range(move, last + 1):
        total += decay * history.deltas[game, k & history.mask]
        decay *= learning.target.decay
    _learn_error(rules, learning, afterstate_at(history, game, move), total, UNDECAYED)


@kernel
def learn_end(
    rules: Rules, learning: Learning, history: History, game: int, first: int, last: int, returned: np.float32
) -> None:
    """Learn what is left when a game is over; see `learn_forward` for the arguments."""
    target = learning.target
    nothing = np.float32(0)
    if target.is_backward:
        _learn_backward(rules, learning, history, game, first, last)
        return
    learn_forward(rules, learning, history, game, first, last, returned)
    if target.method == N_STEP or target.method == LAMBDA_RETURN:
        for move in range(max(first, last + 2 - target.steps), last + 1):
            _learn_n_steps(rules, learning, history, game, move, last, nothing)
    elif target.method == DELAYED:
        for move in range(max(first, last + 1 - target.horizon), last + 1):
            _learn_delayed(rules, learning, history, game, move, last)


@inline
def _lambda_return_backward(
    rules: Rules, learning: Learning, history: History, game: int, move: int, last: int
) -> np.float32:
    """The truncated lambda-return of as_move in a game whose last move is `last`."""
    end, rest = move + learning.target.steps, np.float32(0)
    if end <= last:
        rest = rectify(learning.target, value_of(rules, learning, afterstate_at(history, game, end)))
        rest += history.rewards[game, end & history.mask]
    return _return_of_steps(rules, learning, history, game, move, min(end - 1, last), rest)


@inline
def _learn_backward(rules: Rules, learning: Learning, history: History, game: int, first: int, last: int) -> None:
    target = learning.target
    returned = after_value = np.float32(0)  # G and V of the afterstate behind
    decay = target.decay if target.method == TRACE else np.float32(0)
    rewards = np.float32(0)  # n_step: of the n moves behind
    for move in range(last, first - 1, -1):
        reward = history.rewards[game, (move + 1) & history.mask] if move < last else np.float32(0)
        if target.method == N_STEP:
            end = move + target.steps
            rewards += reward
            if end < last:
                rewards -= history.rewards[game, (end + 1) & history.mask]
            returned = rewards
            if end <= last:
                returned += rectify(target, value_of(rules, learning, afterstate_at(history, game, end)))
        elif target.method == LAMBDA_RETURN:
            returned = _lambda_return_backward(rules, learning, history, game, move, last)
        else:
            returned = reward + (UNDECAYED - decay) * rectify(target, after_value) + decay * returned
        after_value = _learn_return(rules, learning, afterstate_at(history, game, move), returned)
