"""`muzero2048 play`."""

import argparse
from typing import TYPE_CHECKING

from launch.commands.parser import add_search, search_of_a_path

if TYPE_CHECKING:
    from launch.commands.parser import Commands


def add(commands: "Commands") -> None:
    """Add the command."""
    parser = commands.add_parser(
        "play",
        help="play in the terminal, alone or with the advice of a player",
        usage="muzero2048 play [-h] [RUN] [options] [search.key=value ...]",
        epilog="docs/play.md explains the keys",
    )
    parser.add_argument(
        "path",
        nargs="?",
        metavar="RUN",
        help="a run folder, a checkpoint, or: random, greedy, heuristic (default: none)",
    )
    parser.add_argument("--board", help="without a run: rows x columns (default: 4x4)")
    parser.add_argument("--seed", type=int, help="seed of the spawns: the same game again (default: a new one)")
    add_search(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    if arguments.path is not None and arguments.path.startswith("search."):  # a word of a search in the place of RUN
        arguments.overrides, arguments.path = [arguments.path, *arguments.overrides], None
    options = search_of_a_path(arguments)
    from launch.viewing.terminal.play import play

    play(arguments.path, arguments.board, arguments.seed, options)
    return 0
