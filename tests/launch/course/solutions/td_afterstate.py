"""Model solution of `light`: TD(0) of afterstates, backward over the stored game."""
# ruff: noqa: F821

import numba


@numba.njit
def update(weights, after, delta):
    """Give each weight that the board reads its share of ALPHA * delta."""
    for table in range(PLACES.shape[0]):
        for view in range(PLACES.shape[1]):
            weights[table, index(after, table, view)] += ALPHA / WEIGHTS_READ * delta


@numba.njit
def learn(weights, path, rewards):
    """Go from the last afterstate to the first, so that each target has learned already."""
    target = 0.0
    for t in range(len(path) - 1, -1, -1):
        update(weights, path[t], target - value(weights, path[t]))
        target = rewards[t] + value(weights, path[t])
