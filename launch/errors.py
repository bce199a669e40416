"""Errors that end a command with one line, and warnings."""

import sys
from typing import NamedTuple


class LaunchError(Exception):
    """An error that ends a command: the command line prints its one line to stderr and exits with `exit_code`."""

    exit_code = 1


class UserError(LaunchError):
    """A mistake of the user. The line says what is wrong, where, and how to correct it."""

    exit_code = 2


class Option(NamedTuple):
    """An option in a message: --plies 3 on the command line is plies=3 in a call from Python."""

    name: str
    value: str | int | float | None = None  # None: the message has the name alone

    def __str__(self) -> str:
        """Return it as the command line writes it."""
        value = f"{self.value:g}" if isinstance(self.value, float) else self.value
        return f"--{self.name}" if self.value is None else f"--{self.name} {value}"

    def in_python(self) -> str:
        """Return it as a call from Python writes it."""
        return self.name if self.value is None else f"{self.name}={self.value!r}"


class OptionError(UserError):
    """A mistake in an option that commands and functions of the library share. The text is in words of commands."""

    def __init__(self, *parts: str | Option) -> None:
        """Join the parts of the message."""
        super().__init__("".join(map(str, parts)))
        self._parts = parts

    def in_python(self) -> UserError:
        """Return the same mistake in words of a call from Python."""
        return UserError("".join(part.in_python() if isinstance(part, Option) else part for part in self._parts))


class DivergedError(LaunchError):
    """A metric of training is NaN or infinite."""


def warn(line: str) -> None:
    """Print a warning of one line to stderr."""
    print(f"warning: {line}", file=sys.stderr, flush=True)
