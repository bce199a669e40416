"""`muzero2048 train`."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from launch.commands.parser import add_config_overrides
from launch.experiment.examples import examples_folder

if TYPE_CHECKING:
    from launch.commands.parser import Commands


def add(commands: "Commands") -> None:
    """Add the command."""
    parser = commands.add_parser(
        "train",
        help="train one experiment",
        usage="muzero2048 train [-h] CONFIG [key=value ...] [--resume]",
        epilog=f"muzero2048 config CONFIG prints every key; example configs are in {examples_folder()}",
    )
    parser.add_argument("config", type=Path, metavar="CONFIG", help="a YAML file, or the folder of a run")
    add_config_overrides(parser)
    parser.add_argument("--resume", action="store_true", help="go on from the newest checkpoint, if there is one")
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from launch.train.loop import train

    return train(arguments.config, arguments.overrides, arguments.resume)
