"""The outputs of a training while it runs: rows in metrics.jsonl and wandb, and progress on the screen."""

from contextlib import AbstractContextManager, nullcontext

from launch.experiment.experiment import Experiment
from launch.train.metrics import Row
from launch.train.progress import ProgressDisplay
from launch.train.tracking import MetricsFile
from launch.train.wandb_sink import WandbSink


class Journal:
    """A journal that writes nothing, for all processes of a run but the first."""

    def record(self, row: Row) -> None:
        """Write a row of metrics."""

    def show(self, row: Row) -> None:
        """Show the progress by a row of metrics."""

    def begin(self) -> None:
        """Note that training begins, or goes on after an evaluation or a checkpoint."""

    def moved(self, env_steps: int) -> None:
        """Show the moves made so far, within a report."""

    def evaluating(self, games: int) -> AbstractContextManager[None]:
        """Show that an evaluation of this number of games is played in the `with` block."""
        return nullcontext()

    def end_display(self) -> None:
        """End the progress display: later text is printed below it."""

    def close(self, exit_code: int) -> None:
        """Close all outputs."""


class WrittenJournal(Journal):
    """The journal in an existing run folder."""

    def __init__(self, experiment: Experiment, total: int, done: int, memory: str) -> None:
        """Start at `done` of `total` moves; `memory` is the line of `check_memory`, which is printed."""
        folder = experiment.run.folder
        self._metrics = MetricsFile(folder)
        self._wandb = WandbSink(folder, experiment)
        print(f"training {experiment.learner} in {folder}: {done:,} of {total:,} moves done\n{memory}", flush=True)
        self._display = ProgressDisplay(experiment.run.name, total, done)

    def record(self, row: Row) -> None:
        """See `Journal.record`."""
        self._metrics.append(row)
        self._wandb.log(row)

    def show(self, row: Row) -> None:
        """See `Journal.show`."""
        self._display.update(row)

    def begin(self) -> None:
        """See `Journal.begin`."""
        self._display.begin()

    def moved(self, env_steps: int) -> None:
        """See `Journal.moved`."""
        self._display.moved(env_steps)

    def evaluating(self, games: int) -> AbstractContextManager[None]:
        """See `Journal.evaluating`."""
        return self._display.evaluating(games)

    def end_display(self) -> None:
        """See `Journal.end_display`."""
        self._display.close()

    def close(self, exit_code: int) -> None:
        """See `Journal.close`."""
        self._display.close()
        self._metrics.close()
        self._wandb.finish(exit_code=exit_code)
