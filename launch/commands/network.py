"""`muzero2048 network`."""

import argparse
from pathlib import Path

from launch.commands.parser import Parser

TOOLS = {
    "inspect": "print a network's tables, the share of weights touched, and the most extreme weights",
    "average": "average networks of one shape, such as the checkpoints of a run (Guei 2023, sec. 4.2)",
    "fold": "add tuples that lie inside larger ones to these: the same values, fewer entries to look up",
    "convert": "from a checkpoint to a .w file of TDL2048+, or from a .w file to a checkpoint",
}


def add(commands: Parser) -> None:
    """Add the command with its tools."""
    tools = commands.add_command("network", None, "inspect, average, fold and convert n-tuple networks")
    for name, text in TOOLS.items():
        tool = tools.add_command(name, _run, text)
        number = "+" if name == "average" else 1
        tool.add_argument("paths", nargs=number, type=Path, metavar="PATH", help="a run, a checkpoint or a .w file")
        tool.add_argument("--stages", default="", help="thresholds of a .w file of several stages, like 0,16384")
        if name != "inspect":
            tool.add_argument("--out", type=Path, required=True, help="checkpoint to write; for convert also a .w file")
            tool.add_argument("--half", action="store_true", help="weights in half precision: half the file size")
        tool.set_defaults(tool=name)


def _run(arguments: argparse.Namespace) -> None:
    from launch.commands import network_tools

    if arguments.tool == "inspect":
        network_tools.inspect(arguments.paths[0], arguments.stages)
    else:
        network_tools.transform(arguments.tool, arguments.paths, arguments.stages, arguments.out, arguments.half)
