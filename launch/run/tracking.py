"""metrics.jsonl of a run. It is authoritative; wandb holds a copy (launch/weights_and_biases)."""

import json
from pathlib import Path

from launch.errors import UserError
from launch.files import write_text
from launch.run import metrics
from launch.run.metrics import Row

METRICS_FILE = "metrics.jsonl"


class MetricsFile:
    """metrics.jsonl: one JSON object a line. Each row is flushed, so a killed run loses no finished row."""

    def __init__(self, folder: Path) -> None:
        self._file = (folder / METRICS_FILE).open("a", encoding="utf-8")

    def append(self, row: Row) -> None:
        """Write one row; KeyError if a name is not registered, ValueError if a value is not finite."""
        metrics.check(row)
        self._file.write(json.dumps(row, allow_nan=False) + "\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read_metrics(folder: Path) -> list[Row]:
    """Return all rows of a run in order. An incomplete last line, of a killed run, is left out.

    Raises:
        UserError: a line is not a row; the message names the file and the line.
    """
    file = folder / METRICS_FILE
    lines = file.read_bytes().split(b"\n")[:-1]
    return [_read_row(file, number, line) for number, line in enumerate(lines, start=1)]


def drop_rows_after(folder: Path, env_steps: int, evaluate_again: bool = False) -> None:
    """Remove the rows of metrics.jsonl after a checkpoint, since they will be written again. The change is atomic.

    Args:
        folder: the run's folder.
        env_steps: the moves of the checkpoint.
        evaluate_again: whether the evaluation at the checkpoint will be repeated, so that its row is removed too.
    """
    if not (folder / METRICS_FILE).exists():
        return
    rows = [row for row in read_metrics(folder) if row["env_steps"] <= env_steps]
    if evaluate_again:
        rows = [row for row in rows if row["env_steps"] < env_steps or "eval/score_mean" not in row]
    write_text(folder / METRICS_FILE, "".join(json.dumps(row) + "\n" for row in rows))


def _read_row(file: Path, number: int, line: bytes) -> Row:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise UserError(f"{file}, line {number}: not JSON; remove the line") from error
    if not isinstance(row, dict) or not isinstance(row.get("env_steps"), int):
        raise UserError(f"{file}, line {number}: not a row of metrics, it has no env_steps; remove the line")
    return row
