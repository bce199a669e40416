"""`muzero2048 tables`."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from launch.commands.parser import Commands


def add(commands: "Commands") -> None:
    """Add the command."""
    parser = commands.add_parser("tables", help="write the result tables of Markdown files from evaluation files")
    parser.add_argument(
        "files",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="a Markdown file; launch/report/published/markdown_tables.py has the form",
    )
    parser.add_argument("--check", action="store_true", help="change nothing; exit code 2 if a table differs")
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from launch.report.published.markdown_tables import write_tables

    return write_tables(arguments.files, arguments.check)
