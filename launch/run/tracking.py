"""Where metrics are written: metrics.jsonl is authoritative; wandb is a copy, whose failure stops nothing."""

import contextlib
import json
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

from launch.config.experiment import CONFIG_FILE, Experiment, load_experiment, read_yaml
from launch.errors import UserError, warn
from launch.files import write_text
from launch.run import metrics
from launch.run.metrics import Row

METRICS_FILE = "metrics.jsonl"
WANDB_TIMEOUT_SECONDS = 20  # with wandb's default a run with a key and without a network waits for 100 s


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


class WandbSink:
    """A wandb run with the same curves as `compare`.

    | in wandb | here |
    |---|---|
    | group | the group of the experiment |
    | job type | the learner |
    | config | the experiment and its seed |
    | x axis of all metrics | env_steps; games and wall_hours are in every row and can be chosen on the page |
    | mode | WANDB_MODE if it is set; else online with a key, and offline without |

    What happens when a run starts:

    - Offline, and online for the first time: the wandb run begins with all rows of metrics.jsonl. Earlier offline
      folders are set aside, because two offline folders of one id would both count their steps from 0.
    - Online, resumed: the wandb run continues under the same id. The rows between the checkpoint and the end of the
      earlier process are then in wandb twice, because wandb cannot delete rows.
    """

    def __init__(self, folder: Path, experiment: Experiment, mode: str | None = None) -> None:
        """Start the wandb run; a failure gives a warning.

        Args:
            folder: of the run.
            experiment: what is trained.
            mode: "offline", or None for the mode by environment and key.
        """
        self._run: Any = None
        if mode is None and os.environ.get("WANDB_MODE") == "disabled":
            return
        # By default wandb stages artifacts and tables outside the run folder.
        os.environ.setdefault("WANDB_DATA_DIR", str((folder / "wandb").resolve()))
        self._guard("start", lambda: self._start(folder, experiment, mode or _wandb_mode()))

    @property
    def works(self) -> bool:
        """Whether no call of wandb has failed."""
        return self._run is not None

    def log(self, row: Row) -> None:
        """Send one row. The row holds the axes, so wandb's own step is never set."""
        if self._run is not None:
            self._guard("log", lambda: self._run.log(row))

    def finish(self, exit_code: int) -> None:
        """Close the run."""
        if self._run is not None:
            self._guard("finish", lambda: self._run.finish(exit_code=exit_code))

    def _start(self, folder: Path, experiment: Experiment, mode: str) -> None:
        is_uploaded = _is_uploaded(folder)
        if mode != "offline":
            try:
                self._run = _init(folder, experiment, mode)
            except _wandb_error() as error:
                warn(f"wandb cannot go online ({_one_line(error)}); the run is kept offline")
        is_offline = self._run is None
        _set_aside(folder, "offline-run-*")
        if is_offline:
            if is_uploaded:
                _renew_id(folder)
            _set_aside(folder, "run-*")
            self._run = _init(folder, experiment, "offline")
        for axis in metrics.AXES:
            self._run.define_metric(axis.name)
        for family in sorted({name.partition("/")[0] for name in metrics.REGISTRY if "/" in name}):
            self._run.define_metric(f"{family}/*", step_metric="env_steps")
        for row in read_metrics(folder) if is_offline or not self._run.resumed else ():
            self._run.log(row)

    def _guard(self, what: str, call: Callable[[], None]) -> None:
        """Call wandb; if the call fails in any way, warn once and stop using wandb."""
        try:
            call()
        except Exception as error:
            remedy = "`muzero2048 wandb rebuild` makes its run from metrics.jsonl"
            warn(f"wandb failed to {what} ({_one_line(error)}); going on without it; {remedy}")
            self._run = None
            if isinstance(error, ConnectionError):
                _forget_service()


def rebuild(folder: Path) -> None:
    """Write the complete wandb run of a run folder again, offline, from its metrics.jsonl.

    Config, group and axes are those of the training. So is the id, unless rows of it are on a server already. Earlier
    folders of wandb are set aside.

    Raises:
        UserError: the folder is not a run, a row is damaged, or wandb fails.
    """
    for name in (CONFIG_FILE, METRICS_FILE):
        if not (folder / name).is_file():
            raise UserError(f"{folder} is not a run folder: it has no {name}; give runs/<name>")
    experiment, rows = load_experiment(folder), read_metrics(folder)
    sink = WandbSink(folder, experiment, "offline")
    sink.finish(exit_code=0)
    if not sink.works:
        raise UserError(
            f"the wandb run of {folder} is not written; correct what the warning names, and repeat the command"
        )
    print(f"{len(rows):,} rows of {folder / METRICS_FILE} are in the wandb run {_wandb_id(folder)}")


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
    """Return the base class of wandb's errors, such as CommError without a network and UsageError without a key."""
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
        dir=folder.resolve(),
        mode=mode,
        config={"seed": experiment.run.seed, **read_yaml(experiment.to_yaml())},
        # console off: else every redrawing of the progress bar is a line in wandb's log
        settings=wandb.Settings(init_timeout=WANDB_TIMEOUT_SECONDS, console="off", silent=mode == "offline"),
    )
    if mode == "offline":
        print(f"wandb keeps the run on disk; `wandb sync {folder}/wandb/offline-run-*` uploads it", flush=True)
    return run


def _is_uploaded(folder: Path) -> bool:
    """Return whether rows of the present id are on a server: the run was online, or `wandb sync` left its mark."""
    wandb = folder / "wandb"
    return any(wandb.glob("run-*")) or any(wandb.glob("offline-run-*/*.synced"))


def _renew_id(folder: Path) -> None:
    """Give the run a new id in wandb; an upload under the old id would add rows to those on the server."""
    old = _wandb_id(folder)
    (folder / "wandb" / "id").unlink()
    new = _wandb_id(folder)
    print(f"rows of the wandb run {old} are on the server, which takes none back: the whole run is {new}; delete {old}")


def _set_aside(folder: Path, pattern: str) -> None:
    """Move folders of wandb to wandb/replaced/, where `wandb sync wandb/offline-run-*` does not find them."""
    replaced = folder / "wandb" / "replaced"
    for old in sorted((folder / "wandb").glob(pattern)):
        replaced.mkdir(exist_ok=True)
        old.rename(replaced / old.name)


def _forget_service() -> None:
    """Disconnect wandb from its service, which has ended; else it prints a traceback of the lost connection at exit."""
    import wandb

    with contextlib.suppress(Exception):
        wandb.teardown()


def _wandb_id(folder: Path) -> str:
    """Return the run's id in wandb. It is kept in the run folder, so that a resumed run continues under it."""
    file = folder / "wandb" / "id"
    if not file.exists():
        file.parent.mkdir(exist_ok=True)
        write_text(file, secrets.token_hex(4) + "\n")
    return file.read_text(encoding="utf-8").strip()


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
