"""Files that exist complete or not at all: temporary name, fsync, rename."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path to write to; on success flush the file to the disk and rename it to `path`.

    If the body raises, the temporary file is deleted and an older file at `path` stays as it was.
    """
    temporary = path.with_name(f".{path.name}.part")
    try:
        yield temporary
        sync(temporary)
        temporary.rename(path)
    finally:
        temporary.unlink(missing_ok=True)
    sync(path.parent)


def sync(path: Path) -> None:
    """Force a file or the entries of a folder to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
