"""What a `muzero2048 tune` asks for; without heavy imports, because the parser of all commands reads it."""

from pathlib import Path
from typing import NamedTuple

BAYESIAN, RANDOM = "bayesian", "random"
SAMPLERS = (BAYESIAN, RANDOM)


class Sampling(NamedTuple):
    """How a search chooses its trials, and whether it stops bad ones."""

    sampler: str = BAYESIAN
    is_pruning: bool = True
    seed: int = 0


class TuneRequest(NamedTuple):
    """The words of a `tune`."""

    config: Path
    words: tuple[str, ...]
    group: str
    trials: int  # of the study, with those of earlier commands
    sampling: Sampling
