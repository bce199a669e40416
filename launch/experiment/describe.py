"""`muzero2048 config`: print every key of an experiment or a learner: type, value, range and meaning."""

import dataclasses
import functools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from launch.experiment import registry
from launch.experiment.experiment import Experiment, RunConfig, load_experiment
from ntuple.core.settings import Key, full_condition, keys_of

INDENT = "    "


class Entry(NamedTuple):
    """A key and its value."""

    key: Key
    value: Any  # in an experiment, or the default; dataclasses.MISSING: a required key without a value


def describe(target: str, overrides: Sequence[str], as_json: bool) -> None:
    """Print all keys of a learner with their defaults, or of an experiment with their values.

    Args:
        target: name of a learner, or path of a config, a run or a checkpoint.
        overrides: "key=value", which change the experiment.
        as_json: print all keys as one JSON object in the last line, too.

    Raises:
        UserError: the config cannot be read.
    """
    if target in registry.LEARNERS and not overrides:
        learner, entries = target, [Entry(key, key.default) for key in learner_keys(target)]
    else:
        experiment = load_experiment(Path(target), overrides)
        learner, entries = experiment.learner, _entries(experiment)
    print(f"learner: {learner}")
    for entry in entries:
        print(_text(entry))
    if as_json:
        print(json.dumps({"learner": learner, "keys": [_record(entry) for entry in entries]}))


def learner_keys(learner: str) -> list[Key]:
    """Return all keys of an experiment with that learner, except the key `learner`."""
    return keys_of(RunConfig, "run.") + keys_of(registry.config_class(learner), f"{learner}.")


def _entries(experiment: Experiment) -> list[Entry]:
    sections = {"run": experiment.run, experiment.learner: experiment.settings}

    def value(key: Key) -> Any:
        section, *names = key.name.split(".")
        return functools.reduce(getattr, names, sections[section])

    return [Entry(key, value(key)) for key in learner_keys(experiment.learner)]


def _text(entry: Entry) -> str:
    key, value = entry
    section = key.name.partition(".")[0] + "."
    shown = "(required)" if value is dataclasses.MISSING else f"= {value!r}"
    notes = [key.accepts]
    if key.default is not dataclasses.MISSING and value != key.default:
        notes.insert(0, f"default {key.default!r}")
    if key.only_if:
        notes.append(f"only with {full_condition(key.only_if, section)}")
    return f"\n{key.name}: {key.type} {shown}  ({'; '.join(notes)})\n{INDENT}{key.meaning}"


def _record(entry: Entry) -> dict[str, Any]:
    key = entry.key._asdict() | {"value": entry.value}
    return {name: None if value is dataclasses.MISSING else value for name, value in key.items()}
