"""Write files atomically: under a temporary name, with fsync, then rename; check beforehand that it is possible."""

import json
import tempfile
from pathlib import Path
from typing import Any

from launch.errors import UserError
from ntuple.core.atomic_files import whole_file


def write_text(path: Path, text: str) -> None:
    """Write a text file in one step: readers, also after a crash of the machine, see the old or the new file."""
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def probe_folder(folder: Path) -> None:
    """Write a file into a folder and remove it; OSError if that is not possible."""
    with tempfile.TemporaryFile(dir=folder):
        pass


def check_output(file: Path, option: str) -> None:
    """Check before time is spent that a file, given by an option, can be written; UserError."""
    folder = file.absolute().parent
    if not folder.is_dir():
        raise UserError(f"{option} {file}: there is no folder {folder}; make it, or name another {option}")
    try:
        probe_folder(folder)
    except OSError as error:
        why = f"cannot write to {folder}: {error.strerror}"
        raise UserError(f"{option} {file}: {why}; name another {option}") from error


def check_new_file(file: Path, option: str) -> None:
    """Check as `check_output` does, and that the file does not exist yet."""
    if file.exists():
        raise UserError(f"{file} is there already: name another {option}, or remove it")
    check_output(file, option)


def in_json(value: Any) -> Any:
    """Return a value as a JSON file gives it back, with lists in place of tuples."""
    return json.loads(json.dumps(value))


def write_json(path: Path, value: Any) -> None:
    """Write one JSON value by `write_text`; NaN and infinity, which JSON does not have, raise ValueError."""
    write_text(path, json.dumps(value, indent=2, allow_nan=False) + "\n")
