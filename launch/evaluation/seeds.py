"""Seeds of evaluations. They differ between training seeds, and between evaluations during and after training.

- If the training seeds of an experiment shared the spawns of their evaluation games, their errors would be correlated,
  and the interval over training seeds would not contain them.
- A reported figure must not come from the games that selected the checkpoint.
- The points of a curve along a run are independent only if each checkpoint plays games of its own.
"""

import numpy as np

from launch.errors import Option, OptionError
from launch.experiment.experiment import SEEDS

BASELINE_SEED = 2_000_003  # for players that need no training
_DURING_TRAINING, _AFTER_TRAINING, _ALONG_A_RUN = 1_000_003, 2_000_003, 3_000_003


def training_evaluation_seed(training_seed: int) -> int:
    """Return the seed of all evaluations during a training: the learning curve has the noise of one set of spawns."""
    return _derive(_DURING_TRAINING, training_seed)


def final_evaluation_seed(training_seed: int) -> int:
    """Return the seed of the evaluation that ends a training; also the default of `muzero2048 evaluate`."""
    return _derive(_AFTER_TRAINING, training_seed)


def snapshot_evaluation_seed(seed: int, env_steps: int) -> int:
    """Return the seed with which `evaluate RUN --snapshots` plays the checkpoint after `env_steps`.

    `seed` is the training seed, or the seed that the user gives in its place.
    """
    return _derive(_ALONG_A_RUN, seed, env_steps)


def check_seed(seed: int | None) -> None:
    """Refuse a seed of games that is out of range; None, the default, is accepted. OptionError has the range."""
    if seed is not None and not 0 <= seed < SEEDS:
        raise OptionError(Option("seed"), f" is {seed}; give 0 to {SEEDS - 1}")


def _derive(*numbers: int) -> int:
    """Return 32 bits of numpy's SeedSequence of the numbers."""
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint32)[0])
