"""`muzero2048 diagnose`."""

from pathlib import Path

from launch.commands.parser import Parser, add_json, later


def add(commands: Parser) -> None:
    """Add the command."""
    parser = commands.add_command(
        "diagnose",
        later("launch.evaluation.diagnose", "diagnose_path", "path", "boards", "depth", "seed", "json"),
        "errors of a learned model by depth, against the true board; for n-tuples the size of expectimax trees",
        epilog="launch/experiment/metrics.py defines the columns, docs/diagnostics.md explains them",
    )
    parser.add_argument("path", type=Path, metavar="PATH", help="a run folder or a checkpoint of muzero or ntuple")
    parser.add_argument("--boards", type=int, default=512, metavar="N", help="boards of its own play (default: 512)")
    parser.add_argument("--depth", type=int, default=8, metavar="K", help="the last depth (default: 8)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="seed of the boards (default: 1)")
    add_json(parser)
