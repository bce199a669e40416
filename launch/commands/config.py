"""`muzero2048 config`."""

from typing import Any

from launch.commands import completion
from launch.commands.parser import Parser, add_config_overrides, add_json, later
from launch.experiment.registry import LEARNERS


def add(commands: Parser) -> None:
    """Add the command."""
    parser = commands.add_command(
        "config",
        later("launch.experiment.describe", "describe", "config", "overrides", "json"),
        "print every key of a config, with its value, type, range and meaning",
        usage="muzero2048 config [-h] CONFIG|LEARNER [key=value ...] [--json]",
    )
    text = f"a YAML file, a run, a checkpoint, or a learner: {', '.join(LEARNERS)}"
    config: Any = parser.add_argument("config", metavar="CONFIG|LEARNER", help=text)
    config.completer = completion.complete_learner
    add_config_overrides(parser)
    add_json(parser)
