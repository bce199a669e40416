"""SIGTERM and SIGINT ask for a stop; the loop saves before it obeys. A second SIGINT ends the process at once."""

import contextlib
import os
import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import TypeVar

STOPPED = 75  # exit code EX_TEMPFAIL: schedulers read it as "run me again"
INTERRUPTED = 130  # exit code of a command that Ctrl-C ended, as in shells
_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_STDERR = 2  # its descriptor: sys.stderr may be in the middle of a write when a signal comes
_SHOW_CURSOR = "\x1b[?25h"  # a progress bar hides it

T = TypeVar("T")


class _Interrupted(BaseException):  # not an Exception: nothing on its way may take it for a failure
    pass


class StopSignals:
    """Inside the `with` block the first signal sets `requested`; the old handlers come back after it.

    A second SIGINT ends the process at once with exit code 130, also while the main thread waits for a compiler, a
    kernel or a device. More SIGTERMs change nothing, since schedulers repeat them.
    """

    def __init__(self, says: str = "saving and stopping", lost: str = "nothing is saved") -> None:
        """What is printed.

        Args:
            says: at the first signal, what happens now.
            lost: at a second SIGINT, what is lost. `explain_loss` replaces it by what is known later.
        """
        self._says = says
        self._lost: Callable[[], str] = lambda: lost
        self.requested = False
        self._interrupt = False
        self._said = threading.Lock()  # held from the first signal on: the handler and the thread both hear it

    def __enter__(self) -> "StopSignals":
        self._old = {number: signal.signal(number, self._handle) for number in _SIGNALS}
        # Python's handler waits for the main thread to return from C; the bytes in the pipe do not.
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
        """From here on `lost` says what a second SIGINT loses; a thread calls it."""
        self._lost = lost

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
        self._hear(number)
        if self._interrupt:
            self._interrupt = False
            raise _Interrupted

    def _hear(self, number: int) -> None:
        self.requested = True
        if self._said.acquire(blocking=False):
            more = "; a second Ctrl-C ends at once" if number == signal.SIGINT else ""
            _print(f"\n{signal.Signals(number).name}: {self._says}{more}\n")

    def _count_interrupts(self) -> None:
        """Read the number of each signal that arrives, as a byte; 0 comes last."""
        interrupts = 0
        while number := os.read(self._pipe[0], 1)[0]:
            if number in _SIGNALS:
                self._hear(number)
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
    with contextlib.suppress(OSError):  # nobody may be reading any more
        os.write(_STDERR, text.encode())
