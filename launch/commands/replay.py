"""`muzero2048 replay`."""

import argparse
import sys
from pathlib import Path

from launch.commands.parser import Parser, add_search, search_of_a_path
from launch.evaluation.search_options import SEARCHES


def add(commands: Parser) -> None:
    """Add the command."""
    parser = commands.add_command(
        "replay",
        _run,
        "make one HTML page of recorded games: boards, values, the worst moves first",
        usage="muzero2048 replay [-h] RUN|FILE [options] [search.key=value ...]",
        epilog="docs/replay.md explains the page and the judge",
    )
    parser.add_argument(
        "path",
        metavar="RUN|FILE",
        help="a file of game records (evaluate --records), or a player: a run, a checkpoint, random, greedy, heuristic",
    )
    parser.add_argument("--out", type=Path, default=Path("replay.html"), help="the page (default: replay.html)")
    parser.add_argument(
        "--game",
        default="median",
        help="the game that opens first: its number, best, worst or median (default: median)",
    )
    parser.add_argument("--games", type=int, metavar="N", help="games to play (default: 10), or to read (default: all)")
    parser.add_argument("--seed", type=int, help="seed of the games that are played (default: 0)")
    parser.add_argument("--board", help="rows x columns of a file without header, or of random, greedy, heuristic")
    parser.add_argument("--player", metavar="PATH", help="of a FILE: a run or checkpoint whose values are shown")
    add_search(parser)
    judge = parser.add_argument_group("the judge of the moves")
    judge.add_argument("--judge", metavar="PATH", help="an exact solution (by solve), a run, a checkpoint or heuristic")
    judge.add_argument("--judge-search", choices=SEARCHES, help="its --search")
    judge.add_argument("--judge-plies", type=int, metavar="N", help="its --plies")
    judge.add_argument("--judge-simulations", type=int, metavar="N", help="its --simulations")
    judge.add_argument("--judge-every", type=int, default=1, metavar="N", help="judge every Nth move (default: 1)")


def _run(arguments: argparse.Namespace) -> int:
    from launch.evaluation.search_options import SearchOptions
    from launch.signals import INTERRUPTED
    from launch.viewing.replay.replay import ReplayRequest, replay

    request = ReplayRequest(
        path=arguments.path,
        player=arguments.player,
        board=arguments.board,
        games=arguments.games,
        seed=arguments.seed,
        game=arguments.game,
        options=search_of_a_path(arguments),
        judge=arguments.judge,
        judge_options=SearchOptions(
            search=arguments.judge_search, plies=arguments.judge_plies, simulations=arguments.judge_simulations
        ),
        judge_every=arguments.judge_every,
        out=arguments.out,
    )
    try:
        replay(request)
    except KeyboardInterrupt:
        print("stopped: no page is written", file=sys.stderr)
        return INTERRUPTED
    return 0
