"""metrics.jsonl of a run. It is authoritative; wandb holds a copy (launch/report/wandb)."""

import contextlib
import json
import os
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from jaxtyping import Float64

from launch.errors import UserError
from launch.experiment import metrics
from launch.experiment.metrics import Row
from launch.files import write_text

METRICS_FILE = "metrics.jsonl"
NUMBERS = {int, float}
TAIL_BYTES = 200_000  # that `read_last_rows` reads: some 100 rows of the longest kind


class MetricsFile:
    """metrics.jsonl: one JSON object a line. Each row is flushed, so a killed run loses no finished row."""

    def __init__(self, folder: Path) -> None:
        self._file = (folder / METRICS_FILE).open("a", encoding="utf-8")

    def append(self, row: Row) -> None:
        """Write one row; KeyError if a name is not registered, ValueError if a value is not finite.

        UserError if the disk is full.
        """
        metrics.check(row)
        line = json.dumps(row, allow_nan=False) + "\n"
        try:
            self._file.write(line)
            self._file.flush()
        except OSError as error:
            goes_on = "free disk space, and the same command with --resume goes on"
            raise UserError(f"cannot write {self._file.name}: {error.strerror}; {goes_on}") from error

    def close(self) -> None:
        """Close the file."""
        with contextlib.suppress(OSError):  # of the text of a row that is not written, whose error is told
            self._file.close()


def read_metrics(folder: Path) -> list[Row]:
    """Return all rows of a run in order. An incomplete last line, of a killed run, is left out.

    Every row has the axes, a row of an evaluation also the entries EVALUATED, and all values are finite numbers.
    UserError names the file and the line that is not such a row.
    """
    file = folder / METRICS_FILE
    try:
        lines = file.read_bytes().split(b"\n")[:-1]
    except OSError as error:
        raise UserError(f"cannot read {file}: {error.strerror}") from error
    return _rows_of(file, lines)


def read_columns(folder: Path) -> dict[str, Float64[np.ndarray, " R"]]:
    """Return the metrics of a run as columns, one value for each row; NaN where a row lacks the metric."""
    rows = read_metrics(folder)
    places = dict[tuple[str, ...], list[int]]()  # by the names in a row: rows of a run have few sets of names
    for place, row in enumerate(rows):
        places.setdefault(tuple(row), []).append(place)
    columns = {name: np.full(len(rows), np.nan) for name in metrics.REGISTRY if any(name in names for names in places)}
    for names, here in places.items():
        values = np.fromiter(chain.from_iterable(rows[place].values() for place in here), np.float64)
        for name, column in zip(names, values.reshape(len(here), len(names)).T, strict=True):
            if name in columns:
                columns[name][here] = column
    return columns


def read_last_rows(folder: Path) -> list[Row]:
    """Return the last rows of a run in order, checked as by `read_metrics`; none if there is no file."""
    file = folder / METRICS_FILE
    try:
        with file.open("rb") as stream:
            start = max(0, stream.seek(0, os.SEEK_END) - TAIL_BYTES)
            stream.seek(start)
            lines = stream.read().split(b"\n")[1 if start else 0 : -1]
    except OSError:
        return []
    try:
        return _rows_of(file, lines)
    except UserError:
        return read_metrics(folder)  # which knows the number of the line


def last_value(rows: Sequence[Row], name: str) -> float | None:
    """Return a metric of the last row that has it; None if no row has it."""
    return next((float(row[name]) for row in reversed(rows) if name in row), None)


def drop_rows_after(folder: Path, env_steps: int, evaluate_again: bool = False) -> None:
    """Remove the rows of metrics.jsonl after a checkpoint, since they will be written again. The change is atomic.

    With `evaluate_again`, the evaluation at the checkpoint will be repeated, so that its row is removed too.
    """
    if not (folder / METRICS_FILE).exists():
        return
    rows = [row for row in read_metrics(folder) if row["env_steps"] <= env_steps]
    if evaluate_again:
        rows = [row for row in rows if row["env_steps"] < env_steps or "eval/score_mean" not in row]
    write_text(folder / METRICS_FILE, "".join(json.dumps(row) + "\n" for row in rows))


def _rows_of(file: Path, lines: Sequence[bytes]) -> list[Row]:
    """Return the rows of lines; UserError names the first line that is no row, where the file begins with the lines."""
    rows: list[Any] = []
    checked = set[tuple[str, ...]]()  # names in a row: rows of a run have few sets of names
    for number, line in enumerate(lines, start=1):
        try:
            row = orjson.loads(line)  # refuses NaN and infinity
        except orjson.JSONDecodeError as error:
            raise UserError(f"{file}, line {number}: not JSON; remove the line") from error
        names = tuple(row) if isinstance(row, dict) else ()
        if names not in checked:
            if missing := metrics.missing_names(names):
                raise UserError(f"{file}, line {number}: not a row of metrics, it has no {missing[0]}; remove the line")
            checked.add(names)
        rows.append(row)
    _check_numbers(file, rows)
    return rows


def _check_numbers(file: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Refuse rows with a value that is no number. All values are looked at together, which is fast."""
    if set(map(type, chain.from_iterable(row.values() for row in rows))) <= NUMBERS:
        return
    for line, row in enumerate(rows, start=1):
        for name, value in row.items():
            if type(value) not in NUMBERS:
                raise UserError(f"{file}, line {line}: its {name} is no number; remove the line")
