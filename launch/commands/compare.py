"""`muzero2048 compare`."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from launch.commands.parser import add_runs

if TYPE_CHECKING:
    from launch.commands.parser import Commands


def add(commands: "Commands") -> None:
    """Add the command."""
    parser = commands.add_parser("compare", help="draw the learning curves of runs, with a table of their results")
    add_runs(parser, "run folders of any learners")
    parser.add_argument("--x", choices=("env_steps", "games", "wall_hours"), default="env_steps", help="the x axis")
    parser.add_argument("--tile", type=int, default=2048, help="tile whose reach rate is drawn (default: 2048)")
    parser.add_argument("--out", type=Path, default=Path("comparison"), help="folder to write to (default: comparison)")
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from launch.comparison.compare import compare

    compare(arguments.runs, arguments.x, arguments.tile, arguments.out)
    return 0
