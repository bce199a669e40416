"""The registry of learners. Nothing of a learner is imported before it is asked for by name."""

import os
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, cast

from launch.errors import UserError
from launch.learners.interfaces import Learner, LearnerConfig, Player


class LearnerEntry(NamedTuple):
    """Where the parts of one learner are, as "module:attribute"."""

    config: str
    learner: str
    one_ply_player: str  # (folder, config) -> Player that takes the best of the four moves; "": there is none
    tree_player: str  # (folder, config, SearchConfig) -> Player by tree search, which runs in JAX; "": there is none
    expectimax_player: str  # (folder, config, ExpectimaxConfig) -> Player by expectimax; "": there is none
    value: str  # what a tree search evaluates positions with: network, ntuple
    models: tuple[str, ...]  # what it can plan in: learned, simulator
    uses_jax: bool  # in training
    several_processes: bool  # can train it together
    memory_keys: str  # the settings that decide how much memory a training takes, as words of a sentence


LEARNERS = {
    "ntuple": LearnerEntry(
        config="ntuple:NTupleConfig",
        learner="ntuple:NTupleLearner",
        one_ply_player="ntuple:load_player",
        tree_player="muzero2048.players.ntuple_player:load_player",
        expectimax_player="ntuple:load_expectimax_player",
        value="ntuple",
        models=("simulator",),
        uses_jax=False,
        several_processes=False,
        memory_keys="ntuple.stages or ntuple.network",
    ),
    "muzero": LearnerEntry(
        config="muzero2048.muzero.config:MuZeroConfig",
        learner="muzero2048.muzero.learner:MuZeroLearner",
        one_ply_player="",
        tree_player="muzero2048.muzero.player:load_player",
        expectimax_player="",
        value="network",
        models=("learned", "simulator"),
        uses_jax=True,
        several_processes=True,
        memory_keys="muzero.replay.capacity, muzero.replay.batch_size, muzero.num_envs or muzero.network",
    ),
    "deep_td": LearnerEntry(
        config="muzero2048.deep_td.config:DeepTDConfig",
        learner="muzero2048.deep_td.learner:DeepTDLearner",
        one_ply_player="muzero2048.deep_td.player:load_player",
        tree_player="muzero2048.deep_td.player:load_tree_player",
        expectimax_player="",
        value="network",
        models=("simulator",),
        uses_jax=True,
        several_processes=False,
        memory_keys="deep_td.replay.capacity, deep_td.replay.batch_size, deep_td.num_envs or deep_td.network",
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
    """A learner at the start of its training.

    Raises:
        UserError: the config does not fit the machine.
    """
    try:
        return _part(name, "learner")(config, seed)
    except ValueError as error:
        raise UserError(str(error)) from error


def memory(name: str, config: LearnerConfig) -> dict[str, int]:
    """What a training will take, in bytes on each device: Learner.memory.

    Raises:
        UserError: the config does not fit the machine.
    """
    try:
        return _part(name, "learner").memory(config)
    except ValueError as error:
        raise UserError(str(error)) from error


def search_config() -> type[Any]:
    """The class SearchConfig, for searches that no learner's config holds."""
    _set_compilation_cache()
    return cast(type[Any], import_module("muzero2048.search.config").SearchConfig)


def expectimax_config() -> type[Any]:
    """The class ExpectimaxConfig."""
    return cast(type[Any], import_module("ntuple").ExpectimaxConfig)


def load_player(name: str, folder: Path, config: LearnerConfig, kind: str, search: Any) -> Player:
    """The player alone from a checkpoint: `kind` is its field of LearnerEntry, `search` the config, None for 1ply.

    Raises:
        UserError: the checkpoint does not fit the config.
    """
    try:
        if search is None:
            return _part(name, kind)(folder, config)
        return _part(name, kind)(folder, config, search)
    except ValueError as error:
        raise UserError(f"{folder}: {error}") from error


def _part(name: str, part: str) -> Any:
    learner = entry(name)
    if learner.uses_jax or part == "tree_player":
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
