"""Completion in the shell (argcomplete): commands, options, and the keys and values of configs.

eval "$(register-python-argcomplete muzero2048)"      in bash or zsh; see docs/train.md
"""

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from launch.errors import LaunchError

if TYPE_CHECKING:
    from ntuple.core.settings import Key

VARIABLE = "_ARGCOMPLETE"  # set by the shell when it wants completions


def complete(parser: argparse.ArgumentParser) -> None:
    """Print completions and exit if the shell wants them; else do nothing."""
    if VARIABLE in os.environ:
        import argcomplete

        argcomplete.autocomplete(parser)


def complete_config_override(prefix: str, parsed_args: argparse.Namespace, **_: Any) -> list[str]:
    """Return the overrides of the config `parsed_args.config` that begin with `prefix`: keys, and values of choices."""
    from launch.experiment.describe import learner_keys
    from launch.experiment.experiment import load_experiment

    try:
        keys = learner_keys(load_experiment(Path(parsed_args.config)).learner)
    except (LaunchError, TypeError):  # no config is named, or it cannot be read
        return []
    return _matching(prefix, keys)


def complete_submit_word(prefix: str, parsed_args: argparse.Namespace, **_: Any) -> list[str]:
    """Return the words of `submit` that begin with `prefix`: paths, and keys of the first config or of the search."""
    from argcomplete.completers import FilesCompleter

    words = parsed_args.words or []
    first = [word for word in ("evaluate",) if not words and word.startswith(prefix)]
    if words[:1] == ["evaluate"]:
        parsed_args.path, keys = "".join(words[1:2]), complete_search_override
    else:
        parsed_args.config, keys = "".join(words[:1]), complete_config_override
    return [*first, *keys(prefix, parsed_args), *FilesCompleter()(prefix)]


def complete_search_override(prefix: str, parsed_args: argparse.Namespace, **_: Any) -> list[str]:
    """Return the overrides of a search that begin with `prefix`: keys, and values of choices."""
    from launch.experiment import registry
    from ntuple.core.learner_spec import EXPECTIMAX, MCTS
    from ntuple.core.settings import keys_of

    if parsed_args.search == MCTS:
        config = registry.mcts_config()
    elif parsed_args.search != EXPECTIMAX and parsed_args.path != "heuristic":
        config = registry.search_config()
    elif _holds_network(parsed_args.path):
        config = registry.network_expectimax_config()
    else:
        config = registry.expectimax_config()
    return _matching(prefix, keys_of(config, "search."))


def _holds_network(path: str) -> bool:
    """Return whether a path is a run or a checkpoint whose values come from a neural network."""
    from launch.experiment.experiment import load_experiment
    from launch.experiment.registry import spec_of

    try:
        return spec_of(load_experiment(Path(path)).learner).value == "network"
    except (LaunchError, TypeError):  # no such run, or no path
        return False


def complete_learner(prefix: str, **_: Any) -> list[str]:
    """Return the names of learners, and paths as the shell completes them."""
    from argcomplete.completers import FilesCompleter

    from launch.experiment.registry import LEARNERS

    paths = FilesCompleter()(prefix)
    return [*(name for name in LEARNERS if name.startswith(prefix)), *paths]


def _matching(prefix: str, known: "list[Key]") -> list[str]:
    name, has_value, _value = prefix.partition("=")
    keys = [key for key in known if key.name.startswith(name)]
    if not has_value:
        return [f"{key.name}=" for key in keys]
    return [f"{name}={value}" for key in keys if key.name == name for value in _values(key)]


def _values(key: "Key") -> list[str]:
    if key.type == "bool":
        return ["true", "false"]
    return key.accepts.removeprefix("one of: ").split(", ") if key.type == "choice" else []
