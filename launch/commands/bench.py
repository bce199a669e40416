"""`muzero2048 bench`."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from launch.commands import completion
from launch.commands.parser import add_json, add_overrides

if TYPE_CHECKING:
    from launch.commands.parser import Commands


def add(commands: "Commands") -> None:
    """Add the command."""
    parser = commands.add_parser("bench", help="measure speed, also of other libraries, and the accuracy of searches")
    what = (
        "env: steps/s; ntuple, expectimax, mcts, search, learner: moves/s; accuracy: error of searches, 10 minutes;"
        " gpu: kernel launches of the learner's programs, compiled for a GPU that need not be there"
    )
    kinds = ("env", "ntuple", "expectimax", "mcts", "search", "learner", "accuracy", "gpu")
    parser.add_argument("what", choices=kinds, help=what)
    of_config = "for learner and gpu: a MuZero experiment, and key=value to change it"
    parser.add_argument("config", nargs="?", type=Path, metavar="CONFIG", help=of_config)
    add_overrides(parser, of_config, completion.complete_config_override)
    parser.add_argument("--gpus", type=int, default=1, metavar="N", help="for gpu: GPUs to compile for (default: 1)")
    add_json(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from launch.bench import run_bench

    words = arguments.overrides if arguments.config is None else [str(arguments.config), *arguments.overrides]
    config = Path(words.pop(0)) if words and "=" not in words[0] else None  # it may also come after --json
    return run_bench(arguments.what, config, words, arguments.gpus, arguments.json)
