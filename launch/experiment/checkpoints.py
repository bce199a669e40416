"""Checkpoints: runs/<name>/checkpoints/<env_steps>/. One alone is enough to resume and to evaluate.

| file | content |
|---|---|
| files of the learner | `Learner.save` |
| config.yaml | the experiment |
| state.json | `State` |
| manifest.json | size and SHA-256 of every other file |

A checkpoint is written under a temporary name, forced to the disk and renamed; an old one of the same step gets a
temporary name first. So a folder whose name is a number is complete, unless it was damaged later.
"""

import functools
import hashlib
import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from launch.errors import UserError, warn
from launch.experiment.experiment import CONFIG_FILE, Experiment, load_experiment
from launch.experiment.interfaces import Learner
from launch.experiment.processes import Processes
from launch.files import write_json
from launch.trained import packaged
from ntuple.core.atomic_files import sync
from ntuple.core.settings import Settings, from_plain

FOLDER = "checkpoints"
SNAPSHOTS = "snapshots"  # folder of a run with checkpoints that are never deleted
STATE_FILE = "state.json"
MANIFEST_FILE = "manifest.json"
DAMAGED = ": the checkpoint is damaged, use another one"  # end of messages


class State(Settings):
    """The state of the loop at a checkpoint."""

    learner: str  # its name in the registry
    progress: dict[str, int]  # env_steps, games, updates
    wall_hours: float  # time of training so far
    evaluated_env_steps: int  # moves at the last evaluation during training
    version: str  # version of this project


def save_checkpoint(
    run_folder: Path, learner: Learner, experiment: Experiment, state: State, processes: Processes
) -> Path:
    """Write a checkpoint and delete all but the newest `keep_checkpoints`.

    An old checkpoint of the same step is replaced. At any time there are at most `keep_checkpoints` complete
    checkpoints and the one that is being written.
    """
    parent, keep = run_folder / FOLDER, experiment.run.keep_checkpoints
    if processes.is_first:
        for left in (*_numbered(parent)[keep:], *parent.glob(".*.tmp")):  # left by a run that was killed
            shutil.rmtree(left)
    folder = _save(parent, learner, experiment, state, processes)
    if processes.is_first:
        others = [old for old in _numbered(parent) if old != folder]
        for old in others[keep - 1 :]:
            shutil.rmtree(old)
    return folder


def save_snapshot(
    run_folder: Path, learner: Learner, experiment: Experiment, state: State, processes: Processes
) -> None:
    """Write a checkpoint that is never deleted."""
    _save(run_folder / SNAPSHOTS, learner, experiment, state, processes)


def _save(parent: Path, learner: Learner, experiment: Experiment, state: State, processes: Processes) -> Path:
    if processes.is_first:
        parent.mkdir(exist_ok=True)
    folder = parent / str(state.progress["env_steps"])
    write_checkpoint(folder, learner.save, experiment, state, processes)
    return folder


def write_checkpoint(
    folder: Path, save: Callable[[Path], None], experiment: Experiment, state: State, processes: Processes
) -> None:
    """Write a checkpoint completely or not at all; an old one in its place is replaced.

    Each process writes its part of the learner by `save`, and the first process writes all else. The checkpoint is
    complete when this returns.
    """
    temporary, aside = (folder.with_name(f".{folder.name}{suffix}") for suffix in (".tmp", ".old.tmp"))
    if processes.is_first:
        for left in (temporary, aside):  # by a run that was killed
            shutil.rmtree(left, ignore_errors=True)
        temporary.mkdir()
    processes.wait()
    save(temporary)
    processes.wait()
    if processes.is_first:
        (temporary / CONFIG_FILE).write_text(experiment.to_yaml(), encoding="utf-8")
        write_json(temporary / STATE_FILE, asdict(state))
        _write_manifest(temporary)
        if folder.exists():
            folder.rename(aside)
        temporary.rename(folder)
        sync(folder.parent)
        shutil.rmtree(aside, ignore_errors=True)
    processes.wait()


def find_checkpoint(path: Path, set_aside: bool = False) -> Path:
    """Return the checkpoint that a path names: the checkpoint itself, or the newest good one of a run.

    A word that names no run may be the name of a network of the package (launch/trained). Of a run, a damaged
    checkpoint gives a warning, and the one before it is tried. With `set_aside` damaged ones are renamed to
    <env_steps>.damaged when a good one is found, so that they no longer count; else nothing on the disk changes.

    Raises:
        UserError: there is no checkpoint, or no good one.
    """
    path = packaged(path) or path
    if not path.exists():
        raise UserError(f"there is no {path}; give a run folder or a checkpoint in its {FOLDER}/ folder")
    if is_checkpoint(path):
        verify(path)
        return path
    numbered = _numbered(path if path.name == FOLDER else path / FOLDER)
    if not numbered:
        raise UserError(f"{path} holds no checkpoint; give a run folder or a checkpoint in its {FOLDER}/ folder")
    for place, checkpoint in enumerate(numbered):
        is_last = place + 1 == len(numbered)
        if _is_good(checkpoint, "there is none before it" if is_last else "trying the one before it"):
            if set_aside:
                _set_aside(numbered[:place])
            return checkpoint
    raise UserError(f"every checkpoint of {path} is damaged; train again, or restore the folder from a copy")


