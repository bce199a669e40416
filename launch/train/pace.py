"""The speed of training: moves per second in the recent past. Evaluation and saving do not count."""

import time
from collections import deque

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
