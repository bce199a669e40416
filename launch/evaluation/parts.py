"""Parts of an evaluation, which several processes play, and what can be said of their logs without numba."""

import glob
import json
from pathlib import Path
from typing import NamedTuple

from launch.errors import UserError
from launch.locks import is_locked


class Part(NamedTuple):
    """The part of an evaluation's games that one of several processes plays."""

    number: int  # from 1
    of: int  # number of parts

    def file(self, log: Path) -> Path:
        """Return the log of this part; `log` is that of the evaluation."""
        return log.with_suffix(f".part-{self.number}-of-{self.of}{log.suffix}") if self.of > 1 else log

    def numbers(self, count: int) -> range:
        """Return the numbers of this part among games 0..count - 1."""
        return range(self.number - 1, count, self.of)


WHOLE = Part(1, 1)


def parse_part(text: str) -> Part:
    """Return the part that a text such as "2/4" names; "" is WHOLE. UserError if it is not number/count."""
    number, slash, count = (text or "1/1").partition("/")
    if not (slash and number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
        raise UserError(f"--part is {text}; give number/count, such as 2/4 for the second of four processes")
    return Part(int(number), int(count))


def files_of(path: Path) -> set[Path]:
    """Return the log of an evaluation, which may not exist, and the logs of its parts."""
    return {path, *path.parent.glob(f"{glob.escape(path.stem)}.part-*{path.suffix}")}


def has_games(path: Path, part: Part, count: int) -> bool:
    """Return whether the log of an evaluation and those of its parts hold a part's games among games 0..count - 1."""
    numbers = set()
    for file in filter(Path.exists, files_of(path)):
        try:
            numbers |= {json.loads(line)["number"] for line in file.read_bytes().split(b"\n")[1:-1]}
        except (ValueError, TypeError, KeyError):  # damaged: the process that plays the games will say so
            return False
    return numbers >= set(part.numbers(count))


def locked_logs(folder: Path) -> list[Path]:
    """Return the game logs of a folder of evaluations that a process writes now."""
    return [file for file in sorted(folder.glob("*.games*.jsonl")) if is_locked(file)]
