"""Write files atomically: under a temporary name, with fsync, then rename."""

import json
import os
from pathlib import Path
from typing import Any


def write_text(path: Path, text: str) -> None:
    """Write a text file in one step: readers, also after a crash of the machine, see the old or the new file."""
    temporary = path.with_name(f".{path.name}.tmp")
    with temporary.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.rename(path)
    sync(path.parent)


def write_json(path: Path, value: Any) -> None:
    """Write one JSON value by `write_text`; NaN and infinity, which JSON does not have, raise ValueError."""
    write_text(path, json.dumps(value, indent=2, allow_nan=False) + "\n")


def sync(path: Path) -> None:
    """Force a file, or the list of entries of a folder, to the disk (fsync)."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
