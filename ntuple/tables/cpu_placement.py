"""Placement on cores and sockets: one core for each thread, and the pages of the tables on all sockets in turn.

One process with threads uses all sockets. A second process with shared tables would gain nothing. Two things cost speed
on several sockets, and this module prevents both on Linux:

- a thread that moves to another socket, away from the memory of its games;
- tables in the memory of one socket, which then serves the loads of all threads.

On other systems the operating system decides.
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
LINE_BYTES = 64  # of a cache line
LINE = LINE_BYTES // 4  # weights of a cache line


def available_cores() -> int:
    """Return the number of cores that this process may use (a batch job often has fewer than the machine has)."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def pin(thread: int, threads: int) -> None:
    """Bind the calling thread to a core of its own, if the number of threads equals the number of available cores.

    With fewer threads the operating system places them. Otherwise two processes would put their first threads on the
    same core.
    """
    if not hasattr(os, "sched_setaffinity"):
        return
    cores = sorted(os.sched_getaffinity(0))
    if threads == len(cores):
        with contextlib.suppress(OSError):  # the available cores may change at any time
            os.sched_setaffinity(0, {cores[thread]})


def zeros(count: int) -> NDArray[np.float32]:
    """Return float32[count] of zeros whose pages are allocated at the first write, on the sockets in turn.

    The first one begins a cache line. numpy alone would put it 16 bytes later, and each 16 weights that the layout of
    the tables keeps together (ntuple.tables.layout) would be in two lines.
    """
    weights = np.zeros(count + LINE, np.float32)  # numpy requests huge pages
    start = -weights.ctypes.data % LINE_BYTES // 4
    weights = weights[start : start + count]
    nodes = own_nodes()
    if len(nodes) > 1 and _policy() in (DEFAULT, None) and not interleave(weights, nodes):
        warnings.warn(
            "the system lets no process spread its memory over the sockets: the tables lie on one", stacklevel=2
        )
    return weights


def own_nodes() -> list[int]:
    """Return the memory nodes (usually sockets) of the available cores; empty if the system does not report them."""
    if not hasattr(os, "sched_getaffinity"):
        return []
    cores = os.sched_getaffinity(0)
    return sorted(node for node, its_cores in _cores_of_nodes().items() if its_cores & cores)


def cores_by_node() -> list[int]:
    """Return the available cores, those of one memory node (usually a socket) after those of the other."""
    node_of = {core: node for node, cores in _cores_of_nodes().items() for core in cores}
    return sorted(os.sched_getaffinity(0), key=lambda core: (node_of.get(core, 0), core))


def _cores_of_nodes() -> dict[int, set[int]]:
    return {int(node.name[4:]): _listed((node / "cpulist").read_text()) for node in NODES.glob("node[0-9]*")}


def interleave(array: NDArray[np.float32], nodes: list[int]) -> bool:
    """Ask the system to allocate the pages of an array on the nodes in turn.

    It applies to pages without a write so far. The first and the last page are left out, since other memory may use
    them too.

    Returns:
        False if the system does not allow it.
    """
    size = os.sysconf("SC_PAGESIZE")
    begin, end = -(-array.ctypes.data // size) * size, (array.ctypes.data + array.nbytes) // size * size
    mask = (ctypes.c_ulong * (max(nodes) // 64 + 1))()
    for node in nodes:
        mask[node // 64] |= 1 << node % 64
    bits = ctypes.c_ulong(64 * len(mask) + 1)  # the Linux kernel subtracts one
    where = ctypes.c_void_p(begin), ctypes.c_ulong(max(end - begin, 0))
    return MBIND > 0 and _libc().syscall(MBIND, *where, INTERLEAVE, mask, bits, 0) == 0


def _policy() -> int | None:
    """Return the memory policy of this process, which numactl may have set; None if the system does not report it."""
    mode = ctypes.c_int(DEFAULT)
    failed = MBIND == 0 or _libc().syscall(GET_MEMPOLICY, ctypes.byref(mode), None, 0, None, 0)
    return None if failed else mode.value


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _listed(text: str) -> set[int]:
    """Return the numbers of a list such as 0-3,8-11."""
    ends = [part.partition("-") for part in text.strip().split(",") if part]
    return {number for first, _, last in ends for number in range(int(first), int(last or first) + 1)}
