"""Train a set of runs on this machine: a number of them at once, each on its own cores and GPUs.

Each run is a process of its own in a session of its own, so it goes on when the launcher is killed. The next launcher
finds it by the lock of its folder, counts it among the runs at once, and waits for it.
"""

import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from launch.errors import UserError
from launch.jobs.cluster import ClusterConfig
from launch.jobs.plan import OUTPUT_FILE, PlannedRun
from launch.machine.memory import available_bytes
from launch.machine.signals import STOPPED, StopSignals
from launch.run.run_process import is_locked, read_process

POLL_SECONDS = 0.2  # between two looks at the running processes
SIGNAL_SECONDS = 10.0  # between two SIGTERMs to runs that are stopping: the first may come before its handler


class Slot(NamedTuple):
    """What one of the runs at once gets."""

    cores: tuple[int, ...]
    gpus: tuple[str, ...]  # as in CUDA_VISIBLE_DEVICES


@dataclass
class Job:
    """A run in training."""

    run: PlannedRun
    slot: Slot | None  # None: it was started elsewhere, and uses cores or GPUs of no slot alone
    process: "subprocess.Popen[bytes] | None"  # None: another launcher, or a user, started it

    def poll(self) -> int | None:
        """Return the exit code of the training; None while it trains. A killed process has a negative one."""
        if self.process is not None:
            return self.process.poll()
        if is_locked(self.run.folder):
            return None
        ended = read_process(self.run.folder)
        return -signal.SIGKILL if ended is None or ended.exit_code is None else ended.exit_code

    def stop(self) -> None:
        """Send SIGTERM to the training."""
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)
        elif (found := read_process(self.run.folder)) and found.host == socket.gethostname() and not found.ended:
            os.kill(found.pid, signal.SIGTERM)


@dataclass
class Outcome:
    """How the runs of one launcher ended, by name."""

    finished: list[str] = field(default_factory=list)
    stopped: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


