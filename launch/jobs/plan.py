"""Which runs a `submit` asks for: configs, overrides with lists, rows of a file and seeds, multiplied."""

import hashlib
import itertools
import math
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from launch.errors import UserError
from launch.experiment import registry
from launch.experiment.checkpoints import newest_checkpoint
from launch.experiment.experiment import CONFIG_FILE, Experiment, changes, load_experiment
from launch.files import write_text
from launch.jobs.cluster import SLURM, ClusterConfig
from launch.jobs.queue import queue_files
from launch.locks import lock_owner
from launch.memory import available_bytes, size_text
from launch.train.resume import BUDGET, is_finished
from launch.train.run_process import LOCK_FILE, has_begun, is_locked, read_process

MOST_RUNS = 10_000
LONGEST_COMMON = 60  # characters of the overrides that all runs share, in a name; longer ones are named by their digest
OUTPUT_FILE = "output.log"  # in a run folder: what its processes printed
NAME, GROUP, SEED = "run.name", "run.group", "run.seed"
UNNAMED = (NAME, GROUP, SEED, "run.runs_folder")  # overrides that are in a name in another way, or change no run
_BRACKETS = {"[": "]", "{": "}", "(": ")"}


class GridRequest(NamedTuple):
    """The words of a `submit`."""

    configs: tuple[Path, ...]
    overrides: tuple[str, ...] = ()  # key=value or key=a,b,c
    seeds: str = ""  # such as 1-8 or 1,5-7; "": the seed of the config
    group: str = ""  # "": the group of the config
    rows: Path | None = None  # file with one set of overrides a line
    varied: frozenset[str] = frozenset()  # keys that other requests of the group give other values


class PlannedRun(NamedTuple):
    """One run of a set: a task (launch/jobs/tasks.py)."""

    config: Path
    experiment: Experiment  # with the run's own name, group and seed

    @property
    def name(self) -> str:
        """Name of the run."""
        return self.experiment.run.name

    @property
    def folder(self) -> Path:
        """Folder of the run."""
        return self.experiment.run.folder

    @property
    def arguments(self) -> list[str]:
        """Arguments of `muzero2048` that train the prepared run, from the beginning or from its last save."""
        return ["train", str(self.folder), "--resume"]

    @property
    def output(self) -> Path:
        """File in the run's folder to which its processes print."""
        return self.folder / OUTPUT_FILE

    def is_running(self) -> bool:
        """Return whether a process trains the run now."""
        return is_locked(self.folder)

    def pid(self) -> int | None:
        """Return the process on this machine that trains the run; None if there is none."""
        return lock_owner(self.folder / LOCK_FILE)

    def exit_code(self) -> int | None:
        """Return how the last process of the run ended; None if it was killed."""
        process = read_process(self.folder)
        return process.exit_code if process else None

    def is_finished(self) -> bool:
        """Return whether the budget is spent and the final evaluation exists."""
        checkpoint = newest_checkpoint(self.folder)
        return checkpoint is not None and is_finished(self.experiment, checkpoint)

    def prepare(self) -> None:
        """Make the run's folder with its config: later changes of the config file do not change a run that waits."""
        self.folder.mkdir(parents=True, exist_ok=True)
        write_text(self.folder / CONFIG_FILE, self.experiment.to_yaml())


def plan_runs(request: GridRequest) -> list[PlannedRun]:
    """Return all runs of a request, checked.

    Names hold all that the request sets, so that runs of different requests have different names:
    [group-]<run.name of the config>-<key>=<value>-...-seed<N>, where the key is as short as is unique among all keys of
    the experiment. Left out are budgets that are the same for all runs, since the same run is trained on with another
    budget. A run's group is its name without the seed, so that `compare` and wandb draw the seeds of one setting as one
    curve; with `request.group`, it begins with that. Configs vary slowest, seeds fastest.

    UserError also if a run exists with another config.
    """
    rows = _read_rows(request.rows) if request.rows else [{}]
    axes = axes_of(request.overrides)
    seeds: list[int | None] = [*parse_seeds(request.seeds)] if request.seeds else [None]
    if request.seeds and (SEED in axes or any(SEED in row for row in rows)):
        raise UserError(f"--seeds and {SEED} both set the seeds: leave out one of them")
    if request.rows and (twice := [key for key in axes if any(key in row for row in rows)]):
        raise UserError(f"{twice[0]} is set on the command line and in {request.rows}: leave out one of them")
    varied = {*request.varied, *(key for key, values in axes.items() if len(values) > 1)}
    varied |= {key for row in rows for key in row if len({other.get(key) for other in rows}) > 1}
    count = len(request.configs) * len(rows) * len(seeds)
    for values in axes.values():
        count *= len(values)
    if count > MOST_RUNS:
        raise UserError(f"these lists make {count:,} runs; the most at once are {MOST_RUNS:,}: shorten a list")
    runs = [
        _planned(config, {**dict(zip(axes, chosen, strict=True)), **row}, seed, request, varied)
        for config, row in itertools.product(request.configs, rows)
        for chosen in itertools.product(*axes.values())
        for seed in seeds
    ]
    _check_names(runs)
    for run in runs:
        check_existing(run)
    return runs


