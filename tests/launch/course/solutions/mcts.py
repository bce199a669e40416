"""Model solution of `mcts`: UCB1, expansion and backup."""
# ruff: noqa: F821

import numba


@numba.njit
def select(visits, totals, legal, exploration):
    """Take the action of the largest UCB1."""
    best, chosen = -1.0, -1
    for action in range(4):
        if not legal[action]:
            continue
        if visits[action] == 0:
            return action
        bonus = np.sqrt(np.log(visits.sum()) / visits[action])
        score = totals[action] / visits[action] + exploration * totals.sum() / visits.sum() * bonus
        if score > best:
            best, chosen = score, action
    return chosen


@numba.njit
def expand(keys, visits, totals, row, key):
    """Write the key, and no visits."""
    keys[row] = key
    visits[row] = 0
    totals[row] = 0.0


@numba.njit
def back_up(visits, totals, path, value):
    """Go from the last move to the first, and sum up the points."""
    for i in range(len(path) - 1, -1, -1):
        row, action, points = path[i]
        value += points
        visits[row, action] += 1
        totals[row, action] += value
