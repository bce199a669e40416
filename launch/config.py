"""Experiments: one YAML file, typed. Unknown keys, wrong types and wrong values are refused by name.

learner: ntuple     # picks the schema of the rest
run: {...}          # RunConfig
ntuple: {...}       # the config of that learner
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, make_dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

from omegaconf import DictConfig, MissingMandatoryValue, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from launch import learners
from launch.contracts import LearnerConfig
from launch.errors import UserError

T = TypeVar("T")

CONFIG_FILE = "config.yaml"
SEEDS = 2**32  # seeds are 0 to SEEDS - 1: JAX's keys hold 32 bits of them


@dataclass(frozen=True)
class RunConfig:
    """How an experiment is run: names, seed, and when it evaluates and saves."""

    name: str  # names the run's folder and the run in wandb
    group: str  # the experiment; runs of one group and learner are drawn as seeds of one curve
    seed: int = 0  # of everything random in training
    runs_folder: str = "runs"  # the run is kept in runs_folder/name
    save_minutes: float = 10.0  # minutes between checkpoints; 0 = only at the end and when stopped
    keep_checkpoints: int = 2  # the newest ones that stay on disk
    snapshot_env_steps: int = 0  # moves between snapshots: checkpoints that stay on disk, in snapshots/; 0 = none
    begin_from: str = ""  # n-tuples: run, checkpoint or .w file whose network a new run begins with
    evaluate_env_steps: int = 0  # moves of training between evaluations; 0 = only at the end
    evaluation_games: int = 100  # games of an evaluation during training
    final_games: int = 1000  # games of the evaluation at the end
    probe_games: int = 0  # games of each probe, such as the swap test, beside every evaluation; 0 = none
    profile: bool = False  # record what the device does during the second report after a start, into profile/
    wandb_project: str = "muzero2048"  # the project in wandb

    def __post_init__(self) -> None:
        """Check the values."""
        if not re.fullmatch(r"\w[\w.+=-]*", self.name):
            raise ValueError(f"run.name is '{self.name}'; give letters, digits and any of _ . + = - only")
        if not 0 <= self.seed < SEEDS:
            raise ValueError(f"run.seed is {self.seed}; give 0 to {SEEDS - 1}")
        _check_least("run.save_minutes", self.save_minutes, 0)
        _check_least("run.keep_checkpoints", self.keep_checkpoints, 1)
        _check_least("run.snapshot_env_steps", self.snapshot_env_steps, 0)
        _check_least("run.evaluate_env_steps", self.evaluate_env_steps, 0)
        _check_least("run.evaluation_games", self.evaluation_games, 2)
        _check_least("run.final_games", self.final_games, 2)
        if self.probe_games == 1 or self.probe_games < 0:
            raise ValueError(f"run.probe_games is {self.probe_games}; give 0, or 2 or more")

    @property
    def folder(self) -> Path:
        """The folder of the run."""
        return Path(self.runs_folder) / self.name


@dataclass(frozen=True)
class Experiment:
    """One experiment: which learner, how it is run, and the learner's own settings."""

    learner: str
    run: RunConfig
    settings: LearnerConfig  # in YAML under the learner's name

    def to_yaml(self) -> str:
        """The whole experiment with every default written out, in the form that `load_experiment` reads."""
        return OmegaConf.to_yaml(OmegaConf.structured(_schema(self.learner)(*self._parts())))

    def _parts(self) -> tuple[str, RunConfig, LearnerConfig]:
        return self.learner, self.run, self.settings


def load_experiment(path: Path, overrides: Sequence[str] = ()) -> Experiment:
    """Read an experiment from a YAML file, or from a run or checkpoint folder, which hold their own.

    Args:
        path: the file or the folder.
        overrides: "key=value" with dotted keys, e.g. "run.seed=1"; they win over the file.

    Raises:
        UserError: the file is missing or not an experiment; the line names the file and the key.
    """
    file = path / CONFIG_FILE if path.is_dir() else path
    if not file.is_file():
        raise UserError(f"there is no config {file}; give a YAML file such as those in configs/")
    with _in_one_line(str(file), overrides):
        return _experiment(OmegaConf.load(file), _parse_overrides(overrides, "run.seed=1"))


