"""SIGTERM and SIGINT ask for a stop; the loop saves before it obeys."""

import signal
from collections.abc import Callable
from types import FrameType, TracebackType

STOPPED = 75  # exit code EX_TEMPFAIL: schedulers read it as "run me again"
_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class _Interrupted(BaseException):  # not an Exception: nothing on its way may take it for a failure
    pass


class StopSignals:
    """Inside the `with` block the first signal sets `requested`; the old handlers come back after it."""

    def __init__(self) -> None:
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

    def interruptible(self, call: Callable[[], None]) -> None:
        """Call, unless a stop was requested before; a signal during the call ends it at once.

        For evaluation, which can be repeated and may take minutes; training is never cut off within a step.
        """
        try:
            self._interrupt = True
            if not self.requested:
                call()
        except _Interrupted:
            pass
        finally:
            self._interrupt = False

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if not self.requested:
            print(f"\n{signal.Signals(number).name}: saving and stopping", flush=True)
        self.requested = True
        if self._interrupt:
            self._interrupt = False
            raise _Interrupted
