"""`muzero2048 leaderboard`."""

import argparse
from pathlib import Path

from launch.commands.parser import Parser


def add(commands: Parser) -> None:
    """Add the command."""
    parser = commands.add_command(
        "leaderboard", _run, "write the best results on each board, and those of papers, as a page"
    )
    parser.add_argument(
        "paths",
        nargs="*",
        type=Path,
        metavar="FILE|RUN",
        help="evaluation files, or runs for their final evaluations (default: docs/evaluations/*.json)",
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="the Markdown file (default: docs/leaderboard.md)")
    parser.add_argument("--check", action="store_true", help="change nothing; exit code 2 if the file differs")


def _run(arguments: argparse.Namespace) -> int:
    from launch.report.published.leaderboard import PAGE, write_leaderboard

    return write_leaderboard(arguments.paths, arguments.out or PAGE, arguments.check)
