"""Write files atomically: under a temporary name, with fsync, then rename. And the text of CSV and Markdown tables."""

import csv
import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ntuple.core.atomic_files import whole_file


def write_text(path: Path, text: str) -> None:
    """Write a text file in one step: readers, also after a crash of the machine, see the old or the new file."""
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path, value: Any) -> None:
    """Write one JSON value by `write_text`; NaN and infinity, which JSON does not have, raise ValueError."""
    write_text(path, json.dumps(value, indent=2, allow_nan=False) + "\n")


def csv_text(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return the text of a CSV file: a line of names, then the rows."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(rows)
    return file.getvalue()


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown, without a line break at its end; the cells are Markdown in one line."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(_markdown_cell, line))} |" for line in lines)


def _markdown_cell(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|")  # "|" ends a cell
