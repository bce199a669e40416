"""Value targets in plain Python: the recursion as the books write it, one number at a time."""

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
    """The lambda-return of time t that looks at most `steps` moves ahead, and not beyond the last value."""
    if steps == 0 or t == len(rewards):
        return values[t]
    if dones[t]:
        return rewards[t]
    longer = lambda_return(t + 1, rewards, dones, values, discount, td_lambda, steps - 1)
    return rewards[t] + discount * ((1 - td_lambda) * values[t + 1] + td_lambda * longer)
