"""Start a program with limits: `python confine.py BYTES PROGRAM [ARGUMENT ...]`; it becomes the program.

The limits hold for all processes that the program starts. This file runs before each program, so it imports nothing
that takes time.

    BYTES     address space of each process; 0: no limit
    life      it ends with the tournament, also when that is killed (Linux)
    network   none, where the system lets a process give it up (Linux with user namespaces)
"""

import ctypes
import os
import resource
import signal
import sys

PR_SET_PDEATHSIG = 1
CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
NOT_FOUND = 127  # exit code of a shell for a program that is not there


def confine(most_bytes: int) -> None:
    """Limit this process and all that it starts."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if most_bytes:
        resource.setrlimit(resource.RLIMIT_AS, (most_bytes, most_bytes))
    library = ctypes.CDLL(None, use_errno=True)
    if hasattr(library, "prctl"):
        library.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    unshare = getattr(library, "unshare", None)
    if unshare is not None and unshare(CLONE_NEWNET):  # root may do so at once
        unshare(CLONE_NEWUSER | CLONE_NEWNET)


if __name__ == "__main__":
    confine(int(sys.argv[1]))
    try:
        os.execvp(sys.argv[2], sys.argv[2:])
    except OSError as error:
        print(f"{sys.argv[2]}: {error.strerror}", file=sys.stderr)
        sys.exit(NOT_FOUND)
