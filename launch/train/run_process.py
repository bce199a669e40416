"""The process that trains a run: a lock in the run folder, and process.json with where it runs and how it ended.

The lock ends with the process, also when it is killed. So a run is never trained twice at a time, and everybody can see
whether it is in training (launch/locks.py). It is `flock`, which on NFS also works between machines (Linux 2.6.12 and
later), and on Lustre if it is mounted with the option flock.
"""

import contextlib
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from launch import locks
from launch.errors import End, UserError, end_of, warn
from launch.experiment.experiment import CONFIG_FILE
from launch.experiment.metrics_file import METRICS_FILE
from launch.files import write_json
from launch.signals import STOPPED

PROCESS_FILE = "process.json"
LOCK_FILE = "process.lock"


@dataclass(frozen=True)
class RunProcess:
    """What process.json holds. Times are ISO 8601 in UTC."""

    host: str
    pid: int
    job: str  # of SLURM: the number of the job, or of the array and the task as 17_3; "" without SLURM
    gpus: str  # CUDA_VISIBLE_DEVICES; "" if it is not set
    began: str
    ended: str = ""  # "": the process has not ended, or was killed
    exit_code: int | None = None
    line: str = ""  # the line of the error that ended it

    @property
    def is_stopped(self) -> bool:
        """Whether the run saved and stopped, after a signal."""
        return self.exit_code == STOPPED


class Ownership:
    """This process owns the run folder until the end of the `with` block of `owning`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: RunProcess | None = None

    def begin(self) -> None:
        """Write process.json: from now on the end of this process is the end of the run's training."""
        self._write(this_process())

    def end(self, exit_code: int, line: str = "") -> None:
        """Note how the training ended."""
        if self._process is not None:
            self._write(replace(self._process, ended=_now(), exit_code=exit_code, line=line))

    def _write(self, process: RunProcess) -> None:
        self._process = process
        write_json(self._folder / PROCESS_FILE, asdict(process))


@contextmanager
def owning(folder: Path) -> Iterator[Ownership]:
    """Lock a run folder, which is made if needed, and removed again if no run has begun in it.

    UserError if another process trains the run. An error of the block is written to process.json.
    """
    new_folders = [place for place in (folder, *folder.parents) if not place.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / LOCK_FILE).open("a")
    except OSError as error:
        raise UserError(
            f"cannot write the run folder {folder}: {error.strerror}; give another run.runs_folder=..."
        ) from error
    with lock:
        _take(lock, folder)
        owned = Ownership(folder)
        try:
            yield owned
        except Exception as error:
            end = end_of(error) or End(1, f"{type(error).__name__}: {str(error).partition(chr(10))[0]}")
            with contextlib.suppress(OSError):  # such as a full disk: the command tells the error of the block
                owned.end(*end)
            raise
        finally:
            if not (folder / CONFIG_FILE).exists():
                _remove(folder, new_folders)


def this_process() -> RunProcess:
    """Describe this process."""
    array, task = os.environ.get("SLURM_ARRAY_JOB_ID"), os.environ.get("SLURM_ARRAY_TASK_ID")
    return RunProcess(
        host=socket.gethostname(),
        pid=os.getpid(),
        job=f"{array}_{task}" if array and task else os.environ.get("SLURM_JOB_ID", ""),
        gpus=os.environ.get("CUDA_VISIBLE_DEVICES", ""),
        began=_now(),
    )


def read_process(folder: Path) -> RunProcess | None:
    """Return the last process that trained a run; None if there is no such file, or it cannot be read."""
    try:
        values = json.loads((folder / PROCESS_FILE).read_text(encoding="utf-8"))
        return RunProcess(**{field.name: values[field.name] for field in fields(RunProcess)})
    except (OSError, ValueError, TypeError, KeyError):
        return None


def has_begun(folder: Path) -> bool:
    """Return whether a training has begun in a run folder, in this version or an earlier one without process.json."""
    return any((folder / name).exists() for name in (PROCESS_FILE, METRICS_FILE))


def is_locked(folder: Path) -> bool:
    """Return whether a process trains the run now."""
    return locks.is_locked(folder / LOCK_FILE)


def _take(lock: IO[str], folder: Path) -> None:
    try:
        locks.take_lock(lock)
    except BlockingIOError as error:
        owner = read_process(folder)
        who = f"process {owner.pid} on {owner.host}" if owner else "another process"
        raise UserError(f"{who} is training {folder}; let it end, stop it, or give another run.name=...") from error
    except OSError as error:
        warn(f"{folder} cannot be locked ({error.strerror}): do not start this run twice at a time")


def _remove(folder: Path, new_folders: list[Path]) -> None:
    """Remove the files of this module, and of the folders that were made for the run those that are empty."""
    for file in (PROCESS_FILE, LOCK_FILE):
        (folder / file).unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # not empty
        for place in new_folders:
            place.rmdir()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
