"""SIGTERM and SIGINT request a stop, and the loop saves before it stops. A second SIGINT ends the process at once."""

import contextlib
import os
import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import TypeVar

STOPPED = 75  # exit code EX_TEMPFAIL, by which schedulers start a job again
INTERRUPTED = 130  # exit code after Ctrl-C, as in shells
_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_STDERR = 2  # file descriptor: sys.stderr may be in the middle of a write when a signal arrives
_SHOW_CURSOR = "\x1b[?25h"  # a progress bar hides the cursor

T = TypeVar("T")


class _Interrupted(BaseException):  # not an Exception, so that no `except Exception` catches it
    pass


class StopSignals:
    """Handlers of SIGTERM and SIGINT within a `with` block; the old handlers are restored after it.

    - The first signal sets `requested`.
    - A second SIGINT ends the process at once with exit code 130, also while the main thread waits for a compiler, a
      kernel or a device.
    - A second SIGTERM changes nothing, since schedulers repeat SIGTERM.
    """

    def __init__(self, action: str = "saving and stopping", lost: str = "nothing is saved") -> None:
        """Set what is printed: what happens after the first signal, and what is lost by a second SIGINT."""
        self._action = action
        self._lost: Callable[[], str] = lambda: lost
        self.requested = False
        self._interrupt = False
        # Held from the first signal on: the handler and the thread both get the signal, and one of them prints.
        self._announced = threading.Lock()

    def __enter__(self) -> "StopSignals":
        self._old = {number: signal.signal(number, self._handle) for number in _SIGNALS}
        # Python runs a handler when the main thread has returned from C. The bytes in the pipe arrive at once.
        self._pipe = os.pipe()
        os.set_blocking(self._pipe[1], False)
        self._old_wakeup = signal.set_wakeup_fd(self._pipe[1], warn_on_full_buffer=False)
        self._watch = threading.Thread(target=self._count_interrupts, daemon=True)
        self._watch.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._old.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._old_wakeup)
        os.write(self._pipe[1], b"\0")  # ends the thread
        self._watch.join()
        for end in self._pipe:
            os.close(end)

    def explain_loss(self, lost: Callable[[], str]) -> None:
        """Set the function that describes what a second SIGINT loses; another thread calls it."""
        self._lost = lost

    def interruptible(self, call: Callable[[], T]) -> T | None:
        """Call and return the result; None if a stop was requested before, or if a signal ended the call.

        This is for playing games, which may take minutes and can be repeated. Training is never ended within a step.
        A signal ends Python code alone: a call into a device or a kernel continues until it returns. MuZero's player
        returns to Python about every second, but compiling, before the first move, is not ended.
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
        self._announce(number)
        if self._interrupt:
            self._interrupt = False
            raise _Interrupted

    def _announce(self, number: int) -> None:
        self.requested = True
        if self._announced.acquire(blocking=False):
            more = "; a second Ctrl-C ends at once" if number == signal.SIGINT else ""
            _print(f"\n{signal.Signals(number).name}: {self._action}{more}\n")

    def _count_interrupts(self) -> None:
        """Read a byte for each signal: its number. Byte 0 ends the thread."""
        interrupts = 0
        while number := os.read(self._pipe[0], 1)[0]:
            if number in _SIGNALS:
                self._announce(number)
            interrupts += number == signal.SIGINT
            if interrupts == 2:
                self._end()

    def _end(self) -> None:
        try:
            cursor = _SHOW_CURSOR if os.isatty(_STDERR) else ""
            _print(f"{cursor}\nsecond Ctrl-C: ended at once; {self._lost()}\n")
        finally:
            os._exit(INTERRUPTED)


def _print(text: str) -> None:
    with contextlib.suppress(OSError):  # the reader may have ended
        os.write(_STDERR, text.encode())
