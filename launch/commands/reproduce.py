"""`muzero2048 reproduce`."""

import argparse
from pathlib import Path

from launch.commands.parser import Parser


def add(commands: Parser) -> None:
    """Add the command."""
    parser = commands.add_command(
        "reproduce",
        _run,
        "train and evaluate the rows of a paper's table, and print them beside the paper's",
        epilog="docs/papers.md explains tables, budgets and caveats",
    )
    parser.add_argument(
        "table", nargs="?", metavar="TABLE", help="such as guei-table-5, or a YAML file; none: list all with their time"
    )
    parser.add_argument(
        "--budget", type=float, default=1.0, metavar="SHARE", help="share of the paper's moves of training (default: 1)"
    )
    parser.add_argument("--rows", default="", metavar="ROW,ROW", help="rows to train and evaluate (default: all)")
    parser.add_argument("--columns", default="", metavar="COL,COL", help="columns to evaluate (default: all)")
    parser.add_argument("--seeds", default="1", metavar="1-5", help="training seeds of each row (default: 1)")
    parser.add_argument("--games", type=int, metavar="N", help="most games of an evaluation (default: the paper's)")
    parser.add_argument("--on", metavar="FILE", help="a cluster file, local or slurm (default: in this process)")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write the table here (default: in runs/)")


def _run(arguments: argparse.Namespace) -> int:
    from launch.errors import UserError
    from launch.jobs.plan import parse_seeds
    from launch.report.papers.plan import Scale
    from launch.report.papers.reproduce import TablePart, list_tables, reproduce

    scale = Scale(arguments.budget, tuple(parse_seeds(arguments.seeds)), arguments.games)
    if arguments.table is None:
        given = [f"--{name}" for name in ("rows", "columns", "on", "csv") if getattr(arguments, name)]
        if given:
            raise UserError(f"{given[0]} needs a TABLE, such as guei-table-5")
        return list_tables(scale)
    part = TablePart(_names(arguments.rows), _names(arguments.columns))
    return reproduce(arguments.table, part, scale, arguments.on, arguments.csv)


def _names(words: str) -> list[str]:
    return [name.strip() for name in words.split(",") if name.strip()]
