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
from dataclasses import replace
from pathlib import Path
from typing import Any

from launch.errors import UserError
from launch.evaluation.result import read_result
from launch.evaluation.result_columns import COMMAND, GAMES, MAX, MEDIAN, SCORE, rates, shown_tiles, speed
from launch.files import write_text
from launch.quantities import duration, short_number
from launch.report.papers.comparison import RowData, TableData, read_table_file
from launch.report.papers.lines import line_columns, lines_of
from launch.tables import Column, entry, render

EVALUATIONS, PAPERS = "evaluations", "papers"
BLOCK = re.compile(
    r"(?P<opening><!-- (?P<kind>evaluations|papers) (?P<patterns>[^\n]+?) -->\n)"
    r".*?(?P<closing><!-- end of (?P=kind) -->)",
    re.DOTALL,
)
OPENING, CLOSING = re.compile(r"<!-- (evaluations|papers) "), re.compile(r"<!-- end of (evaluations|papers) -->")
RESULT_KEYS = ("run", "learner", "search", "env_steps", "wall_hours", "games", "score_mean", "score_high",
               "score_median", "score_max", "reach", "moves_per_second", "machine", "command")  # fmt: skip


def write_tables(files: Sequence[Path], check: bool) -> None:
    """Replace the tables of Markdown files; with `check` only report which files differ, UserError if one does."""
    differ = []
    for file in files:
        try:
            old = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"cannot read {file}: {error}") from error
        new = rewritten(old, file)
        if new != old:
            differ.append(file)
            if not check:
                write_text(file, new)
        print(f"{file}: {'up to date' if new == old else 'differs' if check else 'written'}")
    if check and differ:
        raise UserError(
            f"tables differ from their evaluations in {', '.join(map(str, differ))}; run it without --check"
        )


def rewritten(text: str, file: Path) -> str:
    """Return the text of a Markdown file with its tables replaced; UserError if it has none, or a file is missing."""
    if len(OPENING.findall(text)) != len(CLOSING.findall(text)) or not BLOCK.search(text):
        raise UserError(
            f"{file} has no table: begin one with <!-- {EVALUATIONS} PATTERN --> and end it with"
            f" <!-- end of {EVALUATIONS} -->; the same for {PAPERS}"
        )
    return BLOCK.sub(lambda block: f"{block['opening']}{_content(block, file.parent)}\n{block['closing']}", text)


def _content(block: re.Match[str], folder: Path) -> str:
    """Return what stands between the marks of a block; files of a pattern are sorted by name."""
    files: list[Path] = []
    for pattern in block["patterns"].split():
        matches = sorted(folder.glob(pattern))
        if not matches:
            raise UserError(f"no result file is named {folder / pattern}; copy it there from the folder of the runs")
        files += matches
    if block["kind"] == PAPERS:
        return "\n\n".join(paper_section(read_table_file(file)) for file in files)
    return evaluation_table([read_result(file, RESULT_KEYS) for file in files])


def evaluation_table(results: Sequence[dict[str, Any]]) -> str:
    """Return a Markdown table with one row for each evaluation."""
    columns = [
        entry("run"),
        Column("player", lambda row: row["learner"], lambda row: f"{row['learner']}, {row['search']}"),
        entry("moves", "env_steps", short_number),
        entry("training", "wall_hours", duration),
        GAMES,
        SCORE,
        MEDIAN,
        MAX,
        *rates(shown_tiles(results)),
        speed("moves/s in play"),
        entry("machine"),
        COMMAND,
    ]
    return render(results, columns, "markdown")


def paper_section(data: TableData) -> str:
    """Return a table of a paper as a section: the paper's numbers and ours, one above the other.

    Rows and columns without a number of ours are named below it.
    """
    trainable = [row for row in data.rows if not row.why]
    done = [row for row in trainable if any(_has_number(row, name) for name in row.cells)]
    open_rows = [row.name for row in trainable if row not in done]
    computed = [column.name for column in data.columns if column.statistic]
    open_columns = [name for name in computed if done and not any(_has_number(row, name) for row in done)]
    never = [f"{row.name} ({row.why})" for row in data.rows if row.why]
    notes = [
        f"Not run here: {', '.join(open_rows)}." if open_rows else "",
        f"Columns not run here: {', '.join(open_columns)}." if open_columns else "",
        f"This project cannot train: {'; '.join(never)}." if never else "",
        f"Caveats: {' '.join(data.caveats)}",
        f"Command: `{data.command}`, version {data.version}, {data.machine}, {data.time.partition('T')[0]}.",
    ]
    columns = line_columns(replace(data, columns=[one for one in data.columns if one.name not in open_columns]))
    table = render([line for row in done for line in lines_of(row)], columns, "markdown")
    return f"### {data.table}: {data.title}\n\n{data.source}.\n\n{table}\n\n" + "\n".join(filter(None, notes))


def _has_number(row: RowData, column: str) -> bool:
    cell = row.cells.get(column)
    return cell is not None and cell.here is not None
