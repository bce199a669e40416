"""The registry of learners. Nothing of a learner is imported before it is asked for by name."""

import os
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from launch.contracts import Learner, LearnerConfig, Player
from launch.errors import UserError


class LearnerEntry(NamedTuple):
    """Where the parts of one learner are, as "module:attribute"."""

    config: str
    learner: str
    load_player: str
    search: str  # how its player chooses a move in evaluation
    uses_jax: bool


LEARNERS = {
    "ntuple": LearnerEntry(
        config="ntuple:NTupleConfig",
        learner="ntuple:NTupleLearner",
        load_player="ntuple:load_player",
        search="1ply",
        uses_jax=False,
    ),
    "muzero": LearnerEntry(
        config="muzero2048.config:MuZeroConfig",
        learner="muzero2048.trainer:MuZeroLearner",
        load_player="muzero2048.player:load_player",
        search="gumbel",
        uses_jax=True,
    ),
}


def entry(name: str) -> LearnerEntry:
    """The registered learner of that name; UserError if there is none."""
    if name not in LEARNERS:
        raise UserError(f"there is no learner '{name}'; give one of: {', '.join(LEARNERS)}")
    return LEARNERS[name]


def config_class(name: str) -> type[Any]:
    """The frozen dataclass, a LearnerConfig, that a learner is configured with."""
    return _part(name, "config")


def make_learner(name: str, config: LearnerConfig, seed: int) -> Learner:
    """A learner at the start of its training."""
    return _part(name, "learner")(config, seed)


def load_player(name: str, folder: Path, config: LearnerConfig) -> Player:
    """The player alone from a checkpoint; UserError if the checkpoint does not fit the config."""
    try:
        return _part(name, "load_player")(folder, config)
    except ValueError as error:
        raise UserError(f"{folder}: {error}") from error


def _part(name: str, part: str) -> Any:
    learner = entry(name)
    if learner.uses_jax:
        _set_compilation_cache()
    module, attribute = getattr(learner, part).split(":")
    return getattr(import_module(module), attribute)


def _set_compilation_cache() -> None:
    """Keep what jax compiles for the next run, unless the user has said where or how; before jax is imported.

    From 0.3 s of compiling on, since jax's default of 1 s leaves out most programs of a small network.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "muzero2048" / "jax"
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(cache))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.3")
