"""Start a program with limits: `python confine.py BYTES PROCESSES CORES PROGRAM [ARGUMENT ...]`.

The limits hold for all processes that the program starts. This file runs before each program, so it imports nothing
that takes time.

    BYTES       address space of each process; 0: no limit
    PROCESSES   how many more processes and threads the user may have; without effect for root
    CORES       that it may use, where the system can bind a process to cores (Linux); 0: all
    life        on Linux it ends with this process, and this process with the one that started it
    namespaces  where the system lets a process have them (Linux), the program has no network, and its processes are in
                a namespace of their own, so that all of them end with the first one, however they were started; where
                the system lets it, they see no other process in /proc
    tasks       in a namespace its processes and threads are at most MOST_TASKS, or somewhat more on machines with more
                than 128 cores, also for root: a program that doubles its processes could stop the whole machine before
                it is ended. Only from Linux 6.14 on does a namespace have such a limit of its own.
"""

import ctypes
import os
import re
import resource
import signal
import sys

PR_SET_PDEATHSIG = 1
NEWNS, NEWUSER, NEWPID, NEWNET = 0x00020000, 0x10000000, 0x20000000, 0x40000000  # flags of unshare(2)
NOSUID, NODEV, NOEXEC, RECURSIVE, PRIVATE = 2, 4, 8, 0x4000, 0x40000  # flags of mount(2)
MOST_TASKS = 1024
PID_MAX_RELEASE = (6, 14)  # first Linux whose pid_max is that of a namespace; before, it is that of the machine
NOT_FOUND = 127  # exit code of a shell for a program that is not there
SIGNALLED = 128  # a shell's exit code for a program that was ended by a signal, less the signal's number

LIBRARY = ctypes.CDLL(None, use_errno=True)


def limit(most_bytes: int, more_processes: int, cores: int) -> None:
    """Limit this process and all that it starts."""
    if cores and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-cores:])
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if most_bytes:
        resource.setrlimit(resource.RLIMIT_AS, (most_bytes, most_bytes))
    if os.getuid() and os.path.isdir("/proc"):
        own = sum(_tasks(name) for name in os.listdir("/proc") if name.isdigit() and _owner(name) == os.getuid())
        resource.setrlimit(resource.RLIMIT_NPROC, (own + more_processes,) * 2)


def _owner(pid: str) -> int:
    try:
        return os.stat(f"/proc/{pid}").st_uid
    except OSError:
        return -1


def _tasks(pid: str) -> int:
    try:
        return len(os.listdir(f"/proc/{pid}/task"))
    except OSError:
        return 0


def unshare() -> bool:
    """Give up network and the view of other processes; return whether the next child begins a namespace of its own."""
    call, flags = getattr(LIBRARY, "unshare", None), NEWPID | NEWNET | NEWNS
    return call is not None and 0 in map(call, (flags, NEWUSER | flags))


def release_of(text: str) -> tuple[int, ...]:
    """Return the first two numbers of a release of Linux, such as (6, 8) of "6.8.0-45-generic"."""
    return tuple(int(digits.group()) for part in text.split(".")[:2] if (digits := re.match("[0-9]+", part)))


def limit_tasks() -> None:
    """Limit the processes and threads of this namespace, where it has a limit of its own."""
    if release_of(os.uname().release) < PID_MAX_RELEASE:
        return
    for most in (MOST_TASKS << i for i in range(6)):  # the system refuses less than 8 for each core
        try:
            with open("/proc/sys/kernel/pid_max", "w") as file:
                file.write(str(most))
            return
        except OSError:
            continue  # too few, or /proc/sys cannot be written here


def hide_processes() -> None:
    """Mount /proc anew in a namespace of processes and mounts: command lines of others may hold secrets, as a seed."""
    if LIBRARY.mount(b"none", b"/", None, RECURSIVE | PRIVATE, None) == 0:  # else the mount would not be ours alone
        LIBRARY.mount(b"proc", b"/proc", b"proc", NOSUID | NODEV | NOEXEC, None)


def die_with_parent() -> None:
    """Ask for SIGKILL when the parent ends."""
    if hasattr(LIBRARY, "prctl"):
        LIBRARY.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def main(most_bytes: int, more_processes: int, cores: int, command: list[str]) -> int:
    """Become the program, or its parent in another namespace; return its exit code."""
    die_with_parent()
    limit(most_bytes, more_processes, cores)
    if unshare():
        child = os.fork()
        if child:
            os.close(0)
            os.close(1)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            return code if code >= 0 else SIGNALLED - code
        die_with_parent()
        hide_processes()
        limit_tasks()
    try:
        os.execvp(command[0], command)
    except OSError as error:
        print(f"{command[0]}: {error.strerror}", file=sys.stderr)
        return NOT_FOUND


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]))
