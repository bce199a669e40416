"""`muzero2048 wandb`."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from launch.commands.parser import Parser

if TYPE_CHECKING:
    from launch.commands.parser import Commands


def add(commands: "Commands") -> None:
    """Add the command with its tools."""
    parser = commands.add_parser("wandb", help="runs in wandb: upload, workspace, reports")
    tools = parser.add_subparsers(required=True, metavar="TOOL", parser_class=Parser)
    _add_sync(tools)
    _add_rebuild(tools)
    _add_workspace(tools)
    _add_report(tools)


def _add_sync(tools: "Commands") -> None:
    tool = tools.add_parser("sync", help="upload runs from metrics.jsonl, each row once")
    tool.add_argument(
        "runs",
        nargs="*",
        metavar="RUN|GROUP|GLOB",
        help="run folders, folders of runs, patterns in quotes, or groups (default: all of --runs-folder)",
    )
    tool.add_argument("--runs-folder", type=Path, default=Path("runs"), help="folder of runs (default: runs)")
    tool.set_defaults(run=_sync)


def _add_rebuild(tools: "Commands") -> None:
    tool = tools.add_parser("rebuild", help="write wandb's files of runs again from metrics.jsonl, whole and offline")
    tool.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="run folders")
    tool.set_defaults(run=_rebuild)


def _add_workspace(tools: "Commands") -> None:
    tool = tools.add_parser("workspace", help="save a workspace: scores, speed, diagnostics of learners")
    _add_project(tool)
    tool.add_argument("--url", help="of a saved workspace that is replaced (default: a new one)")
    tool.add_argument("--json", type=Path, metavar="FILE", help="write what would be sent to a file; nothing is sent")
    tool.set_defaults(run=_workspace)


def _add_report(tools: "Commands") -> None:
    tool = tools.add_parser("report", help="save a report that compares groups: curves, and a table of evaluations")
    tool.add_argument("groups", nargs="+", metavar="GROUP", help="groups of runs, run.group of their configs")
    tool.add_argument("--runs-folder", type=Path, default=Path("runs"), help="folder of runs (default: runs)")
    _add_project(tool)
    tool.set_defaults(run=_report)


def _add_project(tool: argparse.ArgumentParser) -> None:
    tool.add_argument("--project", default="muzero2048", help="of wandb, run.wandb_project (default: muzero2048)")
    tool.add_argument("--entity", help="of wandb: a user or a team (default: that of the key)")


def _sync(arguments: argparse.Namespace) -> int:
    from launch.report.wandb.sync import sync

    sync(arguments.runs, arguments.runs_folder)
    return 0


def _rebuild(arguments: argparse.Namespace) -> int:
    from launch.train.wandb_sink import rebuild

    for run in arguments.runs:
        rebuild(run)
    return 0


def _workspace(arguments: argparse.Namespace) -> int:
    from launch.report.wandb.workspace import save_workspace

    save_workspace(arguments.entity, arguments.project, arguments.url, arguments.json)
    return 0


def _report(arguments: argparse.Namespace) -> int:
    from launch.report.wandb.report import save_report

    save_report(arguments.groups, arguments.runs_folder, arguments.entity, arguments.project)
    return 0
