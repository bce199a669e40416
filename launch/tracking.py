"""Where metrics go: metrics.jsonl, which is the truth, and wandb, a sink whose failure stops nothing."""

import json
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

from launch import metrics
from launch.config import Experiment, read_yaml
from launch.errors import UserError, warn
from launch.files import write_text
from launch.metrics import Row

METRICS_FILE = "metrics.jsonl"
WANDB_TIMEOUT_SECONDS = 20  # with a key and without a network, wandb's own default holds a run for 100 s


class MetricsFile:
    """One JSON object a line, appended and flushed a row at a time: a killed run loses no finished row."""

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
    """All rows of a run, in order. A last line that a kill cut short is left out.

    Raises:
        UserError: a line is not a row; names the file and the line.
    """
    file = folder / METRICS_FILE
    lines = file.read_bytes().split(b"\n")[:-1]
    return [_read_row(file, number, line) for number, line in enumerate(lines, start=1)]


def drop_rows_after(folder: Path, env_steps: int, evaluate_again: bool = False) -> None:
    """Cut metrics.jsonl back to a checkpoint: the rows after it will be made again. Atomic.

    Args:
        folder: the run's folder.
        env_steps: the moves of the checkpoint.
        evaluate_again: whether the evaluation at the checkpoint itself will be made again too.
    """
    if not (folder / METRICS_FILE).exists():
        return
    rows = [row for row in read_metrics(folder) if row["env_steps"] <= env_steps]
    if evaluate_again:
        rows = [row for row in rows if row["env_steps"] < env_steps or "eval/score_mean" not in row]
    write_text(folder / METRICS_FILE, "".join(json.dumps(row) + "\n" for row in rows))


class WandbSink:
    """A wandb run that shows the same comparison as `compare` without hand work.

    Group = the experiment, job type = the learner, seed in the config, and every family of metrics drawn
    against env_steps (games and wall_hours are in every row, to choose on the page). Offline unless a
    key is known; WANDB_MODE is respected. A resumed run goes on under the same id; the rows between its
    checkpoint and its end are then in wandb twice, as wandb takes none back.
    """

    def __init__(self, folder: Path, experiment: Experiment) -> None:
        self._run: Any = None
        if os.environ.get("WANDB_MODE") == "disabled":
            return
        # Artifacts and tables are staged outside the run unless told otherwise.
        os.environ.setdefault("WANDB_DATA_DIR", str((folder / "wandb").resolve()))
        self._guard("start", lambda: self._start(folder, experiment))

    def log(self, row: Row) -> None:
        """Send one row; the axes are in it, so wandb's own step is never set."""
        if self._run is not None:
            self._guard("log", lambda: self._run.log(row))

    def finish(self, exit_code: int) -> None:
        """Close the run."""
        if self._run is not None:
            self._guard("finish", lambda: self._run.finish(exit_code=exit_code))

    def _start(self, folder: Path, experiment: Experiment) -> None:
        try:
            self._run = _init(folder, experiment, _wandb_mode())
        except _wandb_error() as error:
            warn(f"wandb cannot go online ({_one_line(error)}); the run is kept offline")
            self._run = _init(folder, experiment, "offline")
        for axis in metrics.AXES:
            self._run.define_metric(axis.name)
        for family in sorted({name.partition("/")[0] for name in metrics.REGISTRY if "/" in name}):
            self._run.define_metric(f"{family}/*", step_metric="env_steps")

    def _guard(self, what: str, call: Callable[[], None]) -> None:
        """Do something with wandb; if it fails in any way, warn once and go on without it."""
        try:
            call()
        except Exception as error:
            warn(f"wandb failed to {what} ({_one_line(error)}); going on without it")
            self._run = None


def _read_row(file: Path, number: int, line: bytes) -> Row:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise UserError(f"{file}, line {number}: not JSON; remove the line") from error
    if not isinstance(row, dict) or not isinstance(row.get("env_steps"), int):
        raise UserError(f"{file}, line {number}: not a row of metrics, it has no env_steps; remove the line")
    return row


def _wandb_mode() -> Any:
    import wandb

    return os.environ.get("WANDB_MODE") or ("online" if wandb.login(prompt=False) else "offline")


def _wandb_error() -> type[Exception]:
    """The base of wandb's errors: CommError without a network, UsageError without a key, and so on."""
    from wandb.errors import Error

    return Error


def _init(folder: Path, experiment: Experiment, mode: Any) -> Any:
    import wandb

    run = wandb.init(
        project=experiment.run.wandb_project,
        name=experiment.run.name,
        group=experiment.run.group,
        job_type=experiment.learner,
        id=_wandb_id(folder),
        resume="allow",
        dir=folder,
        mode=mode,
        config={"seed": experiment.run.seed, **read_yaml(experiment.to_yaml())},
        # console: a progress bar would fill wandb's log with its own redrawing
        settings=wandb.Settings(init_timeout=WANDB_TIMEOUT_SECONDS, console="off", silent=mode == "offline"),
    )
    if mode == "offline":
        print(f"wandb keeps the run on disk; `wandb sync {folder}/wandb/offline-run-*` uploads it", flush=True)
    return run


def _wandb_id(folder: Path) -> str:
    """The run's id in wandb, kept in the run folder so that a resumed run goes on under it."""
    file = folder / "wandb" / "id"
    if not file.exists():
        file.parent.mkdir(exist_ok=True)
        write_text(file, secrets.token_hex(4) + "\n")
    return file.read_text(encoding="utf-8").strip()


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