def for_trainings(cluster: ClusterConfig, runs: Sequence[PlannedRun]) -> ClusterConfig:
    """Return what runs get of a cluster: no GPUs if no learner of them can use one."""
    uses_jax = any(registry.spec_of(run.experiment.learner).uses_jax for run in runs)
    return cluster if uses_jax else replace(cluster, gpus=0)


def check_fits(runs: Sequence[PlannedRun], cluster: ClusterConfig) -> None:
    """Refuse a run that takes more memory than each of the tasks at once gets on a node; on SLURM that may be unknown.

    Learners that the cluster trains on GPUs pass: the memory of a GPU is known only there.
    """
    unset = math.inf if cluster.engine == SLURM else available_bytes() / cluster.at_once
    room = cluster.memory_gb * 1e9 or unset
    specs = [registry.spec_of(run.experiment.learner) for run in runs]
    if any(spec.uses_jax for spec in specs):
        import jax

        jax.config.update("jax_platforms", "cpu")  # this process must not take the memory of the runs' GPUs
    for run, spec in zip(runs, specs, strict=True):
        if cluster.gpus and spec.uses_jax:
            continue
        needs = sum(registry.memory(run.experiment.learner, run.experiment.settings).values())
        if needs > room:
            raise UserError(
                f"{run.name} takes {size_text(needs)} of memory and gets {size_text(room)}; lower {spec.memory_keys},"
                " or change memory_gb or at_once of the cluster"
            )


def parse_seeds(text: str) -> list[int]:
    """Return the seeds of a text such as 1-8 or 1,5-7; UserError if it cannot be read."""
    seeds: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", part.strip())
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if first > last or last - first >= MOST_RUNS:
            raise UserError(
                f"--seeds {text}: cannot read '{part}'; give numbers and ascending ranges, such as 1-8 or 1,5"
            )
        seeds += range(first, last + 1)
    if len(set(seeds)) < len(seeds):
        raise UserError(f"--seeds {text} has a seed twice; give each one once")
    return seeds


def split_values(text: str) -> list[str]:
    """Split a value at its commas, except those in brackets or quotes: "a,[b,c]" is a and [b,c]."""
    values, closing, quote = [""], [], ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter in _BRACKETS:
            closing.append(_BRACKETS[letter])
        elif closing and letter == closing[-1]:
            closing.pop()
        elif letter == "," and not closing:
            values.append("")
            continue
        values[-1] += letter
    return values


def axes_of(overrides: Sequence[str]) -> dict[str, list[str]]:
    """Return the values of each key of the overrides; UserError if a word cannot be read, or a key is set twice."""
    axes: dict[str, list[str]] = {}
    for override in overrides:
        key, values = split_override(override)
        if key in axes:
            raise UserError(f"{key} is set twice: give all its values in one word, {key}=a,b")
        axes[key] = split_values(values)
        if "" in axes[key] and len(axes[key]) > 1:
            raise UserError(f"{override} has an empty value between its commas; leave out a comma")
        if len(set(axes[key])) < len(axes[key]):
            raise UserError(f"{override} has a value twice; give each one once")
    return axes


def split_override(argument: str) -> tuple[str, str]:
    """Return key and value of an override."""
    key, equals, value = argument.partition("=")
    if not equals or not re.fullmatch(r"[A-Za-z_][\w.]*", key):
        raise UserError(f"cannot read the override '{argument}'; give key=value or key=a,b,c")
    return key, value


