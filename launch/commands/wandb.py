"""`muzero2048 wandb`."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from launch.commands.parser import Parser

if TYPE_CHECKING:
    from launch.commands.parser import Commands


def add(commands: "Commands") -> None:
    """Add the command with its one tool."""
    parser = commands.add_parser("wandb", help="write the wandb run of a training again")
    tools = parser.add_subparsers(required=True, metavar="TOOL", parser_class=Parser)
    tool = tools.add_parser("rebuild", help="from metrics.jsonl, whole and offline: after kills, before `wandb sync`")
    tool.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="run folders")
    tool.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from launch.run.tracking import rebuild

    for run in arguments.runs:
        rebuild(run)
    return 0
