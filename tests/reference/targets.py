"""Value targets in plain Python, by the textbook recursion, one number at a time."""

from collections.abc import Sequence


def lambda_return(
    t: int,
    rewards: Sequence[float],
    dones: Sequence[bool],
    values: Sequence[float],
    discount: float,
    td_lambda: float,
    steps: int,
) -> float:
    """Return the lambda-return at time t.

    Args:
        rewards: [T] reward of the move at each time.
        dones: [T] whether this move ended the game.
        values: [T + 1].
        steps: number of moves to look ahead at most; the return also ends at the last value.
    """
    if steps == 0 or t == len(rewards):
        return values[t]
    if dones[t]:
        return rewards[t]
    longer = lambda_return(t + 1, rewards, dones, values, discount, td_lambda, steps - 1)
    return rewards[t] + discount * ((1 - td_lambda) * values[t + 1] + td_lambda * longer)
