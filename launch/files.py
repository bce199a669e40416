"""Write files atomically: under a temporary name, with fsync, then rename."""

import json
from pathlib import Path
from typing import Any

from ntuple.core.atomic_files import whole_file


def write_text(path: Path, text: str) -> None:
    """Write a text file in one step: readers, also after a crash of the machine, see the old or the new file."""
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def in_json(value: Any) -> Any:
    """Return a value as a JSON file gives it back, with lists in place of tuples."""
    return json.loads(json.dumps(value))


def write_json(path: Path, value: Any) -> None:
    """Write one JSON value by `write_text`; NaN and infinity, which JSON does not have, raise ValueError."""
    write_text(path, json.dumps(value, indent=2, allow_nan=False) + "\n")
