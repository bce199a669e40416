"""The learning methods of the papers on a recorded episode, in plain Python, each written as in its paper.

All functions have these arguments:

    episode                      list of moves: the afterstate, and the reward of the move that led to it
    value(board)                 V
    target_value(board)          the value used in targets: V, or max(V, 0)
    learn(board, error, decay)   update the value of a board by an error; `decay` scales the step
"""

import itertools
from collections.abc import Callable

from reference.ntuple import Board, Move

Learn = Callable[[Board, float, float], None]
Value = Callable[[Board], float]


def td(episode: list[Move], value: Value, target_value: Value, learn: Learn) -> None:
    """Learn by TD(0) (Guei 2023, eq. 11): delta_t = r_{t+1} + V(as_{t+1}) - V(as_t), and -V(as_t) at the end."""
    for (board, _), (after, reward) in itertools.pairwise(episode):
        learn(board, reward + target_value(after) - value(board), 1.0)
    learn(episode[-1][0], -value(episode[-1][0]), 1.0)


def n_step(episode: list[Move], value: Value, target_value: Value, learn: Learn, n: int) -> None:
    """Learn n-step returns, the sum of n rewards and the value after them (Guei 2023, eq. 5-6).

    A return is learned as soon as it is known.
    """
    boards, rewards = zip(*episode, strict=True)
    end = len(episode)
    for now in range(1, end):
        t = now - n
        if t >= 0:
            learn(boards[t], sum(rewards[t + 1 : now + 1]) + target_value(boards[now]) - value(boards[t]), 1.0)
    for t in range(max(0, end - n), end):
        learn(boards[t], sum(rewards[t + 1 :]) - value(boards[t]), 1.0)


def truncated_lambda_return(
    episode: list[Move], t: int, steps: int, decay: float, target_value: Value, end: int
) -> float:
    """Return the lambda-return (Guei 2023, eq. 8), truncated to `steps` n-step returns (eq. 6).

    The game is over after move `end`.
    """
    boards, rewards = zip(*episode, strict=True)

    def n_step_return(n: int) -> float:
        rest = target_value(boards[t + n]) if t + n <= end else 0.0
        return sum(rewards[t + 1 : t + n + 1]) + rest

    longest = min(steps, end - t + 1)
    shorter = sum(decay ** (n - 1) * n_step_return(n) for n in range(1, longest))
    return (1 - decay) * shorter + decay ** (longest - 1) * n_step_return(longest)


def lambda_return(episode: list[Move], value: Value, target_value: Value, learn: Learn, n: int, decay: float) -> None:
    """Learn by n-step TD(lambda): the truncated lambda-return replaces the n-step return."""
    end = len(episode) - 1
    for t in range(len(episode)):
        returned = truncated_lambda_return(episode, t, n, decay, target_value, end)
        learn(episode[t][0], returned - value(episode[t][0]), 1.0)


def backward_lambda_return(
    episode: list[Move], value: Value, target_value: Value, learn: Learn, n: int, decay: float
) -> None:
    """Learn truncated lambda-returns from the last board to the first."""
    end = len(episode) - 1
    for t in range(end, -1, -1):
        returned = truncated_lambda_return(episode, t, n, decay, target_value, end)
        learn(episode[t][0], returned - value(episode[t][0]), 1.0)


def trace(episode: list[Move], value: Value, target_value: Value, learn: Learn, decay: float, horizon: int) -> None:
    """Learn by TD(lambda)Update (Jaskowski 2017, algorithm 1): delta_t updates the last h + 1 boards."""
    for t, (board, _) in enumerate(episode):
        after, reward = episode[t + 1] if t + 1 < len(episode) else (None, 0.0)
        delta = reward + (target_value(after) if after else 0.0) - value(board)
        for k in range(t, max(0, t - horizon) - 1, -1):
            learn(episode[k][0], delta, decay ** (t - k))


def delayed(episode: list[Move], value: Value, target_value: Value, learn: Learn, decay: float, horizon: int) -> None:
    """Learn by delayed TD(lambda) (Jaskowski 2017, algorithm 3).

    A board learns the decayed sum of h + 1 errors, h moves later. The last boards learn after the end of the episode
    (procedure Finally of the paper).
    """
    deltas: list[float] = []

    def actual(t: int) -> None:
        errors = deltas[t : t + horizon + 1]
        learn(episode[t][0], sum(error * decay**k for k, error in enumerate(errors)), 1.0)

    for t, (board, _) in enumerate(episode):
        after, reward = episode[t + 1] if t + 1 < len(episode) else (None, 0.0)
        deltas.append(reward + (target_value(after) if after else 0.0) - value(board))
        if t >= horizon:
            actual(t - horizon)
    for t in range(max(0, len(episode) - horizon), len(episode)):
        actual(t)


def backward(episode: list[Move], value: Value, target_value: Value, learn: Learn, decay: float) -> None:
    """Learn from the last move to the first.

    With decay = 0 this is TD (Matsuzaki 2017, algorithm 2), otherwise lambda-returns (Guei 2023, eq. 8).
    """
    returned = 0.0
    for t in range(len(episode) - 1, -1, -1):
        board = episode[t][0]
        if t + 1 < len(episode):
            after, reward = episode[t + 1]
            returned = reward + (1 - decay) * target_value(after) + decay * returned
        learn(board, returned - value(board), 1.0)


def backward_n_step(episode: list[Move], value: Value, target_value: Value, learn: Learn, n: int) -> None:
    """Learn n-step returns (Guei 2023, eq. 6) from the last move to the first.

    The returns use the updated values of later boards.
    """
    boards, rewards = zip(*episode, strict=True)
    for t in range(len(episode) - 1, -1, -1):
        rest = target_value(boards[t + n]) if t + n < len(episode) else 0.0
        learn(boards[t], sum(rewards[t + 1 : t + n + 1]) + rest - value(boards[t]), 1.0)
