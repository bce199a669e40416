"""Experiments: one YAML file with typed keys. An unknown key, a wrong type or a wrong value is an error that names it.

base: other.yaml    # optional: a file whose keys are the defaults of this one; a path from the folder of this file
learner: ntuple     # selects the learner, which defines the keys of its section
run: {...}          # RunConfig
ntuple: {...}       # configuration of that learner
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, make_dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

from omegaconf import DictConfig, MissingMandatoryValue, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from launch.errors import UserError, warn
from launch.experiment import registry
from launch.experiment.interfaces import LearnerConfig
from launch.quantities import plural
from ntuple.core.plain_values import in_present_form
from ntuple.core.settings import Settings, required, setting, without_effect

T = TypeVar("T")

CONFIG_FILE = "config.yaml"
BASE = "base"  # key that names the file with the defaults
SEEDS = 2**32  # seeds are 0 to SEEDS - 1: a JAX key takes 32 bits
MOST_GAMES = 10**7  # largest number of games of an evaluation
LONGEST_NAME = 200  # characters of a run's name, which is also the name of a folder
EVALUATES = "evaluate_env_steps!=0"
REFERENCE = "${"  # OmegaConf would replace ${oc.env:NAME} by a variable of the environment
MISTAKES = (OmegaConfBaseException, YAMLError, ValueError, OSError)  # exceptions that a mistake in a config raises


@dataclass(frozen=True)
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
        "", "n-tuples only: run, checkpoint or .w file whose network is the initial network of a new run."
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
    profile: bool = setting(
        False, "Record a profile of the device between the first and the second report, in the run's folder profile/."
    )
    wandb_project: str = setting("muzero2048", "Name of the project in wandb.")

    def __post_init__(self) -> None:
        """Check the values."""
        super().__post_init__()
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

    def to_yaml(self) -> str:
        """Return the whole experiment with all defaults, as YAML that `load_experiment` can read."""
        return OmegaConf.to_yaml(OmegaConf.structured(_schema(self.learner)(*self._parts())))

    def _parts(self) -> tuple[str, RunConfig, LearnerConfig]:
        return self.learner, self.run, self.settings


def load_experiment(path: Path, overrides: Sequence[str] = ()) -> Experiment:
    """Read an experiment from a YAML file, or from the config file in the folder of a run or checkpoint.

    Args:
        path: the file or the folder.
        overrides: "key=value" with dotted keys, e.g. "run.seed=1"; they replace the values of the file.

    Raises:
        UserError: the file is missing or not an experiment; the message names the override or the file, and the key.
    """
    file = path / CONFIG_FILE if path.is_dir() else path
    if not file.is_file():
        raise UserError(f"there is no config {file}; give a YAML file such as those in configs/")
    _check_words(overrides, "run.seed=1")
    return _attributing(str(file), overrides, lambda words: _experiment(_read_file(file), _parse_overrides(words)))


def override_settings(name: str, settings: T, overrides: Sequence[str], place: str) -> T:
    """Apply overrides to a dataclass of settings, and warn about overrides without effect.

    Args:
        name: name of the settings, such as "search".
        settings: a dataclass.
        overrides: "name.field=value".
        place: label in the error message if no override is at fault.

    Returns:
        The changed settings.

    Raises:
        UserError: a key is unknown or a value is wrong; the message names it.
    """
    _check_words(overrides, f"{name}.key=value")
    for override in overrides:
        if not override.startswith(f"{name}."):
            raise UserError(f"override {override}: only the keys {name}.key=value can be set here")
    schema = make_dataclass("Settings", [(name, type(settings))], frozen=True)

    def changed(words: Sequence[str]) -> Any:
        parsed = _parse_overrides(words)
        present = in_present_form(schema, OmegaConf.to_container(parsed))
        return OmegaConf.to_object(OmegaConf.merge(OmegaConf.structured(schema(settings)), present))

    found = _attributing(place, overrides, changed)
    idle = without_effect(found)
    for key in dict.fromkeys(word.partition("=")[0] for word in overrides):
        if key in idle:
            warn(idle[key])
    return cast(T, getattr(found, name))


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
    responsible = [
        word for i, word in enumerate(overrides) if _mistake(build, [*overrides[:i], *overrides[i + 1 :]]) != mistake
    ]
    where = f"{plural(len(responsible), 'override')} {' '.join(responsible)}" if responsible else place
    raise UserError(f"{where}: {mistake}")


def _mistake(build: Callable[[Sequence[str]], Any], overrides: Sequence[str]) -> str | None:
    """Return the error message of `build(overrides)` in one line, or None if it succeeds."""
    try:
        build(overrides)
    except MISTAKES as error:
        return mistake_text(error)
    return None


def mistake_text(error: Exception) -> str:
    """Return one line for an exception of MISTAKES; it names the key, if the exception does."""
    if isinstance(error, MissingMandatoryValue):
        return f"{error.full_key} is missing and has no default; set it"
    if isinstance(error, YAMLError):
        return f"not YAML: {' '.join(str(error).split())}"
    key = error.full_key if isinstance(error, OmegaConfBaseException) else None
    return f"{key}: {_first_line(error)}" if key else _first_line(error)


def _read_file(file: Path, above: tuple[Path, ...] = ()) -> Any:
    """Return the content of a YAML file, merged over the content of the file in its key `base`.

    Raises:
        ValueError: the base is missing, has itself as a base, or is no mapping; or a value is no plain value.
    """
    values = _plain(OmegaConf.load(file))
    if not (isinstance(values, DictConfig) and BASE in values):
        return values
    base = file.parent / str(values.pop(BASE))
    if not base.is_file():
        raise ValueError(f"{BASE}: there is no file {base}; give a path from the folder of {file}")
    if base.resolve() in (file.resolve(), *above):
        raise ValueError(f"{BASE}: {base} has itself as a base; leave out one of the keys {BASE}")
    found = _read_file(base, (*above, file.resolve()))
    if not isinstance(found, DictConfig):
        raise ValueError(f"{BASE}: {base} is not a mapping with the keys of an experiment")
    return OmegaConf.merge(found, values)


def read_yaml(text: str) -> dict[str, Any]:
    """Return a YAML text as plain values; numbers are read as OmegaConf does, so 1e-3 is a number."""
    return cast(dict[str, Any], OmegaConf.to_container(OmegaConf.create(text)))


def plain_overrides(overrides: Sequence[str]) -> dict[str, Any]:
    """Return overrides "key=value" with dotted keys as nested plain values."""
    return cast(dict[str, Any], OmegaConf.to_container(_parse_overrides(overrides)))


def changes(old: Experiment, new: Experiment) -> list[str]:
    """Return the keys with different values in two experiments of one learner, as "key: old -> new"."""
    before, after = (_flatten(read_yaml(experiment.to_yaml())) for experiment in (old, new))
    return [f"{key}: {before.get(key)} -> {after[key]}" for key in after if before.get(key) != after[key]]


def _experiment(file: Any, overrides: DictConfig) -> Experiment:
    if not isinstance(file, DictConfig):
        raise ValueError("an experiment is a mapping with the keys learner, run and the learner's name")
    values = cast(DictConfig, OmegaConf.merge(file, overrides))
    if "learner" not in values:
        raise ValueError(f"the key 'learner' is missing; set it to one of: {', '.join(registry.LEARNERS)}")
    try:
        schema = _schema(str(values["learner"]))
    except UserError as error:
        raise ValueError(f"learner: {error}") from error
    present = in_present_form(schema, OmegaConf.to_container(values))
    parts: Any = OmegaConf.to_object(OmegaConf.merge(OmegaConf.structured(schema), present))
    return Experiment(*(getattr(parts, field.name) for field in fields(parts)))


def _schema(learner: str) -> type[Any]:
    """Make the dataclass of the whole file; the learner's settings are in the field with the learner's name."""
    settings = registry.config_class(learner)
    return make_dataclass("Experiment", [("learner", str), ("run", RunConfig), (learner, settings)], frozen=True)


def _check_words(overrides: Sequence[str], example: str) -> None:
    for override in overrides:
        if not re.match(r"[A-Za-z_][\w.]*=", override):
            raise UserError(f"cannot read the override '{override}'; give key=value, e.g. {example}")


def _parse_overrides(overrides: Sequence[str]) -> DictConfig:
    return cast(DictConfig, _plain(OmegaConf.from_dotlist(list(overrides))))


def _plain(values: Any) -> Any:
    """Return a config whose values refer to nothing: neither to its other keys nor to the environment.

    Raises:
        ValueError: a value contains `${`; the message names its key.
    """
    for key, value in _flatten(OmegaConf.to_container(values)).items():
        if REFERENCE in str(value):
            raise ValueError(f"{key}: {REFERENCE}...}} is not allowed; write the value itself")
    return values


def _flatten(config: Any, prefix: str = "") -> dict[str, Any]:
    if not isinstance(config, dict):
        return {prefix: config}
    return {
        key: value
        for name in config
        for key, value in _flatten(config[name], f"{prefix}.{name}" if prefix else name).items()
    }


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
