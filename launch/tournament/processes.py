"""The processes that programs start, and how all of them are ended.

On Linux this process adopts what loses its parent (a subreaper), so every process of a program stays below it, also one
that left its group and session. Elsewhere only the process group of a program is known.
"""

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

PR_SET_CHILD_SUBREAPER = 36
PROC = Path("/proc")
ROUNDS = 200  # of killing, until nothing is left


_before: set[int] = set()  # below this process when it began to adopt orphans: not of a program


def adopt_orphans() -> None:
    """Become the parent of processes below this one that lose theirs; without effect where the system cannot."""
    _before.update(below([os.getpid()]))
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is not None:
        prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


class _Process(NamedTuple):
    """An entry of /proc."""

    pid: int
    parent: int
    is_dead: bool  # and waits until its parent asks for its exit code


def _all() -> Iterator[_Process]:
    """Yield all processes of the system; none where there is no /proc."""
    for name in os.listdir(PROC) if PROC.is_dir() else ():
        if name.isdigit():
            with contextlib.suppress(OSError, IndexError):  # it ended meanwhile
                # "PID (NAME) STATE PARENT ...", where NAME may hold anything
                state, parent = (PROC / name / "stat").read_text().rpartition(")")[2].split()[:2]
                yield _Process(int(name), int(parent), state == "Z")


def below(roots: Iterable[int]) -> set[int]:
    """Return the roots that live and all processes below them."""
    children: dict[int, list[int]] = {}
    for process in _all():
        if not process.is_dead:
            children.setdefault(process.parent, []).append(process.pid)
    living = {pid for pids in children.values() for pid in pids}
    found, pending = set(), [pid for pid in roots if pid in living]
    while pending:
        pid = pending.pop()
        if pid not in found:
            found.add(pid)
            pending += children.get(pid, [])
    return found


def orphans(known: Iterable[int]) -> set[int]:
    """Return the processes below this one that are neither below a known child nor one."""
    return below([os.getpid()]) - {os.getpid()} - below({*known, *_before} - {os.getpid()})


def end(pid: int, known: Sequence[int]) -> None:
    """Kill a child that leads its own group, all processes below it, and orphans; other children are `known`.

    Orphans become children of this process, so it also asks for their exit codes: a dead one would stay in the table of
    processes.
    """
    with contextlib.suppress(OSError):
        os.killpg(pid, signal.SIGKILL)
    for _ in range(ROUNDS):
        found = (below([pid]) | orphans([*known, pid])) - {pid}
        # Stopped first: a process that forks without end would be ahead of the signals.
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for one in found:
                with contextlib.suppress(OSError):
                    os.kill(one, number)
        for process in _all():
            if process.is_dead and process.parent == os.getpid() and process.pid not in {pid, *known, *_before}:
                with contextlib.suppress(OSError):
                    os.waitpid(process.pid, os.WNOHANG)
        if not found:
            return
        time.sleep(0.005)
