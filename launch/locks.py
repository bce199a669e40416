"""Locks on files (flock), which end with the process that holds them. On NFS they hold between machines."""

import contextlib
import fcntl
import os
import time
from pathlib import Path
from typing import IO

TAKE_SECONDS = 1.0  # to wait for a lock: `is_locked` in another process takes it for an instant


def take_lock(file: IO[str] | IO[bytes]) -> None:
    """Lock an open file until it is closed.

    Raises:
        BlockingIOError: another process holds the lock.
        OSError: the file system has no locks.
    """
    until = time.monotonic() + TAKE_SECONDS
    while True:
        try:
            return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                raise
        time.sleep(0.05)


def is_locked(path: Path) -> bool:
    """Return whether a process locks a file; False if there is no such file, or the file system has no locks."""
    try:
        with path.open("r") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def lock_owner(path: Path) -> int | None:
    """Return the process of this machine that locks a file, from /proc/locks; None if there is none.

    A line there has a number, FLOCK or POSIX, the kind, READ or WRITE, the process, and the file as major:minor:inode.
    Some file systems show another device there, so the open files of the process decide.
    """
    try:
        file = path.stat()
        lines = Path("/proc/locks").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    for fields in map(str.split, lines):
        if fields[3:4] == ["WRITE"] and fields[5].endswith(f":{file.st_ino}") and _has_open(fields[4], file):
            return int(fields[4])
    return None


def _has_open(pid: str, file: os.stat_result) -> bool:
    for opened in Path(f"/proc/{pid}/fd").glob("*"):
        with contextlib.suppress(OSError):  # closed meanwhile
            if os.path.samestat(opened.stat(), file):
                return True
    return False
