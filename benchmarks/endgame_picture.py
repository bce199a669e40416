"""A picture of what moves lose in exact endgames against the depth of the search.

python -m benchmarks.endgame_picture PICTURE.png LABEL DEPTH=FILE DEPTH=FILE ... LABEL DEPTH=FILE ...

Each FILE has the output of `python -m benchmarks.endgame_moves ... --json`. DEPTH is the plies or the simulations of
its search. A word without "=" names the line of the files after it. A line has the mean loss of the moves that do not
give the target up, times 1,000, with its interval of 95%.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.endgame_moves import LOST_BY_OTHERS
from launch.cli import exit_code_of
from launch.commands.parser import Parser
from launch.errors import UserError
from launch.files import check_output
from launch.report.figures import PlotLine, draw

TITLE = "lost probability in 1,000 moves that do not give up"
UNIT = 1000


def parse(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the words of the command line."""
    parser = Parser(prog="python -m benchmarks.endgame_picture", description="What moves lose by depth of search.")
    parser.add_argument("picture", type=Path, metavar="PICTURE.png", help="file to write")
    parser.add_argument("words", nargs="+", metavar="LABEL | DEPTH=FILE", help="a line, and the files of its points")
    return parser.parse_args(argv)


def read_lines(words: Sequence[str]) -> list[PlotLine]:
    """Return the lines; UserError if a word or its file cannot be read."""
    lines: list[tuple[str, list[tuple[float, ...]]]] = []
    for word in words:
        depth, equals, path = word.partition("=")
        if not equals:
            lines.append((word, []))
        elif not lines:
            raise UserError(f"{word}: give a LABEL before the first DEPTH=FILE")
        else:
            lines[-1][1].append(_point(word, depth, Path(path)))
    if empty := [label for label, points in lines if not points]:
        raise UserError(f"{empty[0]}: no DEPTH=FILE follows this label")
    return [PlotLine(label, *np.array(points).T) for label, points in lines]


def _point(word: str, depth: str, path: Path) -> tuple[float, ...]:
    """Return depth, loss and the ends of its interval."""
    try:
        rows = json.loads(path.read_bytes().splitlines()[-1])["rows"]
        found = [row["name"] for row in rows].index(LOST_BY_OTHERS)
        return float(depth), *(row["value"] * UNIT for row in rows[found : found + 3])
    except (OSError, ValueError, LookupError, TypeError):
        raise UserError(f"{word}: needs a number and a file with the output of endgame_moves --json") from None


def main(argv: Sequence[str] | None = None) -> int:
    """Draw the picture; return the exit code."""

    def run() -> int:
        arguments = parse(argv)
        check_output(arguments.picture, "PICTURE.png")
        arguments.picture.write_bytes(draw(read_lines(arguments.words), "depth", TITLE, as_rate=False)["png"])
        return 0

    return exit_code_of(run)


if __name__ == "__main__":
    sys.exit(main())
