"""`muzero2048 play`."""

import argparse

from launch.commands.parser import Parser, add_search, search_of_a_path


def add(commands: Parser) -> None:
    """Add the command."""
    parser = commands.add_command(
        "play",
        _run,
        "play in the terminal, alone or with the advice of a player",
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


def _run(arguments: argparse.Namespace) -> None:
    if arguments.path is not None and arguments.path.startswith("search."):  # a word of a search in the place of RUN
        arguments.overrides, arguments.path = [arguments.path, *arguments.overrides], None
    options = search_of_a_path(arguments)
    from launch.viewing.terminal.play import play

    play(arguments.path, arguments.board, arguments.seed, options)
