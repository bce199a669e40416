"""`muzero2048 moves`."""

import argparse

from launch.commands.parser import Parser, add_json, add_player, add_search, search_of_a_path


def add(commands: Parser) -> None:
    """Add the command."""
    parser = commands.add_command(
        "moves",
        _run,
        "analyse a board: each move's reward, value, and search depth or visits",
        usage="muzero2048 moves [-h] PATH --position POSITION [options] [search.key=value ...]",
        epilog='a position is rows of tiles, "2 4 0 8 / 0 8 2 0 / ...", or the word of a bitboard, 0x130021',
    )
    add_player(parser)
    parser.add_argument("--position", required=True, help="the board before the move")
    add_search(parser)
    add_json(parser)


def _run(arguments: argparse.Namespace) -> None:
    from launch.evaluation.boards.analyse import print_moves
    from launch.evaluation.loading import load_player

    player = load_player(arguments.path, search_of_a_path(arguments), arguments.board)
    print_moves(player.name, player.advise(arguments.position), arguments.json)
