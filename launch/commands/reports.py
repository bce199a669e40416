"""Reports: `muzero2048 diagnose`, `compare`, `reproduce`, `tables` and `leaderboard`."""

import argparse
from pathlib import Path

from launch.commands.parser import Parser, add_json, add_runs_folder, add_selection, given, later
from launch.errors import UserError


def add(commands: Parser) -> None:
    """Add the commands."""
    for add_command in (_add_diagnose, _add_compare, _add_reproduce, _add_tables, _add_leaderboard):
        add_command(commands)


def _add_diagnose(commands: Parser) -> None:
    parser = commands.add_command(
        "diagnose",
        later(
            "launch.evaluation.diagnosis.diagnose",
            "diagnose_path",
            "path boards depth games simulations solution seed json",
        ),
        "errors of a learned model by depth, and values against the points that games then gave",
        epilog="launch/experiment/metrics.py defines the columns, docs/diagnostics.md explains them",
    )
    parser.add_argument("path", type=Path, metavar="PATH", help="a run folder or a checkpoint")
    parser.add_argument("--boards", type=int, default=512, metavar="N", help="boards of its own play (default: 512)")
    parser.add_argument("--depth", type=int, default=8, metavar="K", help="the last depth (default: 8)")
    parser.add_argument(
        "--games", type=int, default=32, metavar="N", help="games whose positions are valued (default: 32)"
    )
    parser.add_argument(
        "--simulations", type=int, metavar="N", help="of the games, per move, such as those of self-play"
    )
    parser.add_argument(
        "--solution", type=Path, metavar="FILE", help="of `solve`: exact values beside those of a player"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="seed of boards and games (default: 1)")
    add_json(parser)


def _add_compare(commands: Parser) -> None:
    parser = commands.add_command(
        "compare", _run_compare, "draw the learning curves of runs, with tables of their results"
    )
    add_selection(parser)
    parser.add_argument("--where", action="append", default=[], metavar="KEY=VALUE", help="only runs with this value")
    parser.add_argument("--since", metavar="DATE", help="only runs written since, e.g. 2026-11-24 or 2026-11-24T08:00")
    parser.add_argument(
        "--by",
        default="run.group",
        metavar="KEY[,KEY]",
        help="runs with equal values are seeds of one curve, which the page colours and divides into panels by these"
        " keys (default: run.group)",
    )
    add_runs_folder(parser)
    parser.add_argument("--x", choices=("env_steps", "games", "wall_hours"), default="env_steps", help="the x axis")
    parser.add_argument("--tile", type=int, default=2048, help="tile whose reach rate is drawn (default: 2048)")
    parser.add_argument("--out", type=Path, default=Path("comparison"), help="folder to write to (default: comparison)")


def _run_compare(arguments: argparse.Namespace) -> None:
    from launch.report.compare import compare
    from launch.report.selection import select
    from ntuple.core.games.known import GOALS

    if arguments.tile not in GOALS:
        raise UserError(f"--tile is {arguments.tile}; give one of {', '.join(map(str, GOALS))}")
    configs = select(arguments.runs, arguments.where, arguments.since, arguments.runs_folder)
    compare(configs, arguments.by.split(","), arguments.x, arguments.tile, arguments.out)


def _add_reproduce(commands: Parser) -> None:
    parser = commands.add_command(
        "reproduce",
        _run_reproduce,
        "train and evaluate the rows of a paper's table, and print them beside the paper's",
        epilog="docs/papers.md explains tables, budgets and caveats",
    )
    parser.add_argument(
        "table", nargs="?", metavar="TABLE", help="such as guei-table-5, or a YAML file; none: list all with their time"
    )
    parser.add_argument(
        "--budget", type=float, default=1.0, metavar="SHARE", help="share of the paper's moves of training (default: 1)"
    )
    parser.add_argument("--rows", default="", metavar="ROW,ROW", help="rows to train and evaluate (default: all)")
    parser.add_argument("--columns", default="", metavar="COL,COL", help="columns to evaluate (default: all)")
    parser.add_argument("--seeds", default="1", metavar="1-5", help="training seeds of each row (default: 1)")
    parser.add_argument("--games", type=int, metavar="N", help="most games of an evaluation (default: the paper's)")
    parser.add_argument("--on", metavar="FILE", help="a cluster file, local or slurm (default: in this process)")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write the table here (default: in runs/)")


def _run_reproduce(arguments: argparse.Namespace) -> int:
    from launch.jobs.plan import parse_seeds
    from launch.report.papers.plan import Scale
    from launch.report.papers.reproduce import list_tables, reproduce

    scale = Scale(arguments.budget, tuple(parse_seeds(arguments.seeds)), arguments.games)
    if arguments.table is None:
        if options := given(arguments, ("rows", "columns", "on", "csv")):
            raise UserError(f"{options[0]} needs a TABLE, such as guei-table-5")
        return list_tables(scale)
    rows, columns = _names(arguments.rows), _names(arguments.columns)
    return reproduce(arguments.table, rows, columns, scale, arguments.on, arguments.csv)


def _names(words: str) -> list[str]:
    return [name.strip() for name in words.split(",") if name.strip()]


def _add_tables(commands: Parser) -> None:
    parser = commands.add_command(
        "tables",
        later("launch.report.published.markdown_tables", "write_tables", "files check"),
        "write the result tables of Markdown files from evaluation files",
    )
    parser.add_argument(
        "files",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="a Markdown file; launch/report/published/markdown_tables.py has the form",
    )
    parser.add_argument("--check", action="store_true", help="change nothing; exit code 2 if a table differs")


def _add_leaderboard(commands: Parser) -> None:
    parser = commands.add_command(
        "leaderboard",
        later("launch.report.published.leaderboard", "write_leaderboard", "paths out check"),
        "write the best results on each board, and those of papers, as a page",
    )
    parser.add_argument(
        "paths",
        nargs="*",
        type=Path,
        metavar="FILE|RUN",
        help="evaluation files, or runs for their final evaluations (default: docs/evaluations/*.json)",
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="the Markdown file (default: docs/leaderboard.md)")
    parser.add_argument("--check", action="store_true", help="change nothing; exit code 2 if the file differs")
