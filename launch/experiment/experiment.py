"""Experiments: one YAML file with typed keys. An unknown key, a wrong type or a wrong value is an error that names it.

base: other.yaml    # optional: a file whose keys are the defaults of this one; a path from the folder of this file
learner: ntuple     # selects the learner, which defines the keys of its section
run: {...}          # RunConfig
ntuple: {...}       # configuration of that learner
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic_core import to_jsonable_python

from launch.errors import UserError, warn
from launch.experiment import registry
from launch.experiment.examples import examples_folder
from launch.experiment.interfaces import LearnerConfig
from launch.experiment.plain_values import (
    MISTAKES,
    dump_plain,
    flat,
    load_plain,
    merged,
    mistake_text,
    parse_overrides,
)
from launch.quantities import plural
from ntuple.core.settings import Settings, from_plain, required, setting, without_effect

T = TypeVar("T")

CONFIG_FILE = "config.yaml"
BASE = "base"  # key that names the file with the defaults
SEEDS = 2**32  # seeds are 0 to SEEDS - 1: a JAX key takes 32 bits
MOST_GAMES = 10**7  # largest number of games of an evaluation
LONGEST_NAME = 200  # characters of a run's name, which is also the name of a folder
EVALUATES = "evaluate_env_steps!=0"


class RunConfig(Settings, prefix="run"):
    """How an experiment is run: names, seed, and the times of evaluations and checkpoints."""

    name: str = required("Names the run's folder and the run in wandb.")
    group: str = required("Names the experiment: runs of one group and learner are drawn as seeds of one curve.")
    seed: int = setting(0, "Seed of all random numbers in training.", at_least=0, at_most=SEEDS - 1)
    runs_folder: str = setting("runs", "Folder of runs; the folder of this run is runs_folder/name.")
    save_minutes: float = setting(
        10.0, "Minutes between two checkpoints; 0: only at the end and when stopped.", at_least=0, at_most=1e6
    )
    keep_checkpoints: int = setting(2, "Number of newest checkpoints that are kept.", at_least=1)
    snapshot_env_steps: int = setting(
        0, "Moves between two snapshots: checkpoints in snapshots/ that are never deleted; 0: none.", at_least=0
    )
    begin_from: str = setting(
        "", "Run, checkpoint or (n-tuples) .w file whose network is the initial network of a new run."
    )
    evaluate_env_steps: int = setting(0, "Moves of training between two evaluations; 0: only at the end.", at_least=0)
    evaluation_games: int = setting(
        100, "Number of games of an evaluation during training.", at_least=2, at_most=MOST_GAMES, only_if=EVALUATES
    )
    final_games: int = setting(1000, "Number of games of the evaluation at the end.", at_least=2, at_most=MOST_GAMES)
    probe_games: int = setting(
        0,
        "Number of games of each probe, such as the swap test, at every evaluation; 0: no probes.",
        at_least=0,
        at_most=MOST_GAMES,
    )
    picture: bool = setting(
        False,
        "Play one more game at each evaluation, move by move, and draw it: pictures/, and wandb.",
    )
    profile: bool = setting(
        False, "Record a profile of the device between the first and the second report, in the run's folder profile/."
    )
    wandb_project: str = setting("muzero2048", "Name of the project in wandb.")

    def __post_init__(self) -> None:
        """Check the values."""
        if not re.fullmatch(r"\w[\w.+=-]*", self.name) or len(self.name) > LONGEST_NAME:
            self.refuse("name", f"up to {LONGEST_NAME} letters, digits and any of _ . + = - only")
        if self.probe_games == 1:
            self.refuse("probe_games", "0, or 2 or more")

    @property
    def folder(self) -> Path:
        """Folder of the run."""
        return Path(self.runs_folder) / self.name


@dataclass(frozen=True)
class Experiment:
    """One experiment: a learner, how it is run, and the learner's own settings."""

    learner: str
    run: RunConfig
    settings: LearnerConfig  # in YAML the section with the learner's name

    def plain(self) -> dict[str, Any]:
        """Return the whole experiment with all defaults as plain values."""
        return cast(
            dict[str, Any],
            to_jsonable_python({"learner": self.learner, "run": self.run, self.learner: self.settings}),
        )

    def to_yaml(self) -> str:
        """Return the whole experiment with all defaults, as YAML that `load_experiment` can read."""
        return dump_plain(self.plain())


def in_group(group: str, name: str) -> bool:
    """Return whether `group` is the group `name` or in it: "sweep" includes the groups "sweep/..." of a grid."""
    return group == name or group.startswith(f"{name}/")


