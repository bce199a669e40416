"""Where threads run and tables lie: a core for each thread, and the pages of the tables on all sockets in turn.

One process uses all sockets: its threads share the tables through whatever memory they are in, as processes with shared
memory would. What costs on several sockets is a thread that moves away from its games, and tables that lie on one
socket, whose memory then serves all. Elsewhere than on Linux both are left to the system.
"""

import contextlib
import ctypes
import os
import platform
import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

NODES = Path("/sys/devices/system/node")
MBIND, GET_MEMPOLICY = {"x86_64": (237, 239), "aarch64": (235, 236)}.get(platform.machine(), (0, 0))  # system calls
DEFAULT, INTERLEAVE = 0, 3  # MPOL_DEFAULT, MPOL_INTERLEAVE


def available_cores() -> int:
    """The cores that this process may use, where the system tells: a batch job has a few of many."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def pin(thread: int, threads: int) -> None:
    """Keep the calling thread on a core of its own, if there are as many threads as cores for this process.

    Where they are fewer the system places them: two processes would else put their first threads on one core.

    Args:
        thread: number of this thread, from 0.
        threads: that run together.
    """
    if not hasattr(os, "sched_setaffinity"):
        return
    cores = sorted(os.sched_getaffinity(0))
    if threads == len(cores):
        with contextlib.suppress(OSError):  # the cores of a job may change at any time
            os.sched_setaffinity(0, {cores[thread]})


def zeros(count: int) -> NDArray[np.float32]:
    """Zeros, untouched: their pages come into being with the first write, on the sockets in turn."""
    weights = np.zeros(count, np.float32)  # asks for huge pages
    nodes = own_nodes()
    if len(nodes) > 1 and _policy() in (DEFAULT, None) and not interleave(weights, nodes):
        warnings.warn(
            "the system lets no process spread its memory over the sockets: the tables lie on one", stacklevel=2
        )
    return weights


def own_nodes() -> list[int]:
    """The memory nodes, mostly sockets, of the cores that this process may use; none where the system does not tell."""
    if not hasattr(os, "sched_getaffinity") or not NODES.is_dir():
        return []
    cores = os.sched_getaffinity(0)
    nodes = {int(node.name[4:]): _listed((node / "cpulist").read_text()) for node in NODES.glob("node[0-9]*")}
    return sorted(node for node, its_cores in nodes.items() if its_cores & cores)


def interleave(array: NDArray[np.float32], nodes: list[int]) -> bool:
    """Let pages that are not there yet lie on the nodes in turn; False if the system does not allow it.

    The first and the last page, which other memory may share, are left out.
    """
    size = os.sysconf("SC_PAGESIZE")
    begin, end = -(-array.ctypes.data // size) * size, (array.ctypes.data + array.nbytes) // size * size
    mask = (ctypes.c_ulong * (max(nodes) // 64 + 1))()
    for node in nodes:
        mask[node // 64] |= 1 << node % 64
    bits = ctypes.c_ulong(64 * len(mask) + 1)  # the kernel takes one off
    where = ctypes.c_void_p(begin), ctypes.c_ulong(max(end - begin, 0))
    return MBIND > 0 and _libc().syscall(MBIND, *where, INTERLEAVE, mask, bits, 0) == 0


def _policy() -> int | None:
    """Where the memory of this process shall lie, as numactl may have said; None if the system does not tell."""
    mode = ctypes.c_int(DEFAULT)
    failed = MBIND == 0 or _libc().syscall(GET_MEMPOLICY, ctypes.byref(mode), None, 0, None, 0)
    return None if failed else mode.value


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _listed(text: str) -> set[int]:
    """The numbers of a list such as 0-3,8-11."""
    ends = [part.partition("-") for part in text.strip().split(",") if part]
    return {number for first, _, last in ends for number in range(int(first), int(last or first) + 1)}
