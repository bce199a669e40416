"""The speed of training: moves a second over the recent past, without what is no training."""

import time
from collections import deque

WINDOW_SECONDS = 30.0  # of training, over which the speed is taken


class Pace:
    """Moves a second over the last WINDOW_SECONDS of training, or from one mark to the next if that is longer.

    Training time is the sum of the times from `begin`, or the mark before, to a mark. Time before the first move of a
    process is compiling, so the first mark only starts the measurement.
    """

    def __init__(self, done: int) -> None:
        """Start at `done` moves."""
        self._start = done
        self._seconds, self._since = 0.0, time.monotonic()  # training time at the last mark, and when that was
        self._marks: deque[tuple[float, int]] = deque()  # training time, moves
        self.speed = 0.0  # 0: not known yet

    def begin(self) -> None:
        """Training begins or goes on; the time since the last mark does not count."""
        self._since = time.monotonic()

    def mark(self, done: int) -> None:
        """So many moves are made by now."""
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
        """Measure from here on alone; until the next mark the speed is the last one measured."""
        self._marks.clear()
        self.begin()
        self.mark(done)
