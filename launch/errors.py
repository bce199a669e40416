"""Errors that end a command with one line, and warnings."""

import re
import sys
from importlib import metadata
from typing import NamedTuple

CLOSED_PIPE = 141  # exit code of a command whose output nobody reads, as in shells


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


class End(NamedTuple):
    """How an error ends a command."""

    exit_code: int
    line: str


def end_of(error: Exception) -> End | None:
    """Return how an error ends a command; None: by a traceback and exit code 1, since the program is wrong."""
    match error:
        case LaunchError():
            return End(error.exit_code, str(error))
        case ModuleNotFoundError() if extra := _extra_of(error.name or ""):
            return End(UserError.exit_code, f"this needs {error.name}; install it by pip install 'muzero2048[{extra}]'")
        case BrokenPipeError():  # e.g. `| head` has ended
            return End(CLOSED_PIPE, "nobody reads the output")
        case OSError():  # what no command expects: a full disk, a path that is too long
            line = f"cannot use {error.filename or 'a file'}: {error.strerror or error}"
            return End(UserError.exit_code, line)
    return None


def _extra_of(module: str) -> str | None:
    """Return the extra of this package that installs a module; None if no extra does."""
    package = module.partition(".")[0].replace("_", "-")
    for requirement in metadata.requires("muzero2048") or ():
        if extra := re.fullmatch(rf"{re.escape(package)}\b(?!-).*;.*extra == ['\"](\w+)['\"]", requirement):
            return extra[1]
    return None


def warn(line: str) -> None:
    """Print a warning of one line to stderr."""
    print(f"warning: {line}", file=sys.stderr, flush=True)
