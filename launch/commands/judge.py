"""`muzero2048 judge`."""

from pathlib import Path

from launch.commands.parser import Parser, add_json, later


def add(commands: Parser) -> None:
    """Add the command."""
    parser = commands.add_command(
        "judge",
        later("launch.evaluation.records.judge", "judge", "file", "board", "whole", "json"),
        "replay game records by the rules; exit code 2 if one is wrong",
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="one game a line, in the notation of docs/records.md")
    parser.add_argument("--board", help="rows x columns (default: that of the file's header, or 4x4)")
    parser.add_argument("--whole", action="store_true", help="a game that stops before it is over is wrong")
    add_json(parser)
