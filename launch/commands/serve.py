"""`muzero2048 serve`."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from launch.commands.parser import Commands

PORT = 2048


def add(commands: "Commands") -> None:
    """Add the command."""
    parser = commands.add_parser(
        "serve",
        help="open a page in the browser to play, with the advice of players, and to watch them play",
        epilog="docs/view.md explains the page",
    )
    parser.add_argument(
        "runs", nargs="*", metavar="RUN|GROUP", help="runs, checkpoints or groups (default: all of --runs-folder)"
    )
    parser.add_argument("--runs-folder", type=Path, default=Path("runs"), help="folder of runs (default: runs)")
    parser.add_argument(
        "--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1, this machine alone)"
    )
    parser.add_argument("--port", type=int, default=PORT, help=f"port to listen on; 0: a free one (default: {PORT})")
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from launch.viewing.serve.server import serve

    serve(arguments.runs, arguments.runs_folder, arguments.host, arguments.port)
    return 0
