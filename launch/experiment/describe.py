"""`muzero2048 config`: print every key of an experiment or a learner: type, value, range and meaning."""

import dataclasses
import operator
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from launch.experiment import registry
from launch.experiment.experiment import Experiment, RunConfig, load_experiment
from launch.output import print_json
from ntuple.core.settings import Key, full_condition, keys_of


def describe(target: str, overrides: Sequence[str], as_json: bool) -> None:
    """Print all keys of a learner with their defaults, or of an experiment with overrides with their values.

    `target` is the name of a learner, or the path of a config, a run or a checkpoint.
    """
    if target in registry.LEARNERS and not overrides:
        learner = target
        values = {key: key.default for key in learner_keys(target)}
    else:
        experiment = load_experiment(Path(target), overrides)
        learner, values = experiment.learner, values_by_key(experiment)
    print(f"learner: {learner}")
    for key, value in values.items():
        print(_text(key, value))
    if as_json:
        print_json({"learner": learner, "keys": [_record(key, value) for key, value in values.items()]})


def values_by_key(experiment: Experiment) -> dict[Key, Any]:
    """Return the value of each key of an experiment."""
    sections = SimpleNamespace(run=experiment.run, **{experiment.learner: experiment.settings})
    return {key: operator.attrgetter(key.name)(sections) for key in learner_keys(experiment.learner)}


def learner_keys(learner: str) -> list[Key]:
    """Return all keys of an experiment with that learner, except the key `learner`."""
    return keys_of(RunConfig, "run.") + keys_of(registry.config_class(learner), f"{learner}.")


def _text(key: Key, value: Any) -> str:
    section = key.name.partition(".")[0] + "."
    shown = "(required)" if value is dataclasses.MISSING else f"= {value!r}"
    notes = [key.accepts]
    if key.default is not dataclasses.MISSING and value != key.default:
        notes.insert(0, f"default {key.default!r}")
    if key.only_if:
        notes.append(f"only with {full_condition(key.only_if, section)}")
    return f"\n{key.name}: {key.type} {shown}  ({'; '.join(notes)})\n    {key.meaning}"


def _record(key: Key, value: Any) -> dict[str, Any]:
    """Return a key as an object of JSON, None for a default or a value that is missing."""
    entries = key._asdict() | {"value": value}
    return {name: None if entry is dataclasses.MISSING else entry for name, entry in entries.items()}
