"""`muzero2048 status`, `muzero2048 logs` and `muzero2048 stop`."""

from launch.commands.parser import Parser, add_json, add_runs_folder, later

FOLDER = {"metavar": "DIR", "help": "folder of the runs (default: runs)"}


def add(commands: Parser) -> None:
    """Add the commands."""
    parser = commands.add_command(
        "status",
        later("launch.jobs.following", "status", "runs", "runs_folder", "watch", "json"),
        "show where runs stand: state, progress, scores, time left, errors",
    )
    parser.add_argument("runs", nargs="*", metavar="RUN|GROUP", help="runs or groups (default: all runs)")
    add_runs_folder(parser, **FOLDER)
    parser.add_argument("--watch", action="store_true", help="show them again every few seconds, until Ctrl-C")
    add_json(parser)

    parser = commands.add_command(
        "logs",
        later("launch.jobs.following", "logs", "name", "runs_folder", "follow"),
        "print the output of a run that submit started",
    )
    parser.add_argument("name", metavar="RUN", help="a run")
    add_runs_folder(parser, **FOLDER)
    parser.add_argument("-f", "--follow", action="store_true", help="go on until the run ends")

    parser = commands.add_command(
        "stop", later("launch.jobs.following", "stop", "runs", "runs_folder"), "stop runs in training after they saved"
    )
    parser.add_argument("runs", nargs="+", metavar="RUN|GROUP", help="runs or groups")
    add_runs_folder(parser, **FOLDER)
