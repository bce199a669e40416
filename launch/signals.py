"""SIGTERM and SIGINT ask for a stop; the loop saves before it obeys."""

import contextlib
import os
import signal
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import TypeVar

STOPPED = 75  # exit code EX_TEMPFAIL: schedulers read it as "run me again"
_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_STDERR = 2  # its descriptor: sys.stderr may be in the middle of a write when a signal comes

T = TypeVar("T")


class _Interrupted(BaseException):  # not an Exception: nothing on its way may take it for a failure
    pass


class StopSignals:
    """Inside the `with` block the first signal sets `requested`; the old handlers come back after it."""

    def __init__(self, says: str = "saving and stopping") -> None:
        """`says` is told at the signal."""
        self._says = says
        self.requested = False
        self._interrupt = False

    def __enter__(self) -> "StopSignals":
        self._old = {number: signal.signal(number, self._handle) for number in _SIGNALS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._old.items():
            signal.signal(number, handler)

    def interruptible(self, call: Callable[[], T]) -> T | None:
        """Call and return the result; None if a stop was requested before, or a signal ended the call.

        For playing games, which can be repeated and may take minutes; training is never cut off within a step.
        A signal ends Python code, so a call into a device or a kernel goes on to its return: MuZero's player
        returns to Python about every second, and compiling, before the first move, only when it is over.
        """
        try:
            try:
                self._interrupt = True
                return None if self.requested else call()
            finally:
                self._interrupt = False  # a signal just before this raises too, so the outer try catches it
        except _Interrupted:
            return None

    def _handle(self, number: int, frame: FrameType | None) -> None:
        first, self.requested = not self.requested, True
        if first:
            with contextlib.suppress(OSError):  # nobody may be reading any more
                os.write(_STDERR, f"\n{signal.Signals(number).name}: {self._says}\n".encode())
        if self._interrupt:
            self._interrupt = False
            raise _Interrupted
