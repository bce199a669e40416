"""The command line `muzero2048`: reads the words, runs one command of launch/commands, and turns errors into a line."""

import argparse
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

from launch.commands import completion, games, reports, runs, tools
from launch.commands.parser import Parser
from launch.errors import CLOSED_PIPE, UserError, end_of
from launch.output import drop_rest, json_alone
from launch.signals import INTERRUPTED

COMMANDS = (runs, games, reports, tools)  # as --help lists them


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code: 0 done, 2 the user's mistake, 75 stopped after saving."""

    def run() -> int:
        arguments = parse(argv)
        with json_alone() if getattr(arguments, "json", None) is True else nullcontext():
            return arguments.run(arguments) or 0

    return exit_code_of(run)


def exit_code_of(run: Callable[[], int]) -> int:
    """Return the exit code of a command; an error becomes one line on stderr."""
    try:
        code = run()
        print(end="", flush=True)  # else Python does it at its end, where a closed pipe is no error of this function
        return code
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        if (end := end_of(error)) is None:
            raise
        if isinstance(error, BrokenPipeError):
            drop_rest(sys.stdout)
        else:
            print(f"error: {end.line}", file=sys.stderr)
        return end.exit_code
    except SystemExit as error:
        if isinstance(error.__context__, BrokenPipeError):  # rich makes 1 of it
            return CLOSED_PIPE
        raise


def make_parser() -> Parser:
    """Build the parser with all commands. A command without key=value words has `overrides` None."""
    parser = Parser(prog="muzero2048", description="MuZero and n-tuple networks learn 2048.")
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and stop")
    parser.set_defaults(overrides=None)
    for commands in COMMANDS:
        commands.add(parser)
    return parser


def parse(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the words after `muzero2048`, or those of the process; UserError if they are no command.

    Of the returned arguments, `run` is the function of the command and `overrides` its key=value words.
    """
    parser = make_parser()
    completion.complete(parser)
    arguments, rest = parser.parse_known_args(argv)
    if unknown := [word for word in rest if word.startswith("-")]:
        raise UserError(f"there is no option {' '.join(unknown)}; an option needs its whole name, see --help")
    # argparse takes key=value on one side of the options alone: the others arrive as the rest.
    if rest and arguments.overrides is None:
        raise UserError(f"cannot read {' '.join(rest)}; see `muzero2048 --help`")
    arguments.overrides = [*(arguments.overrides or []), *rest]
    return arguments


class _Version(argparse.Action):
    """Print the version, which is looked up only now."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from launch.experiment.machine_info import project_version

        print(f"muzero2048 {project_version()}")
        parser.exit()
