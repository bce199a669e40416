"""`muzero2048 config`."""

import argparse
from typing import Any

from launch.commands import completion
from launch.commands.parser import Parser, add_config_overrides, add_json
from launch.experiment.registry import LEARNERS


def add(commands: Parser) -> None:
    """Add the command."""
    parser = commands.add_command(
        "config",
        _run,
        "print every key of a config, with its value, type, range and meaning",
        usage="muzero2048 config [-h] CONFIG|LEARNER [key=value ...] [--json]",
    )
    text = f"a YAML file, a run, a checkpoint, or a learner: {', '.join(LEARNERS)}"
    config: Any = parser.add_argument("config", metavar="CONFIG|LEARNER", help=text)
    config.completer = completion.complete_learner
    add_config_overrides(parser)
    add_json(parser)


def _run(arguments: argparse.Namespace) -> None:
    from launch.experiment.describe import describe

    describe(arguments.config, arguments.overrides, arguments.json)
