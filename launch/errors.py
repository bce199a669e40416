"""Errors that end a command with one line, and warnings."""

import sys


class LaunchError(Exception):
    """An error that ends a command: the command line prints its one line to stderr and exits with `exit_code`."""

    exit_code = 1


class UserError(LaunchError):
    """A mistake of the user. The line says what is wrong, where, and how to correct it."""

    exit_code = 2


class DivergedError(LaunchError):
    """A metric of training is NaN or infinite."""


def warn(line: str) -> None:
    """Print a warning of one line to stderr."""
    print(f"warning: {line}", file=sys.stderr, flush=True)
