"""What the scripts share: they print a table of rows, and with --json also one JSON object."""

import argparse
from collections.abc import Callable, Sequence

from launch.bench.rows import BenchRow, show
from launch.cli import exit_code_of
from launch.commands.parser import Parser, add_json
from launch.evaluation.intervals import Interval

Parse = Callable[[Sequence[str] | None], argparse.Namespace]


def run_script(
    parse: Parse, measure: Callable[[argparse.Namespace], list[BenchRow]], argv: Sequence[str] | None = None
) -> int:
    """Read the command line, print the measured rows, and return the exit code; a user's mistake is one line."""

    def run() -> int:
        arguments = parse(argv)
        show(measure(arguments), arguments.json)
        return 0

    return exit_code_of(run)


def interval_rows(name: str, interval: Interval, unit: str) -> list[BenchRow]:
    """Return the rows of an estimate and of the ends of its interval."""
    names = (name, "  at least", "  at most")
    return [BenchRow(row, value, unit) for row, value in zip(names, interval, strict=True)]


def run_bench(name: str, text: str, bench: Callable[[], list[BenchRow]]) -> int:
    """Run a script of this name that has no options of its own."""
    parser = Parser(prog=f"python -m benchmarks.{name}", description=text)
    add_json(parser)
    return run_script(parser.parse_args, lambda _: bench())
