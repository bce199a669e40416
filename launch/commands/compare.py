"""`muzero2048 compare`."""

import argparse
from pathlib import Path

from launch.commands.parser import Parser, add_runs_folder, add_selection


def add(commands: Parser) -> None:
    """Add the command."""
    parser = commands.add_command("compare", _run, "draw the learning curves of runs, with tables of their results")
    add_selection(parser)
    parser.add_argument("--where", action="append", default=[], metavar="KEY=VALUE", help="only runs with this value")
    parser.add_argument("--since", metavar="DATE", help="only runs written since, e.g. 2026-11-24 or 2026-11-24T08:00")
    parser.add_argument(
        "--by",
        default="run.group",
        metavar="KEY[,KEY]",
        help="runs with equal values are seeds of one curve, which the page colours and divides into panels by these"
        " keys (default: run.group)",
    )
    add_runs_folder(parser)
    parser.add_argument("--x", choices=("env_steps", "games", "wall_hours"), default="env_steps", help="the x axis")
    parser.add_argument("--tile", type=int, default=2048, help="tile whose reach rate is drawn (default: 2048)")
    parser.add_argument("--out", type=Path, default=Path("comparison"), help="folder to write to (default: comparison)")


def _run(arguments: argparse.Namespace) -> None:
    from launch.report.compare import Selection, compare

    selection = Selection(arguments.runs, arguments.where, arguments.since, arguments.runs_folder)
    compare(selection, arguments.by.split(","), arguments.x, arguments.tile, arguments.out)
