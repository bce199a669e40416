"""The queue of a launcher on this machine: a file beside the output of each task that it will start or waits for.

The file names the lock of the launcher, so it means nothing once the launcher has ended, also if it was killed. Whoever
deletes the file takes the task out of the queue: the launcher then stops it, or does not start it.
"""

import contextlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from launch.evaluation.result import FOLDER as EVALUATIONS
from launch.jobs.tasks import PlannedTask
from launch.locks import is_locked, take_lock

FOLDER = ".local"  # in the runs folder: the locks of launchers
SUFFIX = ".queued"
NEW_SECONDS = 60.0  # a lock file that is younger is perhaps about to be locked


class LocalQueue:
    """The tasks of one launcher."""

    def __init__(self, lock: Path) -> None:
        self._lock = lock

    def add(self, task: PlannedTask) -> None:
        """Put a task into the queue; files of launchers that were killed are removed."""
        for file in task.output.parent.glob(f"{task.output.name}.*{SUFFIX}"):
            if not _is_alive(file):
                file.unlink(missing_ok=True)
        self._file(task).write_text(str(self._lock), encoding="utf-8")

    def has(self, task: PlannedTask) -> bool:
        """Return whether the task is still wanted."""
        return self._file(task).exists()

    def remove(self, task: PlannedTask) -> None:
        """Forget a task that has ended."""
        self._file(task).unlink(missing_ok=True)

    def _file(self, task: PlannedTask) -> Path:
        return task.output.with_name(f"{task.output.name}.{self._lock.stem}{SUFFIX}")


@contextmanager
def local_queue(runs_folder: Path) -> Iterator[LocalQueue]:
    """Make the queue of this process, until the end of the `with` block."""
    folder = runs_folder.absolute() / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for left in folder.glob("*.lock"):  # by a launcher that was killed
        with contextlib.suppress(OSError):
            if time.time() - left.stat().st_mtime > NEW_SECONDS and not is_locked(left):
                left.unlink()
    lock = folder / f"{os.getpid()}-{time.time_ns()}.lock"
    with lock.open("w") as file:
        take_lock(file)
        try:
            yield LocalQueue(lock)
        finally:
            lock.unlink(missing_ok=True)


def queue_files(run_folder: Path) -> list[Path]:
    """Return the files of the tasks of a run, training and evaluations, that launchers have in their queues."""
    places = (run_folder, run_folder / EVALUATIONS)
    return [file for place in places for file in place.glob(f"*{SUFFIX}") if _is_alive(file)]


def _is_alive(file: Path) -> bool:
    with contextlib.suppress(OSError, ValueError):  # it was deleted meanwhile
        return is_locked(Path(file.read_text(encoding="utf-8")))
    return False
