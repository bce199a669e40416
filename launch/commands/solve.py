"""`muzero2048 solve`."""

import argparse
from pathlib import Path

from launch.commands.parser import Parser, add_json


def add(commands: Parser) -> None:
    """Add the command."""
    parser = commands.add_command(
        "solve",
        _run,
        "solve a small board exactly, save the solution, look up positions",
        epilog='a position is rows of tiles, "2 4 0 / 0 8 2", or the word of a bitboard, 0x130021; see docs/solve.md',
    )
    parser.add_argument("--board", help="rows x columns, e.g. 2x3: to its end up to nine cells")
    parser.add_argument("--until", type=int, metavar="TILE", help="the game ends with this tile")
    parser.add_argument("--tile", type=int, metavar="TILE", help="also find the probability of reaching this tile")
    parser.add_argument("--out", type=Path, metavar="FILE", help="save the solution (3x3: 1.4 GB)")
    parser.add_argument("--solution", type=Path, metavar="FILE", help="look up a saved solution in place of solving")
    parser.add_argument("--position", help="print the kind of this position and its value")
    add_json(parser)


def _run(arguments: argparse.Namespace) -> None:
    from launch.evaluation.boards.solve import Request, run_solve

    game = (arguments.board, arguments.until, arguments.tile, arguments.out)
    run_solve(Request(*game, arguments.solution, arguments.position, arguments.json))