def _read_rows(file: Path) -> list[dict[str, str]]:
    """Return the sets of overrides of a file: one a line, words as in a shell; # begins a comment."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"--rows {file} cannot be read: {error}") from error
    rows = []
    for number, line in enumerate(lines, start=1):
        try:
            arguments = shlex.split(line, comments=True)
            row = dict(split_override(argument) for argument in arguments)
        except (ValueError, UserError) as error:
            raise UserError(f"{file}, line {number}: {error}") from error
        if len(row) < len(arguments):
            raise UserError(f"{file}, line {number} sets a key twice")
        if row:
            rows.append(row)
    if not rows:
        raise UserError(f"--rows {file} has no line with key=value")
    return rows


def _planned(
    config: Path, values: dict[str, str], seed: int | None, request: GridRequest, varied: set[str]
) -> PlannedRun:
    """Return the run of one combination, with its name and group."""
    arguments = [f"{key}={value}" for key, value in values.items()]
    if seed is not None:
        arguments.append(f"{SEED}={seed}")
    experiment = load_experiment(config, arguments)
    setting, base = _setting(experiment, values, varied), experiment.run.name
    prefix = request.group or values.get(GROUP, "")
    of_seed = f"seed{experiment.run.seed}" if seed is not None or SEED in values else ""
    name = "-".join(part for part in (_clean(prefix), base, setting, of_seed) if part)
    of_config = base if len(request.configs) > 1 and request.group else ""
    group = "/".join(part for part in (request.group or experiment.run.group, of_config, setting) if part)
    try:
        run = replace(experiment.run, name=name, group=group)
    except ValueError as error:
        raise UserError(f"{config}: {error}; give a shorter run.name=...") from error
    return PlannedRun(config, replace(experiment, run=run))


def _setting(experiment: Experiment, values: dict[str, str], varied: set[str]) -> str:
    """Return the part of a name that the overrides make."""
    unnamed = {*UNNAMED, *(_accepted_changes(experiment.learner) - varied)}
    names = _short_names(experiment.plain())
    parts = {key: f"{names.get(key, key)}={_clean(value)}" for key, value in values.items() if key not in unnamed}
    common = [key for key in parts if key not in varied]
    if len("-".join(parts[key] for key in common)) <= LONGEST_COMMON:
        return "-".join(parts.values())
    text = " ".join(sorted(f"{key}={values[key]}" for key in common))
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    return "-".join([f"set={digest}", *(part for key, part in parts.items() if key in varied)])


def _short_names(experiment: dict[str, Any]) -> dict[str, str]:
    """Return the shortest ending of each dotted key of an experiment that no other key has."""

    def keys_of(values: dict[str, Any], place: str = "") -> Iterator[str]:
        for name, value in values.items():
            yield place + name
            if isinstance(value, dict):
                yield from keys_of(value, f"{place}{name}.")

    keys = [*keys_of(experiment)]
    endings = {key: [key.split(".", i)[-1] for i in range(key.count("."), -1, -1)] for key in keys}
    count = Counter(ending for each in endings.values() for ending in each)
    return {
        key: next(ending for ending in each if count[ending] == 1 or ending == key) for key, each in endings.items()
    }


def _clean(value: str) -> str:
    """Return a value with the characters that a run's name may have."""
    return re.sub(r"[^\w.+-]+", "_", value).strip("_")


def _check_names(runs: Sequence[PlannedRun]) -> None:
    first: dict[Path, PlannedRun] = {}
    for run in runs:
        other = first.setdefault(run.folder, run)
        if other is not run:
            where = f"{other.config} and {run.config}" if other.config != run.config else str(run.config)
            raise UserError(f"two runs have the name {run.name} ({where}); give each its own run.name")


def check_existing(run: PlannedRun) -> None:
    """Refuse a run that was trained, or waits in a queue of this machine, with another config: see `check_config`."""
    if has_begun(run.folder) or queue_files(run.folder):
        check_config(run)


def check_config(run: PlannedRun) -> None:
    """Refuse a run whose folder has another config; another budget and number of checkpoints are accepted."""
    saved = load_experiment(run.folder)
    if saved.learner != run.experiment.learner:
        raise UserError(f"{run.folder} is of the learner '{saved.learner}'; give another run.name=...")
    accepted = _accepted_changes(saved.learner)
    differing = [change for change in changes(saved, run.experiment) if change.partition(":")[0] not in accepted]
    if differing:
        raise UserError(
            f"{run.folder} exists with another config ({', '.join(differing)}); give another run.name=..., or remove it"
        )


def _accepted_changes(learner: str) -> set[str]:
    """Return the keys that may differ when a run is trained on."""
    return {f"{learner}.{key}" for key in BUDGET} | {"run.runs_folder", "run.keep_checkpoints"}
