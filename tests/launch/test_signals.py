import os
import signal
import subprocess
import sys
from typing import Any

import pytest

from launch.signals import StopSignals


class _LateSignal(StopSignals):
    """Raises a signal when a call has finished, just before it can no longer be interrupted."""

    armed = True

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "_interrupt" and not value and self.__dict__.get("_interrupt") and self.armed:
            self.__dict__["armed"] = False
            signal.raise_signal(signal.SIGTERM)
        super().__setattr__(name, value)


def test_a_signal_at_the_very_end_of_a_call_does_not_escape():
    with _LateSignal() as stop:
        assert stop.interruptible(lambda: 1) is None
        assert stop.requested


def test_a_call_that_no_signal_ends_returns_its_result():
    with StopSignals() as stop:
        assert stop.interruptible(lambda: 7) == 7
        signal.raise_signal(signal.SIGTERM)
        assert stop.interruptible(lambda: pytest.fail("called after a stop was requested")) is None


def test_a_signal_counts_when_nobody_reads_what_it_prints(monkeypatch):
    write = os.write

    def broken(descriptor: int, text: bytes) -> int:
        if descriptor == 2:
            raise BrokenPipeError
        return write(descriptor, text)

    monkeypatch.setattr(os, "write", broken)
    with StopSignals() as stop:
        signal.raise_signal(signal.SIGINT)
        assert stop.requested


def test_the_first_signal_alone_is_named(capfd):
    with StopSignals():
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)
    assert capfd.readouterr().err == "\nSIGTERM: saving and stopping\n"


# The main thread blocks in C code on a mutex that it holds itself, so Python's own handlers never run.
STUCK = """
import ctypes
from launch.signals import StopSignals
libc, mutex = ctypes.CDLL(None), ctypes.create_string_buffer(64)
with StopSignals("saving", "the last hour is lost") as stop:
    stop.explain_loss(lambda: "the last minute is lost")
    print("ready", flush=True)
    libc.pthread_mutex_lock(mutex), libc.pthread_mutex_lock(mutex)
"""


def test_a_second_interrupt_ends_at_once_and_a_second_sigterm_does_not():
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(
        [sys.executable, "-c", STUCK], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline() == "ready\n"
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGTERM):
            process.send_signal(number)
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(timeout=0.3)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 130
    lines = [line for line in errors.splitlines() if line]
    assert lines == [
        "SIGINT: saving; a second Ctrl-C ends at once",
        "second Ctrl-C: ended at once; the last minute is lost",
    ]


def test_the_old_handlers_and_the_old_descriptor_come_back():
    before = [signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT), signal.set_wakeup_fd(-1)]
    descriptors = len(os.listdir("/proc/self/fd"))
    with StopSignals():
        signal.raise_signal(signal.SIGTERM)
    assert [signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT), signal.set_wakeup_fd(-1)] == before
    assert len(os.listdir("/proc/self/fd")) == descriptors
