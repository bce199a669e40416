"""`muzero2048 tables`: write the result tables of Markdown files from result files, so that both always agree.

    <!-- evaluations evaluations/*.json -->
    ... a row for each evaluation, which the command replaces ...
    <!-- end of evaluations -->

    <!-- papers papers/guei-table-1-*.json -->
    ... a section for each table of `muzero2048 reproduce` ...
    <!-- end of papers -->

Patterns are relative to the folder of the Markdown file. To publish a result, copy its file:
`cp runs/NAME/evaluations/FILE.json docs/evaluations/`, or `cp runs/TABLE-bBUDGET.json docs/papers/`.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from launch.errors import UserError
from launch.evaluation.result import read_result
from launch.evaluation.summary import short_number
from launch.files import markdown_table, write_text
from launch.report.papers.table_file import read_table_file
from launch.report.published.paper_sections import paper_section
from launch.train.metrics import TILES

EVALUATIONS, PAPERS = "evaluations", "papers"
BLOCK = re.compile(
    r"(?P<opening><!-- (?P<kind>evaluations|papers) (?P<patterns>[^\n]+?) -->\n)"
    r".*?(?P<closing><!-- end of (?P=kind) -->)",
    re.DOTALL,
)
OPENING, CLOSING = re.compile(r"<!-- (evaluations|papers) "), re.compile(r"<!-- end of (evaluations|papers) -->")
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
    if len(OPENING.findall(text)) != len(CLOSING.findall(text)) or not BLOCK.search(text):
        raise UserError(
            f"{file} has no table: begin one with <!-- {EVALUATIONS} PATTERN --> and end it with"
            f" <!-- end of {EVALUATIONS} -->; the same for {PAPERS}"
        )
    return BLOCK.sub(lambda block: f"{block['opening']}{_content(block, file.parent)}\n{block['closing']}", text)


def _content(block: re.Match[str], folder: Path) -> str:
    """Return what stands between the marks of a block."""
    files = _files(folder, block["patterns"].split())
    if block["kind"] == PAPERS:
        return "\n\n".join(paper_section(read_table_file(file)) for file in files)
    return make_table([read_result(file, RESULT_KEYS) for file in files])


def make_table(evaluations: Sequence[dict[str, Any]]) -> str:
    """Return a Markdown table with one row for each evaluation."""
    tiles = reached_tiles(evaluations)
    head = (*COLUMNS, *map(str, tiles), *LAST_COLUMNS)
    return markdown_table(head, [_row(found, tiles) for found in evaluations])


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


def _files(folder: Path, patterns: Sequence[str]) -> list[Path]:
    """Return the files of all patterns, each pattern's by name."""
    found: list[Path] = []
    for pattern in patterns:
        files = sorted(folder.glob(pattern))
        if not files:
            raise UserError(f"no result file is named {folder / pattern}; copy it there from the folder of the runs")
        found += files
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
