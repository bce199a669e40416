"""`muzero2048 serve`."""

from launch.commands.parser import Parser, add_runs_folder, later

PORT = 2048


def add(commands: Parser) -> None:
    """Add the command."""
    parser = commands.add_command(
        "serve",
        later("launch.viewing.serve.server", "serve", "runs", "runs_folder", "host", "port"),
        "open a page in the browser to play, with the advice of players, and to watch them play",
        epilog="docs/view.md explains the page",
    )
    parser.add_argument(
        "runs", nargs="*", metavar="RUN|GROUP", help="runs, checkpoints or groups (default: all of --runs-folder)"
    )
    add_runs_folder(parser)
    parser.add_argument(
        "--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1, this machine alone)"
    )
    parser.add_argument("--port", type=int, default=PORT, help=f"port to listen on; 0: a free one (default: {PORT})")
