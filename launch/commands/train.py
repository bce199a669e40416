"""`muzero2048 train`."""

from pathlib import Path

from launch.commands.parser import Parser, add_config_overrides, later
from launch.experiment.examples import examples_folder


def add(commands: Parser) -> None:
    """Add the command."""
    parser = commands.add_command(
        "train",
        later("launch.train.loop", "train", "config", "overrides", "resume"),
        "train one experiment",
        usage="muzero2048 train [-h] CONFIG [key=value ...] [--resume]",
        epilog=f"muzero2048 config CONFIG prints every key; example configs are in {examples_folder()}",
    )
    parser.add_argument("config", type=Path, metavar="CONFIG", help="a YAML file, or the folder of a run")
    add_config_overrides(parser)
    parser.add_argument("--resume", action="store_true", help="go on from the newest checkpoint, if there is one")
