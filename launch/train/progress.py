"""Progress of training: a bar in a terminal, otherwise a line every LINE_SECONDS."""

import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from launch.experiment.metrics import Row
from launch.progress import COMPILING, REFRESHES, GamesText, periodically
from launch.quantities import LINE_SECONDS, clock
from ntuple.core.interfaces import Watch

REACHED = "train/reach_"  # of these metrics, the one of the largest tile that was reached is shown
WINDOW_SECONDS = 30.0  # seconds of training over which the speed is measured


class Pace:
    """Moves per second over the last WINDOW_SECONDS of training, or between two marks if these are further apart.

    Training time is the sum of the times from `begin` or a mark to the next mark. Before the first move a process
    compiles, so the first mark only starts the measurement.
    """

    def __init__(self, done: int) -> None:
        """Start at `done` moves."""
        self._start = done
        self._seconds, self._since = 0.0, time.monotonic()  # training time at the last mark, and the clock then
        self._marks: deque[tuple[float, int]] = deque()  # training time, moves
        self.speed = 0.0  # moves/s; 0: not known yet

    def begin(self) -> None:
        """Note that training begins or goes on; the time since the last mark does not count."""
        self._since = time.monotonic()

    def mark(self, done: int) -> None:
        """Note that `done` moves are made by now."""
        now = time.monotonic()
        self._seconds, self._since = self._seconds + now - self._since, now
        if done > self._start:
            self._marks.append((self._seconds, done))
        while len(self._marks) > 2 and self._marks[1][0] <= self._seconds - WINDOW_SECONDS:
            self._marks.popleft()
        if len(self._marks) > 1:
            (first, begun), (last, ended) = self._marks[0], self._marks[-1]
            self.speed = (ended - begun) / max(last - first, 1e-9)

    def restart(self, done: int) -> None:
        """Forget all marks but this one; until the next mark `speed` keeps its value."""
        self._marks.clear()
        self.begin()
        self.mark(done)


class ProgressDisplay:
    """Print moves done, moves/s, games/s, the last scores, the last tiles and the time left to stdout.

    Compiling, evaluation and saving do not count in speed and time left. Of several processes one alone shows them.
    """

    def __init__(self, name: str, total: int, done: int, is_shown: bool = True) -> None:
        """Start at `done` of `total` moves."""
        self._console = Console()
        self._name, self._total, self._done = name, total, done
        self._is_shown = is_shown
        self._pace = Pace(done)
        self._reported = done  # moves at the last report
        self._reports = 0
        self._printed = -LINE_SECONDS
        self._games_a_move = 0.0
        self._status = COMPILING
        self._score = self._tile = self._evaluation = ""
        self._bar = Progress(
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=None),
            TaskProgressColumn(),
            TextColumn("{task.fields[text]}"),
            console=self._console,
            disable=not (is_shown and self._console.is_terminal),
        )
        self._task = self._bar.add_task(name, total=total, completed=done, text=self._text())
        self._bar.start()

    def begin(self) -> None:
        """Note that training begins, or goes on after an evaluation or a checkpoint."""
        if self._reports == 0 and self._bar.disable:
            self._print()
        self._pace.begin()

    def moved(self, done: int) -> None:
        """Show that `done` moves are made, within a report."""
        if done > self._done:
            self._done, self._status = done, ""
        self._pace.mark(done)
        self._show()

    def update(self, row: Row) -> None:
        """Show a row of metrics."""
        if "eval/score_mean" in row:
            self._evaluation = f"evaluation {row['eval/score_mean']:,.0f}"
        else:
            self._report(row)
        self._show()

    @contextmanager
    def evaluating(self, games: int) -> Iterator[Watch]:
        """Show that an evaluation of this number of games is played in the `with` block, which watches the player."""
        before, self._status = self._status, f"evaluating {games:,} games"
        self._show()
        text = GamesText(games)

        def show() -> None:
            self._status = f"evaluating: {text()}"
            self._show()

        try:
            with periodically(LINE_SECONDS if self._bar.disable else 1 / REFRESHES, show):
                yield text.watch
        finally:
            self._status = before

    def close(self) -> None:
        """End the display: later text is printed below it."""
        self._bar.stop()

    def _report(self, row: Row) -> None:
        done = int(row["env_steps"])
        if "train/score_mean" in row:
            self._score = f"score {row['train/score_mean']:,.0f}"
            rates = {int(name.removeprefix(REACHED)): row[name] for name in row if name.startswith(REACHED)}
            largest = max((tile for tile, rate in rates.items() if rate > 0), default=None)
            self._tile = f"{largest} in {rates[largest]:.1%}" if largest else ""
        elif "train/until_share" in row:
            self._tile = f"ended with the tile {row['train/until_share']:.1%}"
        self._games_a_move = row.get("train/games", 0) / max(1, done - self._reported)
        self._done, self._reported, self._status = done, done, ""
        self._reports += 1
        if self._reports == 1:  # it ended with compiling, so its time gives no speed
            self._pace.restart(done)
        else:
            self._pace.mark(done)

    def _show(self) -> None:
        self._bar.update(self._task, completed=self._done, text=self._text())
        now = time.monotonic()
        if self._bar.disable and (now - self._printed >= LINE_SECONDS or self._done >= self._total):
            self._printed = now
            self._print()

    def _print(self) -> None:
        if self._is_shown:
            line = f"{self._name}  {self._done / self._total:4.0%}  {self._done:,} moves  {self._text()}"
            print(line.rstrip(), flush=True)

    def _text(self) -> str:
        speed = self._pace.speed
        parts = [
            self._status,
            f"{speed:,.0f} moves/s" if speed else "",
            f"{speed * self._games_a_move:,.0f} games/s" if speed and self._games_a_move else "",
            *(self._score, self._tile, self._evaluation),
            f"{clock((self._total - self._done) / speed)} left" if speed else "",
        ]
        return "  ".join(part for part in parts if part)
