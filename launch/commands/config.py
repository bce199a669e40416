"""`muzero2048 config`."""

import argparse
from typing import TYPE_CHECKING, Any

from launch.commands import completion
from launch.commands.parser import add_config_overrides, add_json
from launch.experiment.registry import LEARNERS

if TYPE_CHECKING:
    from launch.commands.parser import Commands


def add(commands: "Commands") -> None:
    """Add the command."""
    parser = commands.add_parser(
        "config",
        help="print every key of a config, with its value, type, range and meaning",
        usage="muzero2048 config [-h] CONFIG|LEARNER [key=value ...] [--json]",
    )
    text = f"a YAML file, a run, a checkpoint, or a learner: {', '.join(LEARNERS)}"
    config: Any = parser.add_argument("config", metavar="CONFIG|LEARNER", help=text)
    config.completer = completion.complete_learner
    add_config_overrides(parser)
    add_json(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from launch.experiment.describe import describe

    describe(arguments.config, arguments.overrides, arguments.json)
    return 0
