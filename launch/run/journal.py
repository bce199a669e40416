"""What a run tells as it goes: rows in metrics.jsonl and wandb, and progress on the screen."""

from contextlib import AbstractContextManager, nullcontext

from launch.config.experiment import Experiment
from launch.run.metrics import Row
from launch.run.progress import ProgressDisplay
from launch.run.tracking import MetricsFile, WandbSink


class Journal:
    """Of a run on several processes only the first keeps one; this is that of the others, who tell nothing."""

    def record(self, row: Row) -> None:
        """Keep a row."""

    def show(self, row: Row) -> None:
        """Show the progress that it tells."""

    def begin(self) -> None:
        """Training begins, or goes on after an evaluation or a checkpoint."""

    def moved(self, env_steps: int) -> None:
        """Show that so many moves are made, within a report."""

    def evaluating(self, games: int) -> AbstractContextManager[None]:
        """Show that an evaluation of so many games is played in the `with` block."""
        return nullcontext()

    def end_display(self) -> None:
        """What is printed from here on stands below the progress."""

    def close(self, exit_code: int) -> None:
        """Nothing more comes."""


class WrittenJournal(Journal):
    """In the run's folder, which is there."""

    def __init__(self, experiment: Experiment, total: int, done: int, memory: str) -> None:
        """Go on at `done` of `total` moves; `memory` is a line that says what they take."""
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
