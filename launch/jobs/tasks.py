"""A task: one command of `muzero2048` that is brought to its end, on this machine or on a cluster."""

from pathlib import Path
from typing import Protocol, runtime_checkable


@runtime_checkable
class PlannedTask(Protocol):
    """The training of a run (launch/jobs/plan.py), or games of an evaluation (launch/jobs/evaluations.py)."""

    @property
    def name(self) -> str:
        """Name, in lines for the user."""

    @property
    def folder(self) -> Path:
        """Folder of the run."""

    @property
    def arguments(self) -> list[str]:
        """Arguments of `muzero2048` that do the task; after a stop they go on from what was saved."""

    @property
    def output(self) -> Path:
        """File to which its processes print. No other task has it, so it identifies the task in SLURM's queue."""

    def prepare(self) -> None:
        """Make what its process needs."""

    def is_finished(self) -> bool:
        """Return whether nothing is left to do."""

    def is_running(self) -> bool:
        """Return whether a process does the task now, on any machine."""

    def pid(self) -> int | None:
        """Return the process on this machine that does the task now; None if there is none."""

    def exit_code(self) -> int | None:
        """Return how its last process ended; None if it was killed."""
