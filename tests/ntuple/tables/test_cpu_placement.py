"""Placement of threads on cores and of table pages on sockets, as far as a machine with one socket can show it."""

import ctypes
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from ntuple import NTupleLearner
from ntuple.learning import threads
from ntuple.learning.config import NTupleConfig
from ntuple.tables import cpu_placement
from ntuple.tables.cpu_placement import (
    DEFAULT,
    _listed,
    _policy,
    available_cores,
    cores_by_node,
    interleave,
    own_nodes,
    pin,
)

BIND = 2  # MPOL_BIND

pytestmark = pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system places threads and pages")


def cores_of_threads(count: int) -> list[set[int]]:
    """Return the cores on which each of `count` threads may run after `pin`."""
    found: list[set[int]] = [set()] * count

    def run(i: int) -> None:
        pin(i, count)
        found[i] = os.sched_getaffinity(0)

    running = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    return found


def test_as_many_threads_as_cores_have_one_each():
    before = os.sched_getaffinity(0)
    found = cores_of_threads(available_cores())
    assert all(len(cores) == 1 for cores in found)
    assert set().union(*found) == before == os.sched_getaffinity(0)


def test_another_number_of_threads_goes_where_the_system_says():
    everywhere = os.sched_getaffinity(0)
    assert cores_of_threads(len(everywhere) + 1) == [everywhere] * (len(everywhere) + 1)


def test_pages_are_put_where_they_shall_be():
    """After the first write, /proc/self/numa_maps gives the memory policy of the pages."""
    array = np.zeros(1 << 22, np.float32)
    if not interleave(array, own_nodes() or [0]):
        pytest.skip(f"the system allows no memory policy: {os.strerror(ctypes.get_errno())}")
    array[:] = 1
    page = os.sysconf("SC_PAGESIZE")
    maps = [line.split() for line in Path("/proc/self/numa_maps").read_text().splitlines()]
    policies = {int(line[0], 16): line[1] for line in maps}
    begin = max(address for address in policies if address <= array.ctypes.data + page)
    assert policies[begin].startswith("interleave:")


def test_tables_are_spread_where_there_are_several_sockets(monkeypatch: pytest.MonkeyPatch):
    asked = []
    monkeypatch.setattr(cpu_placement, "interleave", lambda array, nodes: asked.append((array.size, nodes)) is None)
    for nodes, policy in (([0], DEFAULT), ([0, 2], DEFAULT), ([0, 2], BIND)):
        monkeypatch.setattr(cpu_placement, "own_nodes", lambda nodes=nodes: nodes)
        monkeypatch.setattr(cpu_placement, "_policy", lambda policy=policy: policy)
        assert not cpu_placement.zeros(5).any()
    assert asked == [(5, [0, 2])]
    monkeypatch.setattr(cpu_placement, "_policy", lambda: None)
    monkeypatch.setattr(cpu_placement, "interleave", lambda array, nodes: False)
    with pytest.warns(UserWarning, match="lets no process spread its memory"):
        cpu_placement.zeros(5)


def test_what_numactl_says_is_heard():
    """`_policy` returns the memory policy that the process has been given, for example by numactl."""
    if _policy() is None:
        pytest.skip("the system does not tell")
    assert _policy() == DEFAULT
    code = (
        "import ctypes, platform; from ntuple.tables.cpu_placement import _libc, _policy\n"
        "call = {'x86_64': 238, 'aarch64': 237}[platform.machine()]  # set_mempolicy\n"
        "failed = _libc().syscall(call, 2, ctypes.byref(ctypes.c_ulong(1)), ctypes.c_ulong(65))\n"
        "print(None if failed else _policy())"
    )
    said = subprocess.check_output([sys.executable, "-c", code], text=True, cwd=Path(__file__).parents[3])
    assert said.strip() in (str(BIND), "None")


def test_the_learner_pins_its_threads_and_spreads_its_tables(monkeypatch: pytest.MonkeyPatch):
    pinned, spread = [], []
    monkeypatch.setattr(threads, "pin", lambda thread, threads: pinned.append((thread, threads)))
    monkeypatch.setattr(cpu_placement, "zeros", lambda count: spread.append(count) or np.zeros(count, np.float32))
    config = NTupleConfig(rows=2, columns=2, network="01", threads=3, env_steps=400, report_env_steps=200)
    learner = NTupleLearner(config, seed=1)
    learner.advance()
    assert sorted(pinned) == [(0, 3), (1, 3), (2, 3)]
    weights = learner.network.weights.size
    assert spread == [weights, 0, 2 * weights]  # the weights, no memory, and then E and A of TC


def make_nodes(folder: Path, monkeypatch: pytest.MonkeyPatch, cores_of_nodes: dict[int, str]) -> None:
    """Let the files of a folder say which cores each memory node has."""
    for node, cores in cores_of_nodes.items():
        (folder / f"node{node}").mkdir()
        (folder / f"node{node}" / "cpulist").write_text(f"{cores}\n")
    monkeypatch.setattr(cpu_placement, "NODES", folder)


def test_the_nodes_of_this_process_are_those_of_its_cores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    core = min(os.sched_getaffinity(0))
    make_nodes(tmp_path, monkeypatch, {0: "1000-1003", 1: f"998,{core}", 11: f"{core}-{core + 2}", 12: ""})
    (tmp_path / "node_ids").mkdir()
    assert own_nodes() == [1, 11]


def test_cores_of_one_node_are_neighbours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    make_nodes(tmp_path, monkeypatch, {0: "0,2,4", 1: "1,3,5"})
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0, 1, 2, 3, 4})
    assert cores_by_node() == [0, 2, 4, 1, 3]


def test_lists_of_cores():
    assert _listed("0-2,5,8-9\n") == {0, 1, 2, 5, 8, 9}
    assert _listed("\n") == set()


@pytest.mark.parametrize("count", [5, 100_000, 1 << 22])
def test_tables_begin_a_cache_line(count: int):
    array = cpu_placement.zeros(count)
    assert array.size == count
    assert array.ctypes.data % 64 == 0
    assert array.flags.c_contiguous
    assert not array.any()
