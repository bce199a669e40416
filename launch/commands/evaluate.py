"""`muzero2048 evaluate`."""

import argparse
from pathlib import Path

from launch.commands.parser import Parser, add_json, add_player, add_search, is_path, search_options
from launch.errors import UserError


def add(commands: Parser) -> None:
    """Add the command."""
    parser = commands.add_command(
        "evaluate",
        _run,
        "play games with checkpoints and report the scores",
        usage="muzero2048 evaluate [-h] PATH [PATH ...] [options] [search.key=value ...]",
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
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write one row for each player")
    parser.add_argument(
        "--snapshots", action="store_true", help="evaluate every kept checkpoint of a run, each on games of its own"
    )
    add_json(parser)


def _run(arguments: argparse.Namespace) -> int:
    from launch.evaluation import evaluate, several, snapshots
    from launch.evaluation.loading import UNTRAINED, check_has_board
    from launch.evaluation.result import OutputOptions

    paths = [arguments.path, *filter(is_path, arguments.overrides)]
    options = search_options(arguments, [word for word in arguments.overrides if not is_path(word)])
    outputs = OutputOptions(
        records=arguments.records,
        solution=arguments.solution,
        keep=arguments.keep is not None,
        log=Path(arguments.keep) if arguments.keep else None,
        part=arguments.part,
        as_json=arguments.json,
    )
    games, seed = arguments.games, arguments.seed
    check_has_board(paths, arguments.board)
    if arguments.snapshots:
        if len(paths) > 1 or paths[0] in UNTRAINED:
            raise UserError(f"--snapshots evaluates the checkpoints of one run, not {' '.join(paths)}; give one RUN")
        return snapshots.evaluate_snapshots(Path(paths[0]), games, seed, options, outputs, arguments.csv)
    if len(paths) > 1:
        several.refuse_outputs_of_one(outputs, f"{len(paths)} players")
    players = [
        evaluate.prepare_path(path, games, seed, options, outputs, arguments.board if path in UNTRAINED else None)
        for path in paths
    ]
    return several.evaluate_players(players, arguments.csv, arguments.json)
