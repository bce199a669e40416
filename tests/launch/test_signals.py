import os
import signal
from typing import Any

import pytest

from launch.signals import StopSignals


class _LateSignal(StopSignals):
    """A signal arrives when a call is over, just before interruptions end."""

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
    def broken(*_: Any) -> None:
        raise BrokenPipeError

    monkeypatch.setattr(os, "write", broken)
    monkeypatch.setattr("builtins.print", broken)
    with StopSignals() as stop:
        signal.raise_signal(signal.SIGINT)
        assert stop.requested


def test_the_first_signal_alone_is_named(capfd):
    with StopSignals():
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)
    assert capfd.readouterr().err == "\nSIGTERM: saving and stopping\n"