def load_experiment(path: Path, overrides: Sequence[str] = ()) -> Experiment:
    """Read an experiment from a YAML file, or from the config file in the folder of a run or checkpoint.

    `configs/...` is also an example of this project, if the working folder has no such file.

    Raises:
        UserError: the file is missing or not an experiment; the message names the override or the file, and the key.
    """
    file = path / CONFIG_FILE if path.is_dir() else path
    if not file.is_file() and path.parts[:1] == ("configs",):
        file = examples_folder().joinpath(*path.parts[1:])  # the commands of README and docs work in any folder
    if not file.is_file():
        raise UserError(f"there is no config {path}; give a YAML file such as those in configs/")
    _check_words(overrides, "run.seed=1")
    values = _attributing(str(file), (), lambda _: _read_file(file))
    return _attributing(str(file), overrides, lambda words: _experiment(merged(values, parse_overrides(words))))


def override_settings(name: str, settings: T, overrides: Sequence[str], place: str) -> T:
    """Return settings with overrides "name.field=value", and warn about overrides without effect.

    UserError names a wrong key or value, and `place` if no override is at fault.
    """
    _check_words(overrides, f"{name}.key=value")
    for override in overrides:
        if not override.startswith(f"{name}."):
            raise UserError(f"override {override}: only the keys {name}.key=value can be set here")
    kind, values = _sections(**{name: type(settings)}), to_jsonable_python({name: settings})
    changed = _attributing(place, overrides, lambda words: from_plain(kind, merged(values, parse_overrides(words))))
    idle = without_effect(changed)
    for key in dict.fromkeys(word.partition("=")[0] for word in overrides):
        if key in idle:
            warn(idle[key])
    return cast(T, getattr(changed, name))


def warn_without_effect(experiment: Experiment) -> None:
    """Print a warning for each key that was changed from its default and has no effect."""
    lines = without_effect(experiment.run, "run.") | without_effect(experiment.settings, f"{experiment.learner}.")
    for line in lines.values():
        warn(line)


def _attributing(place: str, overrides: Sequence[str], build: Callable[[Sequence[str]], T]) -> T:
    """Return `build(overrides)`.

    Raises:
        UserError: `build` failed. The message of one line names the overrides without which this error does not occur;
            if there are none, it names `place`.
    """
    try:
        return build(overrides)
    except MISTAKES as error:
        mistake = mistake_text(error)

    def remains_without(number: int) -> bool:
        try:
            build([*overrides[:number], *overrides[number + 1 :]])
        except MISTAKES as error:
            return mistake_text(error) == mistake
        return False

    responsible = [word for number, word in enumerate(overrides) if not remains_without(number)]
    where = f"{plural(len(responsible), 'override')} {' '.join(responsible)}" if responsible else place
    raise UserError(f"{where}: {mistake}")


def _read_file(file: Path, above: tuple[Path, ...] = ()) -> dict[str, Any]:
    """Return the content of a YAML file, merged over the content of the file in its key `base`.

    Raises:
        ValueError: the file is no mapping, or its base is missing or has itself as a base.
    """
    values = load_plain(file.read_text(encoding="utf-8"))
    if not isinstance(values, dict):
        what = f"{BASE}: {file} is not" if above else "an experiment is"
        raise ValueError(f"{what} a mapping with the keys learner, run and the learner's name")
    if BASE not in values:
        return values
    base = file.parent / str(values.pop(BASE))
    if not base.is_file():
        raise ValueError(f"{BASE}: there is no file {base}; give a path from the folder of {file}")
    if base.resolve() in (file.resolve(), *above):
        raise ValueError(f"{BASE}: {base} has itself as a base; leave out one of the keys {BASE}")
    return cast(dict[str, Any], merged(_read_file(base, (*above, file.resolve())), values))


def changes(old: Experiment, new: Experiment) -> list[str]:
    """Return the keys with different values in two experiments of one learner, as "key: old -> new"."""
    before, after = flat(old.plain()), flat(new.plain())
    return [f"{key}: {before.get(key)} -> {after[key]}" for key in after if before.get(key) != after[key]]


def _experiment(values: dict[str, Any]) -> Experiment:
    if "learner" not in values:
        raise ValueError(f"the key 'learner' is missing; set it to one of: {', '.join(registry.LEARNERS)}")
    learner = str(values["learner"])
    try:
        settings = registry.config_class(learner)
    except UserError as error:
        raise ValueError(f"learner: {error}") from error
    if others := [name for name in registry.LEARNERS if name in values and name != learner]:
        raise ValueError(f"'{others[0]}' holds keys of another learner: this config has learner: {learner}")
    parts = from_plain(_sections(learner=str, run=RunConfig, **{learner: settings}), values)
    return Experiment(learner, parts.run, getattr(parts, learner))


def _sections(**kinds: Any) -> Any:
    """Return a class with these fields, all required."""
    return type("Sections", (Settings,), {"__annotations__": kinds})


def _check_words(overrides: Sequence[str], example: str) -> None:
    for override in overrides:
        if not re.match(r"[A-Za-z_][\w.]*=", override):
            raise UserError(f"cannot read the override '{override}'; give key=value, e.g. {example}")
