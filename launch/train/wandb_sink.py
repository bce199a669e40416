"""The wandb run of a training. It is a copy of metrics.jsonl, and its failure stops nothing."""

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from launch.errors import UserError, warn
from launch.experiment.experiment import CONFIG_FILE, Experiment, load_experiment
from launch.experiment.metrics import Row
from launch.experiment.metrics_file import METRICS_FILE, read_metrics
from launch.report.wandb import client
from launch.report.wandb.folder import is_uploaded, renew_id, set_aside, timed_rows, wandb_id
from launch.report.wandb.media import with_media
from launch.train.run_process import is_locked


class WandbSink:
    """A wandb run with the same curves as `compare`.

    | in wandb | here |
    |---|---|
    | group | the group of the experiment |
    | job type | the learner |
    | tags, summary, files | `launch.report.wandb.folder` |
    | config | the experiment and its seed |
    | x axis of all metrics | env_steps; games and wall_hours are in every row and can be chosen on the page |
    | mode | WANDB_MODE if it is set; else online with a key, and offline without |

    What happens when a run starts:

    - Offline, and online for the first time: the wandb run begins with all rows of metrics.jsonl. Earlier offline
      folders are set aside, because two offline folders of one id would both count their steps from 0.
    - Online, resumed: the wandb run continues under the same id. The rows between the checkpoint and the end of the
      earlier process are then in wandb twice, because wandb cannot delete rows; `muzero2048 wandb sync` mends that.
    """

    def __init__(self, folder: Path, experiment: Experiment, mode: str | None = None) -> None:
        """Start the wandb run, a failure gives a warning; the mode None is that of the environment and the key."""
        self._run: Any = None
        self._folder = folder
        if mode is None and os.environ.get("WANDB_MODE") == "disabled":
            return
        self._guard("start", lambda: self._start(experiment, mode or client.wandb_mode()))

    @property
    def works(self) -> bool:
        """Whether no call of wandb has failed."""
        return self._run is not None

    def log(self, row: Row) -> None:
        """Send one row. The row holds the axes, so wandb's own step is never set."""
        if self._run is not None:
            self._guard("log", lambda: self._run.log(with_media(self._folder, row)))

    def finish(self, exit_code: int) -> None:
        """Write the summary and close the run."""
        if self._run is not None:
            self._guard("finish", lambda: client.close_run(self._run, self._folder, exit_code))

    def _start(self, experiment: Experiment, mode: str) -> None:
        folder = self._folder
        had_rows_on_server = is_uploaded(folder)
        if mode != "offline":
            try:
                self._run = client.open_run(folder, experiment, mode)
            except client.wandb_error() as error:
                warn(f"wandb cannot go online ({client.one_line(error)}); the run is kept offline")
        is_offline = self._run is None
        set_aside(folder, "offline-run-*")
        if is_offline:
            if had_rows_on_server:
                renew_id(folder)
            set_aside(folder, "run-*")
            self._run = client.open_run(folder, experiment, "offline")
            print("wandb keeps the run on disk; `muzero2048 wandb sync` uploads it", flush=True)
        for row in timed_rows(folder) if is_offline or not self._run.resumed else ():
            self._run.log(with_media(folder, row))

    def _guard(self, what: str, call: Callable[[], None]) -> None:
        """Call wandb; if the call fails in any way, warn once and stop using wandb."""
        try:
            call()
        except Exception as error:
            remedy = "`muzero2048 wandb sync` uploads its run from metrics.jsonl, `wandb rebuild` writes it offline"
            warn(f"wandb failed to {what} ({client.one_line(error)}); going on without it; {remedy}")
            self._run = None
            if isinstance(error, ConnectionError):
                _forget_service()


def rebuild(folder: Path) -> None:
    """Write the complete wandb run of a run folder again, offline, from its metrics.jsonl.

    Config, group and axes are those of the training. So is the id, unless rows of it are on a server already. Earlier
    folders of wandb are set aside, so a run in training is refused: its process writes to them.
    """
    for name in (CONFIG_FILE, METRICS_FILE):
        if not (folder / name).is_file():
            raise UserError(f"{folder} is not a run folder: it has no {name}; give runs/<name>")
    if is_locked(folder):
        raise UserError(f"{folder} is in training, which writes its wandb run; rebuild it when the training has ended")
    experiment, rows = load_experiment(folder), read_metrics(folder)
    sink = WandbSink(folder, experiment, "offline")
    sink.finish(exit_code=0)
    if not sink.works:
        raise UserError(
            f"the wandb run of {folder} is not written; correct what the warning names, and repeat the command"
        )
    print(f"{len(rows):,} rows of {folder / METRICS_FILE} are in the wandb run {wandb_id(folder)}")


def _forget_service() -> None:
    """Disconnect wandb from its service, which has ended; else it prints a traceback of the lost connection at exit."""
    import wandb

    with contextlib.suppress(Exception):
        wandb.teardown()
