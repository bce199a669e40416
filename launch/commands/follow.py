"""`muzero2048 status`, `muzero2048 logs` and `muzero2048 stop`."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from launch.commands.parser import add_json

if TYPE_CHECKING:
    from launch.commands.parser import Commands


def add(commands: "Commands") -> None:
    """Add the commands."""
    parser = commands.add_parser("status", help="show where runs stand: state, progress, scores, time left, errors")
    parser.add_argument("runs", nargs="*", metavar="RUN|GROUP", help="runs or groups (default: all runs)")
    _add_runs_folder(parser)
    parser.add_argument("--watch", action="store_true", help="show them again every few seconds, until Ctrl-C")
    add_json(parser)
    parser.set_defaults(run=_status)

    parser = commands.add_parser("logs", help="print the output of a run that submit started")
    parser.add_argument("name", metavar="RUN", help="a run")
    _add_runs_folder(parser)
    parser.add_argument("-f", "--follow", action="store_true", help="go on until the run ends")
    parser.set_defaults(run=_logs)

    parser = commands.add_parser("stop", help="stop runs in training after they saved")
    parser.add_argument("runs", nargs="+", metavar="RUN|GROUP", help="runs or groups")
    _add_runs_folder(parser)
    parser.set_defaults(run=_stop)


def _add_runs_folder(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--runs-folder", type=Path, default=Path("runs"), metavar="DIR", help="folder of the runs (default: runs)"
    )


def _status(arguments: argparse.Namespace) -> int:
    from launch.jobs.following import status

    return status(arguments.runs, arguments.runs_folder, arguments.watch, arguments.json)


def _logs(arguments: argparse.Namespace) -> int:
    from launch.jobs.following import logs

    return logs(arguments.name, arguments.runs_folder, arguments.follow)


def _stop(arguments: argparse.Namespace) -> int:
    from launch.jobs.following import stop

    return stop(arguments.runs, arguments.runs_folder)
