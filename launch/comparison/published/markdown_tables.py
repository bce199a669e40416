"""`muzero2048 tables`: write the result tables of Markdown files from result files, so that both always agree.

    <!-- evaluations docs/evaluations/*.json -->
    ... the table, which the command replaces ...
    <!-- end of evaluations -->

Patterns are relative to the folder of the Markdown file. To publish a result, copy its file:
`cp runs/NAME/evaluations/FILE.json docs/evaluations/`.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from launch.errors import UserError
from launch.evaluation.result import read_result
from launch.evaluation.summary import short_number
from launch.files import write_text
from launch.run.metrics import TILES

BLOCK = re.compile(r"(<!-- evaluations (?P<patterns>[^\n]+?) -->\n).*?(<!-- end of evaluations -->)", re.DOTALL)
OPENING, CLOSING = "<!-- evaluations ", "<!-- end of evaluations -->"
COLUMNS = ("run", "player", "moves", "training", "games", "mean score", "median", "max")
LAST_COLUMNS = ("moves/s in play", "machine", "command")
RESULT_KEYS = ("run", "learner", "search", "env_steps", "wall_hours", "games", "score_mean", "score_high",
               "score_median", "score_max", "reach", "moves_per_second", "machine", "command")  # fmt: skip


def write_tables(files: Sequence[Path], check: bool) -> int:
    """Replace the tables of Markdown files.

    Args:
        files: files that are changed in place.
        check: change no file; only report which files differ.

    Returns:
        The exit code 0.

    Raises:
        UserError: a file has no table, a result file cannot be read, or `check` found a file that differs.
    """
    differ = []
    for file in files:
        old = _read(file)
        new = rewritten(old, file)
        if new != old:
            differ.append(file)
            if not check:
                write_text(file, new)
        print(f"{file}: {_state(new != old, check)}")
    if check and differ:
        raise UserError(
            f"tables differ from their evaluations in {', '.join(map(str, differ))}; run it without --check"
        )
    return 0


def rewritten(text: str, file: Path) -> str:
    """Return the text of a Markdown file with its tables replaced.

    Raises:
        UserError: there is no table, or no result file for one.
    """
    if text.count(OPENING) != text.count(CLOSING) or not BLOCK.search(text):
        raise UserError(f"{file} has no table: begin one with {OPENING}PATTERN --> and end it with {CLOSING}")

    def table(block: re.Match[str]) -> str:
        return f"{block[1]}{make_table(_evaluations(file.parent, block['patterns'].split()))}\n{block[3]}"

    return BLOCK.sub(table, text)


def make_table(evaluations: Sequence[dict[str, Any]]) -> str:
    """Return a Markdown table with one row for each evaluation."""
    tiles = reached_tiles(evaluations)
    head = (*COLUMNS, *map(str, tiles), *LAST_COLUMNS)
    return markdown_table(head, [_row(found, tiles) for found in evaluations])


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown, without a line break at its end."""
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))


def reached_tiles(results: Sequence[dict[str, Any]]) -> list[int]:
    """Return the tiles that get a column: 2048, and every larger tile that a game of the results reached."""
    return [tile for tile in TILES if tile == TILES[0] or any(result["reach"][str(tile)] > 0 for result in results)]


def shared_cells(result: dict[str, Any], tiles: Sequence[int]) -> list[str]:
    """Return cells for tables in Markdown and HTML: median and maximum score, rates of `tiles`, moves per second."""
    return [
        f"{result['score_median']:,.0f}",
        f"{result['score_max']:,}",
        *(f"{result['reach'][str(tile)]:.1%}" for tile in tiles),
        short_number(result["moves_per_second"]),
    ]


def _row(found: dict[str, Any], tiles: Sequence[int]) -> tuple[str, ...]:
    margin = found["score_high"] - found["score_mean"]
    return (
        found["run"],
        f"{found['learner']}, {found['search']}",
        short_number(found["env_steps"]),
        duration(found["wall_hours"]),
        f"{found['games']:,}",
        f"{found['score_mean']:,.0f} ± {margin:,.0f}",
        *shared_cells(found, tiles),
        found["machine"],
        f"`{found['command']}`",
    )


def duration(hours: float) -> str:
    """Format the time of a training, such as 61 s, 12 min or 4.5 h."""
    seconds = 3600 * hours
    return f"{seconds:.0f} s" if seconds < 600 else f"{seconds / 60:.0f} min" if hours < 3 else f"{hours:.1f} h"


def _evaluations(folder: Path, patterns: Sequence[str]) -> list[dict[str, Any]]:
    found = []
    for pattern in patterns:
        files = sorted(folder.glob(pattern))
        if not files:
            raise UserError(f"no evaluation is named {folder / pattern}; copy one of runs/NAME/evaluations/ there")
        found += [read_result(file, RESULT_KEYS) for file in files]
    return found


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read {file}: {error}") from error


def _state(differs: bool, check: bool) -> str:
    if not differs:
        return "up to date"
    return "differs" if check else "written"
