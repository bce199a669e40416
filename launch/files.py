"""Files that are either whole or not there: temporary name, fsync, rename."""

import json
import os
from pathlib import Path
from typing import Any


def write_text(path: Path, text: str) -> None:
    """Replace a file in one step: a reader, or a machine that stops, sees the old or the new one."""
    temporary = path.with_name(f".{path.name}.tmp")
    with temporary.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.rename(path)
    sync(path.parent)


def write_json(path: Path, value: Any) -> None:
    """`write_text` of one JSON value; NaN and infinity, which JSON does not have, raise ValueError."""
    write_text(path, json.dumps(value, indent=2, allow_nan=False) + "\n")


def sync(path: Path) -> None:
    """Force a file or the entries of a folder to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