def make_slots(cluster: ClusterConfig) -> list[Slot]:
    """Divide the cores and GPUs of this machine.

    Raises:
        UserError: it has too few of them.
    """
    cores, count = sorted(os.sched_getaffinity(0)), cluster.at_once
    each = cluster.cores or max(1, len(cores) // count)
    if cluster.cores and cluster.cores * count > len(cores):
        raise UserError(
            f"{count} runs at once with {cluster.cores} cores each need {cluster.cores * count} cores, and this"
            f" process has {len(cores)}; lower at_once or cores"
        )
    gpus = _gpus() if cluster.gpus else []
    if cluster.gpus * count > len(gpus):
        raise UserError(
            f"{count} runs at once with gpus: {cluster.gpus} need {cluster.gpus * count} GPUs, and {len(gpus)} are"
            " there; lower at_once or gpus"
        )
    return [
        Slot(
            tuple(cores[(i * each + k) % len(cores)] for k in range(each)),
            tuple(gpus[i * cluster.gpus : (i + 1) * cluster.gpus]),
        )
        for i in range(count)
    ]


def memory_of_a_run(cluster: ClusterConfig) -> float:
    """Return the bytes of the machine's memory that each of the runs at once gets."""
    return cluster.memory_gb * 1e9 or available_bytes() / cluster.at_once


def train_all(runs: Sequence[PlannedRun], cluster: ClusterConfig) -> Outcome:
    """Train runs to their end, `cluster.at_once` at a time.

    A run that crashes is started again from its last save, `cluster.restarts` times. A run that ends with a mistake of
    the user (exit code 2) has failed at once. A run that was stopped by `muzero2048 stop` stays stopped. After SIGINT
    or SIGTERM all runs save and stop.

    Args:
        runs: are prepared and not finished; some may be in training already.
        cluster: what each run gets.

    Returns:
        How the runs ended.
    """
    with StopSignals(action="stopping the runs after they saved", lost="the runs go on") as stop:
        return _Launcher(cluster, stop).train(runs)


class _Launcher:
    def __init__(self, cluster: ClusterConfig, stop: StopSignals) -> None:
        self._cluster, self._stop = cluster, stop
        self._free = make_slots(cluster)
        self._jobs: list[Job] = []
        self._crashes: dict[str, int] = {}
        self._outcome = Outcome()

    def train(self, runs: Sequence[PlannedRun]) -> Outcome:
        """See `train_all`."""
        waiting = deque(runs)
        for run in runs:
            if is_locked(run.folder):
                waiting.remove(run)
                self._adopt(run)
        signalled = -SIGNAL_SECONDS
        while self._jobs or (waiting and not self._stop.requested):
            if self._stop.requested:
                if time.monotonic() - signalled > SIGNAL_SECONDS:
                    signalled = time.monotonic()
                    for job in self._jobs:
                        job.stop()
            else:
                self._start(waiting)
            time.sleep(POLL_SECONDS)
            for job in list(self._jobs):
                if (code := job.poll()) is not None:
                    self._end(job, code, waiting)
        self._outcome.stopped += [run.name for run in waiting]
        return self._outcome

    def _start(self, waiting: deque[PlannedRun]) -> None:
        while waiting and self._free and len(self._jobs) < self._cluster.at_once:
            run, slot = waiting.popleft(), self._free.pop(0)
            self._jobs.append(Job(run, slot, _start_process(run, slot, self._cluster)))
            where = ", ".join([f"cores {','.join(map(str, slot.cores))}", *(f"GPU {gpu}" for gpu in slot.gpus)])
            _say(f"{run.name}: started, {where}")

    def _adopt(self, run: PlannedRun) -> None:
        """Count a run that is in training already, on the slot whose cores and GPUs it has."""
        found = read_process(run.folder)
        slot = None
        if found and found.host == socket.gethostname():
            cores, gpus = _affinity(found.pid), tuple(found.gpus.split(",")) if found.gpus else ()
            slot = next((one for one in self._free if cores == one.cores and gpus[: len(one.gpus)] == one.gpus), None)
        if slot:
            self._free.remove(slot)
        self._jobs.append(Job(run, slot, None))
        _say(f"{run.name}: is in training already")

    def _end(self, job: Job, code: int, waiting: deque[PlannedRun]) -> None:
        """Note how a run ended, or let it wait for its next start."""
        self._jobs.remove(job)
        if job.slot:
            self._free.append(job.slot)
        name, last = job.run.name, read_process(job.run.folder)
        if code == UserError.exit_code and is_locked(job.run.folder):  # another launcher was faster
            self._adopt(job.run)
        elif code == 0 or (code == UserError.exit_code and last and last.exit_code == 0):
            self._outcome.finished.append(name)
            _say(f"{name}: finished")
        elif code == STOPPED or self._stop.requested:
            self._outcome.stopped.append(name)
            _say(f"{name}: stopped")
        elif code != UserError.exit_code and self._crashes.get(name, 0) < self._cluster.restarts:
            self._crashes[name] = self._crashes.get(name, 0) + 1
            waiting.appendleft(job.run)
            _say(f"{name}: {_how(code)}; restart {self._crashes[name]} of {self._cluster.restarts}")
        else:
            self._outcome.failed.append(name)
            _say(f"{name}: failed, {_how(code)}: {_last_line(job.run.folder / OUTPUT_FILE)}")


def _start_process(run: PlannedRun, slot: Slot, cluster: ClusterConfig) -> "subprocess.Popen[bytes]":
    """Start the training of a run on its cores and GPUs; its output goes to its folder."""
    own = os.sched_getaffinity(0)
    os.sched_setaffinity(0, slot.cores)  # of this thread; the new process inherits it
    try:
        with (run.folder / OUTPUT_FILE).open("ab") as output:
            return subprocess.Popen(
                [*_command(cluster), *run.words],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=os.environ | cluster.variables | _visible(slot),
                start_new_session=True,
            )
    finally:
        os.sched_setaffinity(0, own)


def _command(cluster: ClusterConfig) -> list[str]:
    return [*shlex.split(cluster.prefix), "muzero2048"] if cluster.prefix else [sys.executable, "-m", "launch"]


def _gpus() -> list[str]:
    """Return the GPUs that this process may use, as CUDA_VISIBLE_DEVICES names them."""
    if visible := os.environ.get("CUDA_VISIBLE_DEVICES"):
        return visible.split(",")
    try:
        listed = subprocess.run(
            ["nvidia-smi", "--query-gpu=index", "--format=csv,noheader"], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return []
    return listed.stdout.split()


def _visible(slot: Slot) -> dict[str, str]:
    return {"CUDA_VISIBLE_DEVICES": ",".join(slot.gpus)} if slot.gpus else {}


def _affinity(pid: int) -> tuple[int, ...]:
    try:
        return tuple(sorted(os.sched_getaffinity(pid)))
    except OSError:
        return ()


def _how(code: int) -> str:
    return f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


def _last_line(file: Path) -> str:
    """Return the last line of an output that is not blank."""
    lines = [line for line in file.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    return lines[-1].strip() if lines else "no output"


def _say(line: str) -> None:
    print(line, flush=True)
