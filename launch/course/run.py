"""Run a program that writes game records, within limits, and read what it has written.

The program may do anything to the files that are given to it; the grader reads them as they are then.
"""

import contextlib
import os
import resource
import signal
import stat
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

from launch.errors import UserError
from launch.progress import progress_line
from launch.tournament import processes
from launch.tournament.confine import SIGNALLED
from launch.tournament.program import Limits, confined, last_line

MOST_OUTPUT = 16 << 20  # bytes on stdout and stderr
MOST_RECORDS = 512 << 20  # bytes of records
MOST_GAME = 4 << 20  # bytes of a record
LOOK_SECONDS = 0.2  # between two looks at a running program


class Run(NamedTuple):
    """A program that has ended."""

    seconds: float  # of the clock, or of all cores together if this is more: it has one
    fault: str  # why it did not end well; "": it did


def run_to_end(command: list[str], limits: Limits, seconds: float, records: Path, output: Path) -> Run:
    """Run a program until it ends or breaks a limit; its output goes into a file."""
    begun, cpu = time.monotonic(), _seconds_of_children()

    def text() -> str:
        return f"{_size(records) / 1e6:,.1f} MB of records after {time.monotonic() - begun:.0f} s"

    with output.open("wb") as log, progress_line("the program plays", text):
        process = subprocess.Popen(
            confined(command, limits), stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
        fault, has_ended = "", False
        try:
            while not fault and not has_ended:
                has_ended = _has_ended(process)
                fault = _broken(process.pid, limits, time.monotonic() - begun, seconds, records, output)
        finally:
            elapsed = time.monotonic() - begun
            processes.end(process.pid, [])
            process.wait()
    if not fault and process.returncode:
        fault = _ending(process.returncode, output)
    return Run(max(elapsed, _seconds_of_children() - cpu), fault)


def _seconds_of_children() -> float:
    """Return the CPU time of all processes that were started here and have ended, on all cores."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _size(path: Path) -> int:
    """Return the size of a file in bytes; 0 if there is none."""
    try:
        return path.lstat().st_size
    except OSError:
        return 0


def _ending(code: int, output: Path) -> str:
    """Say how a program ended, with the last line of its output."""
    text = f"it ended with exit code {code}"
    with contextlib.suppress(ValueError):
        text += f" ({signal.Signals(-code if code < 0 else code - SIGNALLED).name})"
    with output.open("rb") as file:
        told = last_line(file)
    return f"{text}: {told}" if told else text


def _has_ended(process: "subprocess.Popen[bytes]") -> bool:
    """Wait for a short time; return whether the program has ended."""
    try:
        process.wait(LOOK_SECONDS)
    except subprocess.TimeoutExpired:
        return False
    return True


def _broken(pid: int, limits: Limits, elapsed: float, seconds: float, records: Path, output: Path) -> str:
    """Return the limit that a running program breaks; "": none."""
    if len(processes.below([pid])) > limits.most_processes:
        return f"it started more than {limits.most_processes} processes"
    if elapsed > seconds:
        return f"it was ended after {seconds:g} s"
    for path, most in ((output, MOST_OUTPUT), (records, MOST_RECORDS)):
        if _size(path) > most:
            return f"it wrote more than {most >> 20} MiB"
    return ""


def copy_complete_lines(records: Path, copy: Path) -> None:
    """Copy a file of records, without a last line that does not end; a file that is none has no lines.

    Raises:
        UserError: the file or a line is too long.
    """
    with contextlib.ExitStack() as files:
        to = files.enter_context(copy.open("wb"))
        try:
            descriptor = os.open(records, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            return
        files.callback(os.close, descriptor)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return
        if os.fstat(descriptor).st_size > MOST_RECORDS:
            raise UserError(f"the records are more than {MOST_RECORDS >> 20} MiB")
        file = files.enter_context(os.fdopen(descriptor, "rb", closefd=False))
        while (line := file.readline(MOST_GAME)).endswith(b"\n"):
            to.write(line)
        if len(line) == MOST_GAME:
            raise UserError(f"a line of the records has more than {MOST_GAME >> 20} MiB")
