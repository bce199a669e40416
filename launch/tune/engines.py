"""What trains the trials of a search: processes of this machine, or SLURM."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from launch.errors import UserError, warn
from launch.jobs import slurm
from launch.jobs.cluster import SLURM, ClusterConfig
from launch.jobs.local import POLL_SECONDS, Launcher, open_launcher
from launch.jobs.plan import PlannedRun
from launch.jobs.tasks import PlannedTask
from launch.signals import StopSignals
from launch.train.run_process import read_process

Outcome = Literal["finished", "stopped", "failed"]

QUEUE_SECONDS = 10.0  # between two looks at SLURM's queue


@runtime_checkable
class Engine(Protocol):
    """Trains runs, some at once."""

    def start(self, run: PlannedRun) -> None:
        """Begin a run, or go on with it; one that is in training already is followed."""

    def cancel(self, run: PlannedRun) -> None:
        """Stop a run after it saved. `outcome` says when it has stopped."""

    def look(self) -> None:
        """Wait a moment, and see what has ended."""

    def outcome(self, run: PlannedRun) -> Outcome | None:
        """Return how a run that was started has ended, once; None if it goes on."""

    def is_wanted(self, run: PlannedRun) -> bool:
        """Return False if the user has stopped a run that has not ended yet."""

    @property
    def is_interrupted(self) -> bool:
        """Whether a signal has asked this process to stop; its runs go on (SLURM), or stop after they saved (here)."""


@contextmanager
def open_engine(cluster: ClusterConfig, group: str, runs_folder: Path) -> Iterator[Engine]:
    """Make the engine of a cluster, which handles signals within the `with` block."""
    if cluster.engine == SLURM:
        with StopSignals(action="stopping; the jobs go on", lost="the jobs go on") as stop:
            yield SlurmEngine(cluster, group, stop)
    else:
        with open_launcher(cluster, runs_folder) as launcher:
            yield LocalEngine(launcher)
            while launcher.is_busy:  # a signal stops the runs
                launcher.step()
            launcher.end()


class LocalEngine:
    """An `Engine`: processes of this machine."""

    def __init__(self, launcher: Launcher) -> None:
        self._launcher = launcher

    def start(self, run: PlannedRun) -> None:
        """See `Engine`."""
        if not run.is_running():
            run.prepare()
        self._launcher.add(run)

    def cancel(self, run: PlannedRun) -> None:
        """See `Engine`."""
        self._launcher.drop(run)

    def look(self) -> None:
        """See `Engine`."""
        self._launcher.step()

    def outcome(self, run: PlannedRun) -> Outcome | None:
        """See `Engine`."""
        ended = self._launcher.outcomes
        outcomes: tuple[tuple[Outcome, list[PlannedTask]], ...] = (
            ("finished", ended.finished), ("stopped", ended.stopped), ("failed", ended.failed)
        )  # fmt: skip
        for outcome, tasks in outcomes:
            if run in tasks:
                tasks.remove(run)
                return outcome
        return None

    def is_wanted(self, run: PlannedRun) -> bool:
        """See `Engine`."""
        return self._launcher.has(run)

    @property
    def is_interrupted(self) -> bool:
        """See `Engine`."""
        return self._launcher.is_stopping


class SlurmEngine:
    """An `Engine`: each run is a job. The runs go on when this process ends."""

    def __init__(self, cluster: ClusterConfig, group: str, stop: StopSignals) -> None:
        self._cluster, self._group, self._stop = cluster, group, stop
        self._queue = slurm.read_queue(is_needed=True)
        self._to_cancel: dict[str, PlannedRun] = {}  # by name

    def start(self, run: PlannedRun) -> None:
        """See `Engine`."""
        output = run.output.resolve()
        if output not in self._queue and not run.is_running() and not run.is_finished():
            job = slurm.submit_tasks([run], self._cluster, self._group, run.folder.parent, dry_run=False)
            self._queue[output] = slurm.QueuedTask(job, "PENDING", "")

    def cancel(self, run: PlannedRun) -> None:
        """See `Engine`."""
        self._to_cancel[run.name] = run

    def look(self) -> None:
        """See `Engine`."""
        until = time.monotonic() + QUEUE_SECONDS
        while time.monotonic() < until and not self._stop.requested:
            time.sleep(POLL_SECONDS)
        try:
            self._queue = slurm.read_queue(is_needed=True)
        except UserError as error:  # the scheduler is busy: what it held last is followed until it answers
            warn(f"the queue of SLURM is not known: {error}")
            return
        for name, run in list(self._to_cancel.items()):
            try:
                if queued := self._queue.get(run.output.resolve()):
                    slurm.cancel(queued)
                del self._to_cancel[name]
            except UserError as error:  # it has just ended, or the scheduler is busy: the next look shows which
                warn(f"{name} is not cancelled yet: {error}")

    def outcome(self, run: PlannedRun) -> Outcome | None:
        """See `Engine`."""
        if run.is_finished():
            return "finished"
        if run.output.resolve() in self._queue or run.is_running():
            return None
        process = read_process(run.folder)
        if process is None or process.is_stopped:
            return "stopped"
        return "finished" if process.exit_code == 0 else "failed"  # 0: its last files are not visible here yet

    def is_wanted(self, run: PlannedRun) -> bool:
        """See `Engine`. SLURM does not say whether it has signalled a job."""
        return True

    @property
    def is_interrupted(self) -> bool:
        """See `Engine`."""
        return self._stop.requested
