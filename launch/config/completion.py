"""Completion in the shell (argcomplete): commands, options, and the keys and values of configs.

eval "$(register-python-argcomplete muzero2048)"      in bash or zsh; docs/train.md says more
"""

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from launch.errors import LaunchError

if TYPE_CHECKING:
    from ntuple.settings import Key

VARIABLE = "_ARGCOMPLETE"  # set by the shell's function when it asks


def complete(parser: argparse.ArgumentParser) -> None:
    """Answer the shell and exit if it asks for completions; else do nothing."""
    if VARIABLE in os.environ:
        import argcomplete

        argcomplete.autocomplete(parser)


def complete_override(prefix: str, parsed_args: argparse.Namespace, **_: Any) -> list[str]:
    """The overrides that begin with `prefix`: keys, and after the "=" the values of a key that is a choice."""
    try:
        known = _keys(parsed_args)
    except (LaunchError, TypeError):
        return []  # no config is named, or one that cannot be read
    name, has_value, _value = prefix.partition("=")
    keys = [key for key in known if key.name.startswith(name)]
    if not has_value:
        return [f"{key.name}=" for key in keys]
    return [f"{name}={value}" for key in keys if key.name == name for value in _values(key)]


def _keys(arguments: argparse.Namespace) -> "list[Key]":
    """The keys of the config that a command names, or of its search."""
    from launch.config.describe import learner_keys
    from launch.config.experiment import load_experiment
    from launch.learners import registry
    from ntuple.settings import keys_of

    if hasattr(arguments, "config"):
        return learner_keys(load_experiment(Path(arguments.config)).learner)
    is_expectimax = arguments.search == "expectimax" or arguments.path == "heuristic"
    return keys_of(registry.expectimax_config() if is_expectimax else registry.search_config(), "search.")


def _values(key: "Key") -> list[str]:
    if key.type == "bool":
        return ["true", "false"]
    return key.accepts.removeprefix("one of: ").split(", ") if key.type == "choice" else []


def complete_learner(prefix: str, **_: Any) -> list[str]:
    """Names of learners, and paths as the shell completes them."""
    from argcomplete.completers import FilesCompleter

    from launch.learners.registry import LEARNERS

    paths = FilesCompleter()(prefix)
    return [*(name for name in LEARNERS if name.startswith(prefix)), *paths]
