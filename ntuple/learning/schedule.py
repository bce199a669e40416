"""Which learning rule applies at which move of the training budget.

A *stretch* is a range of moves with one rule. It ends at the next report, at the next network of the mean, where the
rate of TD changes, where the adaptive rule begins, where it forgets its rates, or where exploration falls.
"""

import numpy as np

from ntuple.learning.config import NTupleConfig
from ntuple.td.exploration import Exploration
from ntuple.td.kernel import LearningRule
from ntuple.td.step_sizes import RULES, TD, StepSize
from ntuple.td.targets import METHODS, RECTIFICATIONS, Target

EXPLORATION_STEPS = 100  # in which exploration falls to 0


def stretch_of(config: NTupleConfig, env_steps: int) -> tuple[int, int]:
    """Return the first move of the stretch that contains move `env_steps`, and the first move after the stretch."""
    points = [0, config.env_steps, config.adaptive_starts]
    points += [round(share * config.env_steps) for share, _ in config.step_size.alpha_steps]
    grids = [(0, config.report_env_steps), (0, config.average.env_steps), (0, _exploration_env_steps(config))]
    if env_steps >= config.adaptive_starts:
        grids.append((config.adaptive_starts, config.step_size.reset_env_steps))
    for first, every in grids:
        if every:
            last = first + (env_steps - first) // every * every
            points += [last, last + every]
    return max(point for point in points if point <= env_steps), min(point for point in points if point > env_steps)


def forgets_rates(config: NTupleConfig, env_steps: int) -> bool:
    """Return whether the adaptive rule forgets its rates before move `env_steps` (`step_size.reset_env_steps`)."""
    reset, adaptive_moves = config.step_size.reset_env_steps, env_steps - config.adaptive_starts
    return reset > 0 and adaptive_moves > 0 and adaptive_moves % reset == 0


def make_target(config: NTupleConfig) -> Target:
    """Return the target of the kernel's updates."""
    target = config.target
    return Target(
        METHODS[target.method],
        target.direction == "backward",
        target.steps,
        np.float32(target.decay),
        target.horizon,
        RECTIFICATIONS[target.rectified],
    )


def method_at(config: NTupleConfig, env_steps: int, is_adaptive: bool) -> LearningRule:
    """Return the learning rule of the stretch that begins with a move."""
    size = config.step_size
    step_size = StepSize(
        RULES[size.adaptive] if is_adaptive else TD,
        np.float32(learning_rate_at(config, env_steps, is_adaptive)),
        size.tc.sums == "steps",
        np.float32(size.autostep.mu),
        np.float32(size.autostep.tau),
        np.float32(size.autostep.first),
    )
    return LearningRule(make_target(config), step_size)


def learning_rate_at(config: NTupleConfig, env_steps: int, is_adaptive: bool) -> float:
    """Return the learning rate alpha of a board at move `env_steps`.

    Returns:
        alpha, before it is divided by the number of entries and multiplied by the coherence of TC; of Autostep, whose
        weights have rates of their own, the first rate.
    """
    size = config.step_size
    if is_adaptive:
        return size.autostep.first if size.adaptive == "autostep" else size.tc.alpha
    passed = [rate for share, rate in size.alpha_steps if env_steps >= round(share * config.env_steps)]
    return passed[-1] if passed else size.alpha


def exploration_at(config: NTupleConfig, env_steps: int) -> Exploration | None:
    """Return the exploration at move `env_steps`; None if the training never explores.

    It falls linearly to 0, in EXPLORATION_STEPS steps.
    """
    exploration, every = config.exploration, _exploration_env_steps(config)
    if not every:
        return None
    left = max(0.0, 1.0 - env_steps // every * every / (exploration.decay * config.env_steps))
    return Exploration(exploration.epsilon * left, exploration.temperature * left)


def _exploration_env_steps(config: NTupleConfig) -> int:
    """Return the moves of a step of exploration; 0: the training never explores."""
    exploration = config.exploration
    if not (exploration.epsilon or exploration.temperature):
        return 0
    return max(1, round(exploration.decay * config.env_steps / EXPLORATION_STEPS))


def is_averaged(config: NTupleConfig, env_steps: int) -> bool:
    """Return whether the network after `env_steps` moves is averaged."""
    every = config.average.env_steps
    is_due = every > 0 and (env_steps % every == 0 or env_steps == config.env_steps)
    return is_due and env_steps > _average_starts(config)


def keeps_mean(config: NTupleConfig, saved: NTupleConfig, env_steps: int) -> bool:
    """Return whether a training goes on with the mean of networks that it had after `env_steps` moves.

    It does if the first network of the mean is in the last share of the budget, in which networks are averaged.

    Args:
        saved: the config at that time, perhaps with another budget.
    """
    every = saved.average.env_steps
    if not (every and config.average.env_steps):
        return False
    first = min((_average_starts(saved) // every + 1) * every, env_steps)  # the end of a budget counts too
    return first > _average_starts(config)


def _average_starts(config: NTupleConfig) -> int:
    """Return the number of moves after which networks are averaged."""
    return round(config.env_steps * (1 - config.average.fraction))
