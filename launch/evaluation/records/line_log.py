"""A file of JSON lines that grows: a header, then entries, each with the checksum of the rest of its line.

    {"format": ..., ...}                 the header: what the entries belong to
    {...: ..., ..., "crc32": ...}        an entry

An entry is on the disk when `add` returns, so what a killed process had added is there when the file is opened again.
If a crash left an incomplete last line, this line is removed.
"""

import contextlib
import json
import os
import zlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from launch.errors import UserError
from launch.files import in_json
from launch.locks import take_lock

CHECKSUM = "crc32"  # key of the checksum of a line's other values
T = TypeVar("T")


class LineLog(AbstractContextManager["LineLog"]):
    """The log of the games of one evaluation or tournament; this process locks it until `close`."""

    def __init__(self, path: Path, header: dict[str, Any], *, writes: bool = True, locks: bool = True) -> None:
        """Open the log and read its entries; one that does not write must be there.

        Raises:
            UserError: the log has another header, is damaged or in use, or cannot be opened.
        """
        self.path = path
        self._entries: list[dict[str, Any]] = []  # that were there, without checksums
        with contextlib.ExitStack() as refused:
            try:
                self._file: BinaryIO = path.open("a+b")
                refused.callback(self.close)
                if locks:
                    take_lock(self._file)
                self._file.seek(0)
                length = self._read_lines(self._file.read(), in_json(header))
                if writes:
                    self._file.truncate(length)
                    if length == 0:
                        self._write(header)
            except BlockingIOError as error:
                raise UserError(f"{path}: another process is playing these games; let it end") from error
            except OSError as error:
                raise UserError(f"cannot use {path}: {error.strerror}; make it writable") from error
            refused.pop_all()  # it is not refused, and stays open

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, which ends the lock."""
        with contextlib.suppress(OSError):  # of the text of a failed write, whose error is told
            self._file.close()

    def read(self, kind: Callable[..., T]) -> list[T]:
        """Return the entries that were there when the log was opened; `kind` takes their keys. UserError: damaged."""
        try:
            return [kind(**entry) for entry in self._entries]
        except TypeError as error:
            raise self._damaged() from error

    def add(self, entry: dict[str, Any]) -> None:
        """Add an entry, and write it to the disk (fsync) before returning; UserError if that fails."""
        try:
            self._write(entry | {CHECKSUM: _checksum(entry)})
        except OSError as error:
            raise UserError(
                f"cannot write {self.path}: {error.strerror}; the games before this one are kept"
            ) from error

    def _read_lines(self, text: bytes, header: dict[str, Any]) -> int:
        """Read the entries of a file's text; return the length of its whole lines."""
        length = text.rfind(b"\n") + 1
        try:
            first, *lines = [json.loads(line) for line in text[:length].splitlines()] or [header]
            if first["format"] != header["format"]:
                raise UserError(f"{self.path}: saved by another version; move it away to play all its games again")
            if other := [key for key in header | first if header.get(key) != first.get(key)]:
                raise UserError(f"{self.path}: its games differ in {', '.join(other)}; move it away")
            self._entries = [_checked(line) for line in lines]
        except (ValueError, TypeError, KeyError) as error:
            raise self._damaged() from error
        return length

    def _damaged(self) -> UserError:
        return UserError(f"{self.path}: damaged; move it away to play all its games again")

    def _write(self, value: dict[str, Any]) -> None:
        self._file.write(json.dumps(value).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())


def _checksum(line: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(line).encode())


def _checked(line: Any) -> dict[str, Any]:
    """Return an entry without its checksum; raise ValueError if the line is no entry, or was changed."""
    if not isinstance(line, dict) or line.pop(CHECKSUM, None) != _checksum(line):
        raise ValueError("an entry was changed after it was kept")
    return line
