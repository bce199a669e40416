"""`muzero2048 wandb`."""

import argparse
from pathlib import Path

from launch.commands.parser import Parser, add_runs_folder, add_selection, later


def add(commands: Parser) -> None:
    """Add the command with its tools."""
    tools = commands.add_command("wandb", None, "runs in wandb: upload, workspace, reports")

    tool = tools.add_command(
        "sync",
        later("launch.report.wandb.sync", "sync", "runs", "runs_folder"),
        "upload runs from metrics.jsonl, each row once",
    )
    add_selection(tool)
    add_runs_folder(tool)

    text = "write wandb's files of runs again from metrics.jsonl, whole and offline"
    tool = tools.add_command("rebuild", _rebuild, text)
    tool.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="run folders")

    tool = tools.add_command(
        "workspace",
        later("launch.report.wandb.workspace", "save_workspace", "entity", "project", "url", "json"),
        "save a workspace: scores, speed, diagnostics of learners",
    )
    _add_project(tool)
    tool.add_argument("--url", help="of a saved workspace that is replaced (default: a new one)")
    tool.add_argument("--json", type=Path, metavar="FILE", help="write what would be sent to a file; nothing is sent")

    text = "save a report that compares groups: curves, and a table of evaluations"
    tool = tools.add_command(
        "report", later("launch.report.wandb.report", "save_report", "groups", "runs_folder", "entity", "project"), text
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
