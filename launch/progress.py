"""Progress of training: a bar in a terminal, a line now and then anywhere else."""

import time

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from launch.metrics import Row

LINE_SECONDS = 10.0  # between two lines of a log, which someone may read by the hour


class ProgressDisplay:
    """Shows moves done, moves/s, the last scores and the time left. Prints to stdout."""

    def __init__(self, name: str, total: int, done: int) -> None:
        """Start at `done` of `total` moves."""
        self._console = Console()
        self._name, self._total, self._start = name, total, done
        self._began = time.monotonic()
        self._printed = -LINE_SECONDS
        self._score = self._evaluation = ""
        self._bar = Progress(
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=None),
            TaskProgressColumn(),
            TextColumn("{task.fields[text]}"),
            TimeRemainingColumn(),
            console=self._console,
            disable=not self._console.is_terminal,
        )
        self._task = self._bar.add_task(name, total=total, completed=done, text="")
        self._bar.start()

    def update(self, row: Row) -> None:
        """Show a row of metrics."""
        if "train/score_mean" in row:
            self._score = f"score {row['train/score_mean']:,.0f}"
        if "eval/score_mean" in row:
            self._evaluation = f"evaluation {row['eval/score_mean']:,.0f}"
        done = int(row["env_steps"])
        if done == self._start:  # an evaluation that a signal had cut off: no speed to tell yet
            return
        elapsed = time.monotonic() - self._began
        speed = (done - self._start) / elapsed
        text = "  ".join(part for part in (f"{speed:,.0f} moves/s", self._score, self._evaluation) if part)
        self._bar.update(self._task, completed=done, text=text)
        if self._bar.disable and (elapsed - self._printed >= LINE_SECONDS or done >= self._total):
            self._printed = elapsed
            left = _minutes((self._total - done) / speed)
            line = f"{self._name}  {done / self._total:4.0%}  {done:,} moves  {text}  {left} left"
            print(line, flush=True)

    def close(self) -> None:
        """End the display; what is printed from here on stands below it."""
        self._bar.stop()


def _minutes(seconds: float) -> str:
    minutes, rest = divmod(max(0, round(seconds)), 60)
    return f"{minutes}:{rest:02d}"
