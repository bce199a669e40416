"""The registry of learners, by name. A learner is imported when it is used.

A further learner needs its package with a `LearnerSpec` (ntuple/core/learner_spec.py), and one line in `LEARNERS`.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from launch.errors import UserError
from ntuple.core.learner_spec import TREE, LearnerSpec, Reference

if TYPE_CHECKING:
    import numpy as np

    from launch.experiment.interfaces import Learner, LearnerConfig, Player

# Module of each learner's spec, which is named SPEC there.
LEARNERS = {
    "ntuple": "ntuple.learning.spec",
    "muzero": "muzero2048.muzero.spec",
    "deep_td": "muzero2048.deep_td.spec",
}


def spec_of(name: str) -> LearnerSpec:
    """Return the spec of the learner of that name; UserError if there is none."""
    if name not in LEARNERS:
        raise UserError(f"there is no learner '{name}'; give one of: {', '.join(LEARNERS)}")
    return cast(LearnerSpec, import_module(LEARNERS[name]).SPEC)


def config_class(name: str) -> type[Any]:
    """Return the frozen dataclass, a LearnerConfig, that a learner is configured with."""
    spec = spec_of(name)
    return cast(type[Any], _load(spec.config, spec.uses_jax))


def make_learner(name: str, config: "LearnerConfig", seed: int) -> "Learner":
    """Construct a learner at the start of its training; UserError if the config does not fit the machine."""
    with _user_errors():
        return cast("Learner", _learner_class(name)(config, seed))


def memory(name: str, config: "LearnerConfig") -> dict[str, int]:
    """Return `Learner.memory`; UserError if the config does not fit the machine."""
    with _user_errors():
        return cast(dict[str, int], _learner_class(name).memory(config))


def begin_from(name: str, learner: "Learner", path: Path, config: "LearnerConfig | None") -> None:
    """Let a new learner begin with a stored network: `LearnerSpec.begin_from`; UserError if it does not fit.

    The path is a checkpoint of the same learner, with its config, or a file of `LearnerSpec.network_files`, with None.
    """
    spec = spec_of(name)
    with _user_errors(f"run.begin_from = {path}: "):
        _load(spec.begin_from, spec.uses_jax)(learner, path, config)


def diagnose(
    name: str, folder: Path, config: "LearnerConfig", boards: int, depth: int, seed: int, say: Callable[[str], None]
) -> "dict[str, np.ndarray]":
    """Return numbers at depths 0 ... `depth` by name, which `LearnerSpec.diagnose` measures in a checkpoint.

    `say` is called from time to time with what is done now. UserError if the checkpoint does not fit the config.
    """
    spec = spec_of(name)
    with _user_errors(f"{folder}: "):
        measure = _load(spec.diagnose, spec.uses_jax)
        return cast("dict[str, np.ndarray]", measure(folder, config, boards, depth, seed, say))


def restore_player(name: str, folder: Path, config: "LearnerConfig", kind: str, search: Any) -> "Player":
    """Load the player alone from a checkpoint; UserError if it does not fit the config.

    `kind` is a key of `LearnerSpec.players`, `search` the config of its search, None for 1ply.
    """
    spec = spec_of(name)
    load = _load(spec.players[kind], plays_on_jax(name, kind))
    with _user_errors(f"{folder}: "):
        return cast("Player", load(folder, config) if search is None else load(folder, config, search))


def plays_on_jax(name: str, kind: str) -> bool:
    """Return whether players of that learner use JAX with a kind of search."""
    return spec_of(name).uses_jax or kind == TREE


def search_config() -> type[Any]:
    """Return the class SearchConfig, for tree searches that no learner's config holds."""
    return cast(type[Any], _load("muzero2048.search.config:SearchConfig", uses_jax=True))


def network_expectimax_config() -> type[Any]:
    """Return the class NetworkExpectimaxConfig."""
    return cast(type[Any], _load("muzero2048.search.config:NetworkExpectimaxConfig", uses_jax=True))


def expectimax_config() -> type[Any]:
    """Return the class ExpectimaxConfig."""
    return cast(type[Any], _load("ntuple.expectimax.config:ExpectimaxConfig", uses_jax=False))


def mcts_config() -> type[Any]:
    """Return the class MCTSConfig."""
    return cast(type[Any], _load("ntuple.mcts.config:MCTSConfig", uses_jax=False))


@contextmanager
def _user_errors(place: str = "") -> Iterator[None]:
    """Raise a ValueError of a learner as a UserError that begins with `place`."""
    try:
        yield
    except ValueError as error:
        raise UserError(f"{place}{error}") from error


def _learner_class(name: str) -> Any:
    spec = spec_of(name)
    return _load(spec.learner, spec.uses_jax)


def _load(reference: Reference, uses_jax: bool) -> Any:
    if uses_jax:
        _set_compilation_cache()
    module, attribute = reference.split(":")
    return getattr(import_module(module), attribute)


def _set_compilation_cache() -> None:
    """Keep compiled JAX programs on the disk for the next process. Call it before jax is imported.

    Variables that the user has set stay. Programs that took 0.3 s or more to compile are kept: jax's default of 1 s
    leaves out most programs of a small network.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "muzero2048" / "jax"
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(cache))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.3")
