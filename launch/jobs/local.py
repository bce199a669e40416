"""Bring tasks to their end on this machine: a number of them at once, each on its own cores and GPUs.

Each task is a process of its own in a session of its own, so it goes on when the launcher is killed. The next launcher
finds it by its lock, counts it among the tasks at once, and waits for it.
"""

import contextlib
import math
import os
import shlex
import signal
import subprocess
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from launch.errors import UserError
from launch.experiment.machine_info import own_program
from launch.jobs.cluster import ClusterConfig
from launch.jobs.queue import LocalQueue, local_queue
from launch.jobs.tasks import PlannedTask
from launch.signals import STOPPED, StopSignals
from ntuple.tables.cpu_placement import cores_by_node

FAILED = 1  # exit code if a task has failed
GPUS = "CUDA_VISIBLE_DEVICES"
POLL_SECONDS = 0.2  # between two looks at the running processes
SIGNAL_SECONDS = 10.0  # between two SIGTERMs to tasks that are stopping: the first may come before its handler


class Slot(NamedTuple):
    """What one of the tasks at once gets."""

    cores: tuple[int, ...]
    gpus: tuple[str, ...]  # as in the variable GPUS


@dataclass
class Job:
    """A task that is being done."""

    task: PlannedTask
    slot: Slot | None  # None: it was started elsewhere, and uses cores or GPUs of no slot alone
    process: "subprocess.Popen[bytes] | None"  # None: another launcher, or a user, started it
    signalled: float = -math.inf  # when SIGTERM was sent last

    def poll(self) -> int | None:
        """Return the exit code of the process; None before its end. A killed process has a negative one."""
        if self.process is not None:
            return self.process.poll()
        if self.task.is_running():
            return None
        code = self.task.exit_code()
        return -signal.SIGKILL if code is None else code

    def stop(self) -> None:
        """Send SIGTERM to the process, after SIGNAL_SECONDS again."""
        if time.monotonic() - self.signalled < SIGNAL_SECONDS:
            return
        self.signalled = time.monotonic()
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)
        elif pid := self.task.pid():
            with contextlib.suppress(ProcessLookupError):  # it has just ended
                os.kill(pid, signal.SIGTERM)


@dataclass
class TaskOutcomes:
    """How the tasks of one launcher ended."""

    finished: list[PlannedTask] = field(default_factory=list)
    stopped: list[PlannedTask] = field(default_factory=list)
    failed: list[PlannedTask] = field(default_factory=list)
    is_interrupted: bool = False  # whether a signal to the launcher stopped them

    @property
    def exit_code(self) -> int:
        """0 all finished, 1 one failed, 75 stopped."""
        return FAILED if self.failed else STOPPED if self.stopped or self.is_interrupted else 0


def make_slots(cluster: ClusterConfig) -> list[Slot]:
    """Divide the cores and GPUs of this machine; UserError if it has too few of them."""
    cores, count = cores_by_node(), cluster.at_once  # a slot has neighbours, whose memory is near
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


def do_all(tasks: Sequence[PlannedTask], cluster: ClusterConfig) -> TaskOutcomes:
    """Bring tasks to their end, `cluster.at_once` at a time.

    A task that crashes is started again, and goes on from its last save, `cluster.restarts` times. A task that ends
    with a mistake of the user (exit code 2) has failed at once. If a task is stopped, the waiting tasks of the same run
    are stopped too. `muzero2048 stop` takes tasks out of the queue (launch/jobs/queue.py). After SIGINT or SIGTERM all
    tasks save and stop.
    """
    if not tasks:
        return TaskOutcomes()
    for task in tasks:
        if not task.is_running():
            task.prepare()
    with open_launcher(cluster, tasks[0].folder.parent) as launcher:
        for task in tasks:
            launcher.add(task)
        while launcher.is_busy:
            launcher.step()
        return launcher.end()


@contextmanager
def open_launcher(cluster: ClusterConfig, runs_folder: Path) -> "Iterator[Launcher]":
    """Make a launcher with a queue of its own, which handles signals within the `with` block."""
    with (
        StopSignals(action="stopping all after they saved", lost="they go on") as stop,
        local_queue(runs_folder) as queue,
    ):
        yield Launcher(cluster, stop, queue)


