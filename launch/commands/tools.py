"""Tools: `muzero2048 bench`, `network`, `solve`, `endgame`, `judge`, `positions` and `wandb`."""

import argparse
import importlib
from pathlib import Path

from launch.commands import completion
from launch.commands.parser import (
    Parser,
    add_json,
    add_overrides,
    add_runs_folder,
    add_selection,
    config_and_overrides,
    later,
)
from launch.errors import UserError

KINDS = ("env", "ntuple", "expectimax", "mcts", "search", "learner")
TOOLS = {
    "inspect": "print a network's tables, the share of weights touched, and the most extreme weights",
    "average": "average networks of one shape, such as the checkpoints of a run (Guei 2023, sec. 4.2)",
    "fold": "add tuples that lie inside larger ones to these: the same values, fewer entries to look up",
    "convert": "to a checkpoint for play alone, smaller, from any checkpoint; to and from a .w file of TDL2048+",
}


def add(commands: Parser) -> None:
    """Add the commands."""
    for add_command in (_add_bench, _add_network, _add_solve, _add_endgame, _add_judge, _add_positions, _add_wandb):
        add_command(commands)


def _add_bench(commands: Parser) -> None:
    parser = commands.add_command("bench", _run_bench, "measure speed, also of other libraries")
    text = "env: steps/s; ntuple, expectimax, mcts, search, learner: moves/s"
    parser.add_argument("what", choices=KINDS, help=text)
    of_config = "for learner: a MuZero experiment, and key=value to change it"
    parser.add_argument("config", nargs="?", type=Path, metavar="CONFIG", help=of_config)
    add_overrides(parser, of_config, completion.complete_config_override)
    add_json(parser)


def _run_bench(arguments: argparse.Namespace) -> None:
    from launch.bench import rows
    from launch.progress import progress_line

    config, overrides = config_and_overrides(arguments)
    if config and arguments.what != "learner":
        raise UserError(f"bench {arguments.what} takes no config, bench learner does: leave out {config}")
    # Imported only now: the peers, pgx and jumanji, are installed with the extra `bench` alone.
    bench = importlib.import_module(f"launch.bench.{arguments.what}").bench
    with progress_line():
        measured = bench(config, overrides) if arguments.what == "learner" else bench()
    rows.show(measured, arguments.json)


def _add_network(commands: Parser) -> None:
    tools = commands.add_command("network", None, "inspect, average, fold and convert networks")
    for name, text in TOOLS.items():
        tool = tools.add_command(name, _run_network, text)
        number = "+" if name == "average" else 1
        tool.add_argument("paths", nargs=number, type=Path, metavar="PATH", help="a run, a checkpoint or a .w file")
        tool.add_argument("--stages", default="", help="thresholds of a .w file of several stages, like 0,16384")
        if name != "inspect":
            tool.add_argument("--out", type=Path, required=True, help="checkpoint to write; for convert also a .w file")
            tool.add_argument("--half", action="store_true", help="weights in half precision: half the file size")
        tool.set_defaults(tool=name)


def _run_network(arguments: argparse.Namespace) -> None:
    from launch.commands import network_tools

    if arguments.stages and not any(path.suffix == network_tools.W_SUFFIX for path in arguments.paths):
        raise UserError("--stages is of a .w file, and a run or checkpoint has its own; leave it out")
    if arguments.tool == "inspect":
        network_tools.inspect(arguments.paths[0], arguments.stages)
    else:
        network_tools.transform(arguments.tool, arguments.paths, arguments.stages, arguments.out, arguments.half)


def _add_solve(commands: Parser) -> None:
    parser = commands.add_command(
        "solve",
        _run_solve,
        "solve a small board exactly, save the solution, look up positions",
        epilog='a position is rows of tiles, "2 4 0 / 0 8 2", or the word of a bitboard, 0x130021; see docs/solve.md',
    )
    parser.add_argument("--board", help="rows x columns, e.g. 2x3: to its end up to nine cells")
    parser.add_argument("--game", metavar="NAME", help="2048 (default), 2584, 2584-hard or threes")
    parser.add_argument(
        "--against", metavar="OPPONENT", help="adversary, minimax or expectiminimax: it places the tiles"
    )
    parser.add_argument("--until", type=int, metavar="TILE", help="the game ends with this tile")
    parser.add_argument("--tile", type=int, metavar="TILE", help="also find the probability of reaching this tile")
    parser.add_argument("--out", type=Path, metavar="FILE", help="save the solution (3x3: 1.4 GB)")
    parser.add_argument("--solution", type=Path, metavar="FILE", help="look up a saved solution in place of solving")
    parser.add_argument("--position", help="print the kind of this position and its value")
    parser.add_argument("--hint", metavar="TILE", help="Threes!: the next tile of the position")
    parser.add_argument("--last", metavar="MOVE", help="Threes!: the move before the position, up, right, down or left")
    add_json(parser)


def _run_solve(arguments: argparse.Namespace) -> None:
    from launch.evaluation.boards.solve import Request, run_solve

    game = (arguments.board, arguments.until, arguments.tile, arguments.out)
    asked = (arguments.position, arguments.game, arguments.against, arguments.hint, arguments.last)
    run_solve(Request(*game, arguments.solution, *asked, as_json=arguments.json))


