"""`muzero2048 evaluate`."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from launch.commands.parser import add_json, add_player, add_search, is_baseline, search_of_a_path

if TYPE_CHECKING:
    from launch.commands.parser import Commands


def add(commands: "Commands") -> None:
    """Add the command."""
    parser = commands.add_parser(
        "evaluate",
        help="play games with a checkpoint and report the scores",
        usage="muzero2048 evaluate [-h] PATH [options] [search.key=value ...]",
        epilog="docs/evaluate.md explains the searches and their fields",
    )
    add_player(parser)
    parser.add_argument("--games", type=int, default=1000, help="games to play (default: 1000)")
    parser.add_argument("--seed", type=int, help="seed of the games (default: that of the evaluation that ends a run)")
    add_search(parser)
    parser.add_argument("--records", type=Path, metavar="FILE", help="write the games, in the notation of judge")
    parser.add_argument(
        "--solution", type=Path, metavar="FILE", help="exact solution of a small board, by solve: print the regret"
    )
    parser.add_argument(
        "--keep",
        nargs="?",
        const="",
        metavar="FILE",
        help="keep the games as they end, and go on from them (default of FILE: in the run folder)",
    )
    parser.add_argument("--part", default="", metavar="I/N", help="play every Nth game, for one of N processes")
    add_json(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from launch.evaluation import evaluate
    from launch.evaluation.result import OutputOptions

    games, seed, options = arguments.games, arguments.seed, search_of_a_path(arguments)
    file = Path(arguments.keep) if arguments.keep else None
    outputs = OutputOptions(
        arguments.records, arguments.solution, arguments.keep is not None, file, arguments.part, arguments.json
    )
    if is_baseline(arguments):
        return evaluate.evaluate_baseline(arguments.path, arguments.board or "4x4", games, seed, options, outputs)
    return evaluate.evaluate_path(Path(arguments.path), games, seed, options, outputs)