class Launcher:
    """Tasks that wait, and those that are being done: see `do_all`. More can be added at any time."""

    def __init__(self, cluster: ClusterConfig, stop: StopSignals, queue: LocalQueue) -> None:
        self.outcomes = TaskOutcomes()
        self._cluster, self._stop, self._queue = cluster, stop, queue
        self._free = make_slots(cluster)
        self._waiting: deque[PlannedTask] = deque()
        self._jobs: list[Job] = []
        self._crashes: dict[Path, int] = {}  # by the output of the task

    @property
    def is_busy(self) -> bool:
        """Whether a task is being done, or is to be started."""
        return bool(self._jobs or (self._waiting and not self._stop.requested))

    @property
    def is_stopping(self) -> bool:
        """Whether a signal has asked for a stop."""
        return self._stop.requested

    def add(self, task: PlannedTask) -> None:
        """Put a prepared task into the queue, or count it among the tasks at once if it is running already."""
        self._queue.add(task)
        if task.is_running():
            self._adopt(task)
        else:
            self._waiting.append(task)

    def has(self, task: PlannedTask) -> bool:
        """Return whether a task is in the queue: it has not ended, and nobody has taken it out."""
        return self._queue.has(task)

    def drop(self, task: PlannedTask) -> None:
        """Take a task out of the queue: it is not started, or stops after it saved."""
        self._queue.remove(task)

    def step(self) -> None:
        """Start and stop what is to be started and stopped, wait POLL_SECONDS, and see what has ended."""
        if not self._stop.requested:
            self._drop_unwanted()
            self._start()
        for job in self._jobs:
            if self._stop.requested or not self._queue.has(job.task):
                job.stop()
        time.sleep(POLL_SECONDS)
        for job in list(self._jobs):
            if (code := job.poll()) is not None:
                self._end(job, code)

    def end(self) -> TaskOutcomes:
        """Count what waits as stopped; return how all tasks ended."""
        for task in self._waiting:
            self._stopped(task)
        self.outcomes.is_interrupted = self._stop.requested
        return self.outcomes

    def _drop_unwanted(self) -> None:
        """Drop the waiting tasks that were taken out of the queue."""
        for task in [task for task in self._waiting if not self._queue.has(task)]:
            self._waiting.remove(task)
            self._stopped(task)
            _say(f"{task.name}: taken out of the queue")

    def _stopped(self, task: PlannedTask) -> None:
        self._queue.remove(task)
        self.outcomes.stopped.append(task)

    def _start(self) -> None:
        while self._waiting and self._free and len(self._jobs) < self._cluster.at_once:
            task, slot = self._waiting.popleft(), self._free.pop(0)
            self._jobs.append(Job(task, slot, _start_process(task, slot, self._cluster)))
            where = ", ".join([f"cores {','.join(map(str, slot.cores))}", *(f"GPU {gpu}" for gpu in slot.gpus)])
            _say(f"{task.name}: started, {where}")

    def _adopt(self, task: PlannedTask) -> None:
        """Count a task that is running already, on the slot whose cores and GPUs it has."""
        pid = task.pid()
        cores, gpus = _places(pid) if pid else (set(), ())
        slot = next(
            (slot for slot in self._free if cores == set(slot.cores) and gpus[: len(slot.gpus)] == slot.gpus), None
        )
        if slot:
            self._free.remove(slot)
        self._jobs.append(Job(task, slot, None))
        _say(f"{task.name}: is running already")

    def _end(self, job: Job, code: int) -> None:
        """Note how a task ended, or let it wait for its next start."""
        self._jobs.remove(job)
        if job.slot:
            self._free.append(job.slot)
        name, key, is_mistake = job.task.name, job.task.output, code == UserError.exit_code
        if is_mistake and job.task.is_running():  # another launcher was faster
            self._adopt(job.task)
        elif code == 0 or (is_mistake and job.task.exit_code() == 0):
            self._queue.remove(job.task)
            self.outcomes.finished.append(job.task)
            _say(f"{name}: finished")
        elif code == STOPPED or self._stop.requested or not self._queue.has(job.task):
            self._stopped(job.task)
            _say(f"{name}: stopped")
            for task in [task for task in self._waiting if task.folder == job.task.folder]:
                self._waiting.remove(task)
                self._stopped(task)
        elif not is_mistake and self._crashes.get(key, 0) < self._cluster.restarts:
            self._crashes[key] = self._crashes.get(key, 0) + 1
            self._waiting.appendleft(job.task)
            _say(f"{name}: {_how(code)}; restart {self._crashes[key]} of {self._cluster.restarts}")
        else:
            self._queue.remove(job.task)
            self.outcomes.failed.append(job.task)
            _say(f"{name}: failed, {_how(code)}: {_last_line(job.task.output)}")


def _start_process(task: PlannedTask, slot: Slot, cluster: ClusterConfig) -> "subprocess.Popen[bytes]":
    """Start a task on its cores and GPUs."""
    own = os.sched_getaffinity(0)
    program = (*shlex.split(cluster.prefix), "muzero2048") if cluster.prefix else own_program()
    visible = {GPUS: ",".join(slot.gpus)} if slot.gpus else {}
    os.sched_setaffinity(0, slot.cores)  # of this thread; the new process inherits it
    try:
        with task.output.open("ab") as output:
            return subprocess.Popen(
                [*program, *task.arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=os.environ | cluster.variables | visible,
                start_new_session=True,
            )
    finally:
        os.sched_setaffinity(0, own)


def _gpus() -> list[str]:
    """Return the GPUs that this process may use, as the variable GPUS names them."""
    if visible := os.environ.get(GPUS):
        return visible.split(",")
    try:
        listed = subprocess.run(
            ["nvidia-smi", "--query-gpu=index", "--format=csv,noheader"], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return []
    return listed.stdout.split()


def _places(pid: int) -> tuple[set[int], tuple[str, ...]]:
    """Return the cores and GPUs that a process may use; none if it has ended."""
    try:
        cores = os.sched_getaffinity(pid)
        variables = Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return set(), ()
    visible = next((word.partition("=")[2] for word in variables if word.startswith(f"{GPUS}=")), "")
    return cores, tuple(visible.split(",")) if visible else ()


def _how(code: int) -> str:
    return f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


def _last_line(file: Path) -> str:
    """Return the last line of an output that is not blank; a run that was started by hand has none."""
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip() if lines else "no output"


def _say(line: str) -> None:
    print(line, flush=True)
