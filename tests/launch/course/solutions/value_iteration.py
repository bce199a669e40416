"""The functions that docs/course/starters/value_iteration.py leaves out."""

import numpy as np


def sweep(model, values):
    behind = (model.chance * values[model.following]).sum(axis=1)
    of_moves = np.where(model.after >= 0, model.points + behind[model.after], -np.inf)
    best = of_moves.max(axis=1)
    return np.where(np.isfinite(best), best, 0.0)


def value_after(model, history, sweeps, state):
    while len(history) <= sweeps:
        history.append(sweep(model, history[-1]))
    return float(history[sweeps][state])