def good_checkpoints(run_folder: Path) -> dict[int, Path]:
    """Return all good checkpoints of a run by their env_steps, in the order of training.

    A damaged one gives a warning. If a snapshot and a checkpoint have the same env_steps, the snapshot is taken.

    Raises:
        UserError: there is none.
    """
    good: dict[int, Path] = {}
    for checkpoint in (*_numbered(run_folder / SNAPSHOTS), *_numbered(run_folder / FOLDER)):
        if _env_steps(checkpoint) not in good and _is_good(checkpoint, "it is left out"):
            good[_env_steps(checkpoint)] = checkpoint
    if not good:
        raise UserError(f"{run_folder} holds no good checkpoint; train first, with run.snapshot_env_steps to keep more")
    return dict(sorted(good.items()))


def newest_checkpoint(run_folder: Path) -> Path | None:
    """Return the newest checkpoint of a run, which may be damaged; None if there is none."""
    return next(iter(_numbered(run_folder / FOLDER)), None)


def run_folder_of(checkpoint: Path) -> Path | None:
    """Return the run folder of a checkpoint; None for a checkpoint outside of a run."""
    parent = checkpoint.resolve().parent
    in_a_run = parent.name in (FOLDER, SNAPSHOTS) and (parent.parent / CONFIG_FILE).is_file()
    return parent.parent if in_a_run else None


def read_checkpoint(checkpoint: Path) -> tuple[Experiment, State]:
    """Return the experiment and the state of a good checkpoint; UserError if they cannot be read."""
    state: State = _read_json(checkpoint / STATE_FILE, lambda values: from_plain(State, values))
    return load_experiment(checkpoint), state


def _is_good(checkpoint: Path, consequence: str) -> bool:
    """Return whether the files of a checkpoint are whole; if not, warn and say the consequence."""
    try:
        verify(checkpoint)
    except UserError as error:
        warn(f"{error}; {consequence}")
        return False
    return True


def verify(checkpoint: Path) -> None:
    """Compare a checkpoint's files with its manifest; UserError names the first file that differs."""
    for name, expected in _read_manifest(checkpoint / MANIFEST_FILE).items():
        file = checkpoint / name
        if not file.is_file():
            raise UserError(f"{file} is missing{DAMAGED}")
        if (size := file.stat().st_size) != expected["bytes"]:
            raise UserError(f"{file} has {size} bytes instead of {expected['bytes']}{DAMAGED}")
        if _digest(file) != expected["sha256"]:
            raise UserError(f"{file} was changed after saving{DAMAGED}")


def _read_manifest(file: Path) -> dict[str, Any]:
    manifest = _read_json(file)
    entries = manifest if isinstance(manifest, dict) else {}
    for name in (STATE_FILE, CONFIG_FILE):
        if name not in entries:
            raise UserError(f"{file} does not name {name}{DAMAGED}")
    for name, expected in entries.items():
        if not isinstance(expected, dict) or not {"bytes", "sha256"} <= expected.keys():
            raise UserError(f"{file} has no size and SHA-256 of {name}{DAMAGED}")
    return entries


def _read_json(file: Path, build: Callable[[Any], Any] = lambda values: values) -> Any:
    try:
        return build(json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise UserError(f"{file} cannot be read: use another checkpoint") from error


def _set_aside(damaged: Sequence[Path]) -> None:
    for checkpoint in damaged:
        aside = checkpoint.with_name(f"{checkpoint.name}.damaged")
        try:
            shutil.rmtree(aside, ignore_errors=True)  # from an earlier damage at the same step
            checkpoint.rename(aside)
        except OSError as error:
            raise UserError(f"cannot rename {checkpoint}: {error.strerror}; make its folder writable") from error
        warn(f"the damaged checkpoint {checkpoint} is now {aside}")


def _write_manifest(folder: Path) -> None:
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    manifest = {
        str(file.relative_to(folder)): {"bytes": file.stat().st_size, "sha256": _digest(file)} for file in files
    }
    for path in folder.rglob("*"):
        sync(path)
    write_json(folder / MANIFEST_FILE, manifest)


def _digest(file: Path) -> str:
    """Return the digest of a file, read again only if the file changed: `reproduce` asks for each number of a table."""
    status = file.stat()
    return _digest_of(file, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


@functools.lru_cache(maxsize=1024)
def _digest_of(file: Path, *_status: int) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def is_checkpoint(path: Path) -> bool:
    """Return whether a path is the folder of one checkpoint, not of a run."""
    in_a_run = path.parent.name == FOLDER and path.name.isdecimal()
    return in_a_run or (path / MANIFEST_FILE).exists()


def _numbered(parent: Path) -> list[Path]:
    """Return the checkpoints in a folder, newest first; none if there is no such folder."""
    if not parent.is_dir():
        return []
    return sorted((path for path in parent.iterdir() if path.name.isdecimal()), key=_env_steps, reverse=True)


def _env_steps(checkpoint: Path) -> int:
    return int(checkpoint.name)
