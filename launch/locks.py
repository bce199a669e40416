"""Locks on files (flock), which end with the process that holds them. On NFS they hold between machines."""

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

    A line there has a number, FLOCK or POSIX, the kind, READ or WRITE, the process, and the file as major:minor:inode,
    two hexadecimal numbers and a decimal one.
    """
    try:
        status = path.stat()
        lines = Path("/proc/locks").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    place = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    owners = [words[4] for words in map(str.split, lines) if len(words) > 5 and words[5] == place]
    return next((int(owner) for owner in owners if owner.isdecimal() and owner != "0"), None)
