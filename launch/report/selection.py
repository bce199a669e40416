"""Which runs are compared: by folder, group or pattern, by values of their configs, and by time.

runs/a  runs          a run folder, or a folder of runs
'runs/4x4-*'          a pattern of run folders
quick                 a group: all runs of the runs folder with run.group=quick, or quick/... of a grid
"""

import glob
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from launch.errors import UserError, warn
from launch.experiment.experiment import CONFIG_FILE, in_group
from launch.experiment.metrics_file import METRICS_FILE
from launch.experiment.plain_values import has_value, parse_value, value_text
from launch.report.runs import read_config

WILDCARDS = "*?["
GROUP = "run.group"
Config = dict[str, Any]  # values by dotted key


def select(names: Sequence[str], where: Sequence[str], since: str | None, runs_folder: Path) -> dict[Path, Config]:
    """Return the chosen runs with their configs, each folder once, under the first of its paths.

    Folders without a readable config, and runs that have written no row, cause a warning and are left out.

    Args:
        names: run folders, folders of runs, patterns or groups; none: all runs of `runs_folder`.
        where: "key=value" conditions on configs, which all must hold.
        since: a date or time in ISO form; runs whose last row is older are left out.
        runs_folder: where groups are looked up.
    """
    in_runs = cache(lambda: _readable(_children(runs_folder)))
    runs: dict[Path, Config] = {}
    for name in names or [str(runs_folder)]:
        runs |= _named(name, in_runs)
    first = {folder.resolve(): folder for folder in reversed(runs)}  # one folder can have several paths
    runs = {folder: config for folder, config in runs.items() if first[folder.resolve()] == folder}
    conditions = [_condition(text, runs) for text in where]
    runs = {folder: config for folder, config in runs.items() if all(holds(config) for holds in conditions)}
    if not runs:
        raise UserError(f"no run has {' and '.join(where)}; `muzero2048 status` lists the runs")
    if since is not None:
        time = _time(since)
        runs = {folder: runs[folder] for folder in runs if (folder / METRICS_FILE).stat().st_mtime >= time}
        if not runs:
            raise UserError(f"no run was written since {since}; give an earlier --since")
    return runs


def _named(name: str, in_runs: Callable[[], dict[Path, Config]]) -> dict[Path, Config]:
    """Return the runs of one name of the command line."""
    path = Path(name)
    if (path / CONFIG_FILE).is_file():
        runs = _readable([path])
    elif path.is_dir():
        runs = _readable(_children(path))
    elif any(sign in name for sign in WILDCARDS):
        runs = _readable([Path(match) for match in sorted(glob.glob(name))])
    else:
        runs = {folder: config for folder, config in in_runs().items() if in_group(str(config[GROUP]), name)}
    if not runs:
        raise UserError(f"{name}: no run folder, pattern of run folders, or group with a readable run")
    return runs


def _children(folder: Path) -> list[Path]:
    """Return the folders in a folder, without hidden ones such as .slurm."""
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))


def _readable(folders: Sequence[Path]) -> dict[Path, Config]:
    """Return the configs of run folders; warn about other folders and leave them out."""
    configs = {}
    for folder in folders:
        if not (folder / CONFIG_FILE).is_file():
            warn(f"{folder} is left out: it has no {CONFIG_FILE}")
        elif not (folder / METRICS_FILE).is_file():
            warn(f"{folder} is left out: it has no {METRICS_FILE}")
        else:
            try:
                configs[folder] = read_config(folder)
            except UserError as error:
                warn(f"{folder} is left out: {error}")
    return configs


def _condition(text: str, configs: dict[Path, Config]) -> Callable[[Config], bool]:
    """Return the test of a word such as run.seed=1."""
    key, sign, value = text.partition("=")
    if not sign:
        raise UserError(f"--where {text}: give key=value, such as ntuple.network=4x6")
    check_key(key, configs, "--where")
    try:
        wanted = parse_value(value)
    except UserError as error:
        raise UserError(f"--where {text}: {error}") from error
    return lambda config: has_value(config.get(key), wanted) or value_text(config.get(key)) == value


def check_key(key: str, configs: dict[Path, Config], option: str) -> None:
    """Check that the config of a run has a key; `option` names it in the message."""
    if not key:
        raise UserError(f"{option} has an empty key; give keys such as run.group,run.seed, without a comma at an end")
    if not any(key in config for config in configs.values()):
        keys = sorted({known for config in configs.values() for known in config})
        near = [known for known in keys if known.endswith(f".{key}")] or keys[:5]
        raise UserError(f"{option} {key}: no run has this key; the keys are such as {', '.join(near)}")


def _time(since: str) -> float:
    try:
        return datetime.fromisoformat(since).timestamp()
    except ValueError as error:
        raise UserError(f"--since {since}: give a date or time such as 2026-11-24 or 2026-11-24T08:00") from error