def _add_endgame(commands: Parser) -> None:
    parser = commands.add_command(
        "endgame",
        _run_endgame,
        "compute a table of exact endgames of 2048 on 4x4, look up boards",
        epilog="a pattern is four rows of L (locked), S (slides in its row), . (free), T (free, the target counts); "
        "see docs/endgames.md",
    )
    parser.add_argument("pattern", nargs="?", metavar="PATTERN", help="such as LLLL/LL../..../....")
    parser.add_argument("--target", type=int, metavar="TILE", help="the tile to be built on the free cells")
    parser.add_argument("--largest-sum", type=int, metavar="SUM", help="of the free tiles: a smaller table")
    parser.add_argument("--out", type=Path, metavar="FILE", help="save the table; without it the size is printed")
    parser.add_argument("--table", type=Path, metavar="FILE", help="a saved table, in place of a PATTERN")
    parser.add_argument("--position", help="print the probability of the target after each move of this board")
    add_json(parser)


def _run_endgame(arguments: argparse.Namespace) -> int:
    from launch.evaluation.boards.endgame import Request, run_endgame

    asked = (arguments.pattern, arguments.target, arguments.largest_sum)
    files = (arguments.out, arguments.table)
    return run_endgame(Request(*asked, *files, arguments.position, as_json=arguments.json))


def _add_judge(commands: Parser) -> None:
    parser = commands.add_command(
        "judge",
        later("launch.evaluation.records.judge", "judge", "file board game whole result false_alarm json"),
        "replay game records by the rules, and test their spawns; exit code 2 if something is wrong",
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="one game a line, in the notation of docs/records.md")
    parser.add_argument("--board", help="rows x columns (default: that of the file's header, or 4x4)")
    parser.add_argument("--game", metavar="NAME", help="its game (default: that of the file's header, or 2048)")
    parser.add_argument("--whole", action="store_true", help="a game that stops before it is over is wrong")
    parser.add_argument(
        "--result", type=Path, metavar="FILE", help="an evaluation of these games: note there that they are right"
    )
    parser.add_argument(
        "--false-alarm",
        type=float,
        default=1e-6,
        metavar="P",
        help="chance that right spawns are called wrong (default: 1e-6)",
    )
    add_json(parser)


def _add_positions(commands: Parser) -> None:
    parser = commands.add_command(
        "positions",
        later("launch.evaluation.records.positions", "write_positions", "files sums a_game seed out raise_from json"),
        "choose positions of recorded games, from which a training can begin (ntuple.start.kind=positions)",
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="game records (evaluate --records)")
    parser.add_argument(
        "--sums",
        nargs="+",
        type=int,
        required=True,
        metavar="SUM",
        help="sums of the tiles: from each one to the next is a stage, and all stages get equally many positions",
    )
    parser.add_argument(
        "--a-game", type=int, default=60, metavar="N", help="most positions of a game in a stage (default: 60)"
    )
    parser.add_argument(
        "--raise-from",
        type=int,
        default=0,
        metavar="TILE",
        help="raise this tile and larger ones by one level, in 2048 to twice their size: boards of a later stage, from "
        "games that do not reach it (default: none)",
    )
    parser.add_argument("--seed", type=int, default=0, help="of the draw (default: 0)")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="an array of numpy, named FILE.npy")
    add_json(parser)


def _add_wandb(commands: Parser) -> None:
    tools = commands.add_command("wandb", None, "runs in wandb: upload, workspace, reports")

    tool = tools.add_command(
        "sync",
        later("launch.report.wandb.sync", "sync", "runs runs_folder"),
        "upload runs from metrics.jsonl, each row once",
    )
    add_selection(tool)
    add_runs_folder(tool)

    text = "write wandb's files of runs again from metrics.jsonl, whole and offline"
    tool = tools.add_command("rebuild", _rebuild, text)
    tool.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="run folders")

    tool = tools.add_command(
        "workspace",
        later("launch.report.wandb.workspace", "save_workspace", "entity project url json"),
        "save a workspace: scores, speed, diagnostics of learners",
    )
    _add_project(tool)
    tool.add_argument("--url", help="of a saved workspace that is replaced (default: a new one)")
    tool.add_argument("--json", type=Path, metavar="FILE", help="write what would be sent to a file; nothing is sent")

    text = "save a report that compares groups: curves, and a table of evaluations"
    tool = tools.add_command(
        "report", later("launch.report.wandb.report", "save_report", "groups runs_folder entity project"), text
    )
    tool.add_argument("groups", nargs="+", metavar="GROUP", help="groups of runs, run.group of their configs")
    add_runs_folder(tool)
    _add_project(tool)


def _add_project(tool: argparse.ArgumentParser) -> None:
    tool.add_argument("--project", default="muzero2048", help="of wandb, run.wandb_project (default: muzero2048)")
    tool.add_argument("--entity", help="of wandb: a user or a team (default: that of the key)")


def _rebuild(arguments: argparse.Namespace) -> None:
    from launch.train.wandb_sink import rebuild

    for run in arguments.runs:
        rebuild(run)
