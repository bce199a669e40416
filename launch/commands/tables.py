"""`muzero2048 tables`."""

from pathlib import Path

from launch.commands.parser import Parser, later


def add(commands: Parser) -> None:
    """Add the command."""
    parser = commands.add_command(
        "tables",
        later("launch.report.published.markdown_tables", "write_tables", "files", "check"),
        "write the result tables of Markdown files from evaluation files",
    )
    parser.add_argument(
        "files",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="a Markdown file; launch/report/published/markdown_tables.py has the form",
    )
    parser.add_argument("--check", action="store_true", help="change nothing; exit code 2 if a table differs")
