"""`muzero2048 moves`."""

import argparse
from typing import TYPE_CHECKING

from launch.commands.parser import add_json, add_player, add_search, search_of_a_path

if TYPE_CHECKING:
    from launch.commands.parser import Commands


def add(commands: "Commands") -> None:
    """Add the command."""
    parser = commands.add_parser(
        "moves",
        help="analyse a board: each move's reward, value, and search depth or visits",
        usage="muzero2048 moves [-h] PATH --position POSITION [options] [search.key=value ...]",
        epilog='a position is rows of tiles, "2 4 0 8 / 0 8 2 0 / ...", or the word of a bitboard, 0x130021',
    )
    add_player(parser)
    parser.add_argument("--position", required=True, help="the board before the move")
    add_search(parser)
    add_json(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from launch.evaluation.boards.analyse import print_moves
    from launch.evaluation.loading import load_player

    player = load_player(arguments.path, search_of_a_path(arguments), arguments.board)
    print_moves(player.name, player.advise(arguments.position), arguments.json)
    return 0
