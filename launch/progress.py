"""Progress of a command on stderr: one line in place on a terminal, otherwise a line every LINE_SECONDS.

Nothing is shown with --json. The line of a training is that of launch/train/progress.py.
"""

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from rich.console import Console
from rich.live import Live
from rich.text import Text

from launch.evaluation.summary import summarize
from launch.output import is_json_alone
from launch.quantities import LINE_SECONDS, clock
from ntuple.core.interfaces import SoFar

REFRESHES = 2.0  # of the line on a terminal, per second
COMPILING = "compiling ..."
SHOWN_GOALS = slice(2, 5)  # of Games.goals, the tiles whose rates are shown: 8192, 16384 and 32768

T = TypeVar("T")
Detail = str | Callable[[], str]  # what is done now; a function is called whenever the line is shown


class _Line:
    """The line of the command: what it is about, and what is done now."""

    def __init__(self, heading: str, detail: Detail) -> None:
        self.heading, self.detail = heading, detail

    def text(self) -> str:
        """Return the line."""
        detail = self.detail if isinstance(self.detail, str) else self.detail()
        return ": ".join(filter(None, (self.heading, detail)))


_LINE: ContextVar[_Line | None] = ContextVar("_LINE", default=None)


@contextmanager
def progress_line(heading: str = "", detail: Detail = COMPILING, is_shown: bool = True) -> Iterator[None]:
    """Show a line in the `with` block, unless a line is shown already or the command prints JSON alone."""
    if not is_shown or is_json_alone() or _LINE.get():
        yield
        return
    line, console = _Line(heading, detail), Console(stderr=True)
    token = _LINE.set(line)
    try:
        if console.is_terminal:
            # stdout is shown above the line if it is a terminal too; a file or a pipe gets it as it is.
            takes_stdout = sys.stdout.isatty()
            with Live(
                get_renderable=lambda: Text(line.text(), no_wrap=True, overflow="ellipsis"),
                console=console,
                transient=True,
                refresh_per_second=REFRESHES,
                redirect_stdout=takes_stdout,
            ):
                yield
        else:
            with periodically(LINE_SECONDS, lambda: print(line.text(), file=sys.stderr, flush=True)):
                yield
    finally:
        _LINE.reset(token)


def say(detail: Detail) -> None:
    """Show what is done now, if a line is shown."""
    if line := _LINE.get():
        line.detail = detail


def numbered(items: Sequence[T], name: Callable[[T], str] = str) -> Iterator[T]:
    """Yield the items; the line says "3 of 12, NAME: compiling ..." until `say` says more."""
    line = _LINE.get()
    for number, item in enumerate(items, 1):
        if line:
            line.heading, line.detail = f"{number} of {len(items)}, {name(item)}", COMPILING
        yield item


@contextmanager
def periodically(seconds: float, call: Callable[[], None]) -> Iterator[None]:
    """Call a function from time to time in another thread, within the `with` block."""
    over = threading.Event()

    def run() -> None:
        while not over.wait(seconds):
            call()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


class GamesText:
    """The text of games that a player plays: finished games of all, mean with its interval, large tiles, time left."""

    def __init__(self, games: int) -> None:
        self._games = games
        self._read: Callable[[], SoFar] | None = None

    def watch(self, read: Callable[[], SoFar]) -> None:
        """Note that play begins; this is the `Watch` of the player."""
        self._read = read

    def __call__(self) -> str:
        """Return the text."""
        if self._read is None:
            return COMPILING
        finished, left = self._read()
        done = len(finished.score)
        parts = [f"game {done:,} of {self._games:,}"]
        if done > 1:
            summary = summarize(finished)
            parts.append(f"mean {summary.score_mean:,.0f} +- {(summary.score_high - summary.score_low) / 2:,.0f}")
            shown = finished.goals[SHOWN_GOALS]
            parts += [f"{tile} {summary.reach[tile]:.0%}" for tile in shown if summary.reach[tile]]
        parts.append(f"{clock(finished.seconds)} since the start" if left is None else f"{clock(left)} left")
        return "  ".join(parts)
