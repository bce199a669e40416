"""The errors that end a command with one clear line, and the warnings that do not."""

import sys


class LaunchError(Exception):
    """Ends a command: the command line prints its one line to stderr and exits with `exit_code`."""

    exit_code = 1


class UserError(LaunchError):
    """The user's mistake. The line says what is wrong, where, and how to mend it."""

    exit_code = 2


class DivergedError(LaunchError):
    """A metric of training is NaN or infinite."""


def warn(line: str) -> None:
    """Print one line of warning to stderr."""
    print(f"warning: {line}", file=sys.stderr, flush=True)
