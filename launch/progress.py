"""Progress of training: a bar in a terminal, a line now and then anywhere else."""

import time

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from launch.metrics import Row

LINE_SECONDS = 10.0  # between two lines of a log, which someone may read by the hour
REACHED = (32768, 8192, 2048)  # tiles whose rates are told, the largest that occurs


class ProgressDisplay:
    """Shows moves done, moves/s, games/s, the last scores, the last tiles and the time left. Prints to stdout."""

    def __init__(self, name: str, total: int, done: int) -> None:
        """Start at `done` of `total` moves."""
        self._console = Console()
        self._name, self._total, self._start = name, total, done
        self._began = time.monotonic()
        self._printed = -LINE_SECONDS
        self._games = 0.0
        self._score = self._tile = self._evaluation = ""
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
            rates = ((tile, row.get(f"train/reach_{tile}", 0.0)) for tile in REACHED)
            self._tile = next((f"{tile} in {rate:.1%}" for tile, rate in rates if rate > 0), "")
        if "eval/score_mean" in row:
            self._evaluation = f"evaluation {row['eval/score_mean']:,.0f}"
        self._games += row.get("train/games", 0)
        done = int(row["env_steps"])
        if done == self._start:  # an evaluation that a signal had cut off: no speed to tell yet
            return
        elapsed = time.monotonic() - self._began
        speed = (done - self._start) / elapsed
        games = f"{self._games / elapsed:,.0f} games/s" if self._games else ""
        parts = (f"{speed:,.0f} moves/s", games, self._score, self._tile, self._evaluation)
        text = "  ".join(part for part in parts if part)
        self._bar.update(self._task, completed=done, text=text)
        if self._bar.disable and (elapsed - self._printed >= LINE_SECONDS or done >= self._total):
            self._printed = elapsed
            left = clock((self._total - done) / speed)
            line = f"{self._name}  {done / self._total:4.0%}  {done:,} moves  {text}  {left} left"
            print(line, flush=True)

    def close(self) -> None:
        """End the display; what is printed from here on stands below it."""
        self._bar.stop()


def clock(seconds: float) -> str:
    """Seconds as minutes:seconds."""
    minutes, rest = divmod(max(0, round(seconds)), 60)
    return f"{minutes}:{rest:02d}"
