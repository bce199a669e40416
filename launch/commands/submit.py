"""`muzero2048 submit`."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from launch.errors import UserError

if TYPE_CHECKING:
    from launch.commands.parser import Commands


def add(commands: "Commands") -> None:
    """Add the command."""
    parser = commands.add_parser(
        "submit",
        help="train a set of runs, here or on a cluster",
        usage="muzero2048 submit [-h] CONFIG [CONFIG ...] [key=value ...] [key=a,b,c ...] [options]",
        epilog="docs/launch.md explains lists, names of runs and cluster files",
    )
    parser.add_argument(
        "words", nargs="+", metavar="CONFIG|key=a,b", help="YAML files, and keys of them with one or several values"
    )
    parser.add_argument("--seeds", default="", metavar="1-8", help="one run for each seed, such as 1-8 or 1,5-7")
    parser.add_argument("--group", default="", metavar="NAME", help="group of the runs (default: that of the config)")
    parser.add_argument("--rows", type=Path, metavar="FILE", help="one run for each line of key=value words")
    parser.add_argument(
        "--on", default="local", metavar="FILE", help="where to train: a cluster file, or local (default: local)"
    )
    parser.add_argument("--dry-run", action="store_true", help="check everything and print the plan alone")
    parser.set_defaults(run=_run, overrides=[])


def _run(arguments: argparse.Namespace) -> int:
    from launch.jobs.plan import Request
    from launch.jobs.submit import submit

    words = [*arguments.words, *arguments.overrides]
    configs = tuple(Path(word) for word in words if "=" not in word)
    if not configs:
        raise UserError("submit needs a config, such as configs/quick/ntuple.yaml")
    overrides = tuple(word for word in words if "=" in word)
    request = Request(configs, overrides, arguments.seeds, arguments.group, arguments.rows)
    return submit(request, arguments.on, arguments.dry_run)