def override_settings(name: str, settings: T, overrides: Sequence[str], place: str) -> T:
    """A dataclass of settings with some of them changed.

    Args:
        name: of the settings.
        settings: a dataclass.
        overrides: "name.field=value".
        place: whose fault it is, in messages, if the changed settings do not go together.

    Raises:
        UserError: an unknown key or a wrong value; the line names it.
    """
    parsed = _parse_overrides(overrides, f"{name}.key=value")
    for override in overrides:
        if not override.startswith(f"{name}."):
            raise UserError(f"override {override}: only the keys {name}.key=value can be set here")
    schema = make_dataclass("Settings", [(name, type(settings))], frozen=True)
    with _in_one_line(place, overrides):
        merged = OmegaConf.merge(OmegaConf.structured(schema(settings)), parsed)
        return cast(T, getattr(OmegaConf.to_object(merged), name))


@contextmanager
def _in_one_line(place: str, overrides: Sequence[str]) -> Iterator[None]:
    """Report a mistake in settings as a UserError that names the override or else the place."""
    try:
        yield
    except MissingMandatoryValue as error:
        raise UserError(f"{place}: {error.full_key} is missing and has no default; set it") from error
    except OmegaConfBaseException as error:
        guilty = [word for word in overrides if f"{word.partition('=')[0]}.".startswith(f"{error.full_key}.")]
        where = f"override {guilty[-1]}" if guilty else place
        key = f"{error.full_key}: " if error.full_key else ""
        raise UserError(f"{where}: {key}{_first_line(error)}") from error
    except YAMLError as error:
        raise UserError(f"{place}: not YAML: {' '.join(str(error).split())}") from error
    except ValueError as error:
        raise UserError(f"{place}: {_first_line(error)}") from error


def read_yaml(text: str) -> dict[str, Any]:
    """A YAML text as plain values, with OmegaConf's reading of numbers: 1e-3 is one."""
    return cast(dict[str, Any], OmegaConf.to_container(OmegaConf.create(text)))


def changes(old: Experiment, new: Experiment) -> list[str]:
    """The keys whose values differ between two experiments of one learner, as "key: old -> new"."""
    before, after = (_flatten(read_yaml(experiment.to_yaml())) for experiment in (old, new))
    return [f"{key}: {before.get(key)} -> {after[key]}" for key in after if before.get(key) != after[key]]


def _experiment(file: Any, overrides: DictConfig) -> Experiment:
    if not isinstance(file, DictConfig):
        raise ValueError("an experiment is a mapping with the keys learner, run and the learner's name")
    values = cast(DictConfig, OmegaConf.merge(file, overrides))
    if "learner" not in values:
        raise ValueError(f"the key 'learner' is missing; set it to one of: {', '.join(learners.LEARNERS)}")
    try:
        schema = OmegaConf.structured(_schema(str(values["learner"])))
    except UserError as error:
        raise ValueError(f"learner: {error}") from error
    parts: Any = OmegaConf.to_object(OmegaConf.merge(schema, values))
    return Experiment(*(getattr(parts, field.name) for field in fields(parts)))


def _schema(learner: str) -> type[Any]:
    """The dataclass of the whole file: the learner's settings are under the learner's own name."""
    settings = learners.config_class(learner)
    return make_dataclass("Experiment", [("learner", str), ("run", RunConfig), (learner, settings)], frozen=True)


def _parse_overrides(overrides: Sequence[str], example: str) -> DictConfig:
    for override in overrides:
        if not re.match(r"[A-Za-z_][\w.]*=", override):
            raise UserError(f"cannot read the override '{override}'; give key=value, e.g. {example}")
    try:
        return OmegaConf.from_dotlist(list(overrides))
    except (YAMLError, OmegaConfBaseException) as error:
        raise UserError(f"cannot read the overrides {' '.join(overrides)}: {_first_line(error)}") from error


def _flatten(config: Any, prefix: str = "") -> dict[str, Any]:
    if not isinstance(config, dict):
        return {prefix: config}
    return {
        key: value
        for name in config
        for key, value in _flatten(config[name], f"{prefix}.{name}" if prefix else name).items()
    }


def _check_least(key: str, value: int | float, least: int) -> None:
    if value < least:
        raise ValueError(f"{key} is {value}; give {least} or more")


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
