"""Seeds of evaluations: other games for each training seed, and other ones at the end than during training.

Seeds of an experiment that shared the spawns of their evaluation games would err together, and no interval over the
seeds would show it. And a figure must not come from the games that a checkpoint was chosen by.
"""

import numpy as np

BASELINE_SEED = 2_000_003  # of players that need no training
_DURING_TRAINING, _AFTER_TRAINING = 1_000_003, 2_000_003


def training_evaluation_seed(training_seed: int) -> int:
    """The seed of all evaluations during a training: its learning curve has the noise of one set of spawns."""
    return _derive(_DURING_TRAINING, training_seed)


def final_evaluation_seed(training_seed: int) -> int:
    """The seed of the evaluation that ends a training, and of `muzero2048 evaluate` unless another one is given."""
    return _derive(_AFTER_TRAINING, training_seed)


def _derive(base: int, training_seed: int) -> int:
    """32 bits of numpy's SeedSequence of both numbers."""
    return int(np.random.SeedSequence((base, training_seed)).generate_state(1, np.uint32)[0])
