"""`muzero2048 bench`."""

import argparse
import importlib
from pathlib import Path

from launch.commands import completion
from launch.commands.parser import Parser, add_json, add_overrides, config_and_overrides
from launch.errors import UserError

KINDS = ("env", "ntuple", "expectimax", "mcts", "search", "learner")


def add(commands: Parser) -> None:
    """Add the command."""
    parser = commands.add_command("bench", _run, "measure speed, also of other libraries")
    text = "env: steps/s; ntuple, expectimax, mcts, search, learner: moves/s"
    parser.add_argument("what", choices=KINDS, help=text)
    of_config = "for learner: a MuZero experiment, and key=value to change it"
    parser.add_argument("config", nargs="?", type=Path, metavar="CONFIG", help=of_config)
    add_overrides(parser, of_config, completion.complete_config_override)
    add_json(parser)


def _run(arguments: argparse.Namespace) -> None:
    from launch.bench import rows

    config, overrides = config_and_overrides(arguments)
    if config and arguments.what != "learner":
        raise UserError(f"bench {arguments.what} takes no config, bench learner does: leave out {config}")
    # Imported only now: the peers, pgx and jumanji, are installed with the dependency group `bench` alone.
    bench = importlib.import_module(f"launch.bench.{arguments.what}").bench
    rows.show(bench(config, overrides) if arguments.what == "learner" else bench(), arguments.json)
