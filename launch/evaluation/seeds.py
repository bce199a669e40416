"""Seeds of evaluations. They differ between training seeds, and between evaluations during and after training.

- If the training seeds of an experiment shared the spawns of their evaluation games, their errors would be correlated,
  and the interval over training seeds would not contain them.
- A reported figure must not come from the games that selected the checkpoint.
"""

import numpy as np

from launch.config.experiment import SEEDS
from launch.errors import UserError

BASELINE_SEED = 2_000_003  # for players that need no training
_DURING_TRAINING, _AFTER_TRAINING = 1_000_003, 2_000_003


def training_evaluation_seed(training_seed: int) -> int:
    """Return the seed of all evaluations during a training: the learning curve has the noise of one set of spawns."""
    return _derive(_DURING_TRAINING, training_seed)


def final_evaluation_seed(training_seed: int) -> int:
    """Return the seed of the evaluation that ends a training; also the default of `muzero2048 evaluate`."""
    return _derive(_AFTER_TRAINING, training_seed)


def check_seed(seed: int | None) -> None:
    """Refuse a seed of games that is out of range; None, the default, is accepted. UserError has the range."""
    if seed is not None and not 0 <= seed < SEEDS:
        raise UserError(f"--seed is {seed}; give 0 to {SEEDS - 1}")


def _derive(base: int, training_seed: int) -> int:
    """Return 32 bits of numpy's SeedSequence of both numbers."""
    return int(np.random.SeedSequence((base, training_seed)).generate_state(1, np.uint32)[0])
