"""Calls of wandb: a run is opened and closed here, with the same names, axes and summary for all callers."""

import contextlib
import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from launch.errors import UserError
from launch.experiment import metrics
from launch.experiment.experiment import Experiment
from launch.report.wandb.folder import result_files, summary_of, tags, wandb_id
from launch.report.wandb.media import CONFIG_TABLE, MEDIA, config_table

TIMEOUT_SECONDS = 20  # with wandb's default a run with a key and without a network waits for 100 s


def open_run(folder: Path, experiment: Experiment, mode: Any, in_training: bool = True) -> Any:
    """Open the wandb run of a run folder, or go on with it if the server knows its id, and define its axes.

    The mode is "online" or "offline". `in_training`: the machine's load is kept with the run. wandb.errors.Error: wandb
    cannot be reached, or refuses.
    """
    import wandb

    # By default wandb stages artifacts and tables outside the run folder.
    os.environ.setdefault("WANDB_DATA_DIR", str((folder / "wandb").resolve()))
    run = wandb.init(
        project=experiment.run.wandb_project,
        name=experiment.run.name,
        group=experiment.run.group,
        job_type=experiment.learner,
        tags=tags(experiment),
        id=wandb_id(folder),
        resume="allow",
        dir=folder.resolve(),
        mode=mode,
        reinit="finish_previous",  # the default returns the open run of another folder, whose upload failed
        config={"seed": experiment.run.seed, **experiment.plain()},
        # console off: else every redrawing of the progress bar is a line in wandb's log
        settings=wandb.Settings(
            init_timeout=TIMEOUT_SECONDS,
            console="off",
            silent=mode == "offline" or not in_training,
            x_disable_stats=not in_training,
            x_disable_meta=not in_training,
        ),
    )
    for axis in metrics.AXES:
        run.define_metric(axis.name)
    for family in sorted({MEDIA, *(name.partition("/")[0] for name in metrics.REGISTRY if "/" in name)}):
        run.define_metric(f"{family}/*", step_metric="env_steps")
    if not run.resumed:
        run.summary[CONFIG_TABLE] = wandb.Html(config_table(experiment), inject=False)
    return run


def close_run(run: Any, folder: Path, exit_code: int = 0) -> None:
    """Write the summary of the run, add its result files, and close it."""
    run.summary.update(summary_of(folder))
    with contextlib.redirect_stderr(io.StringIO()):  # `save` warns that the file is a link, as it should be
        for file in result_files(folder):
            run.save(str(file.resolve()), base_path=str(folder.resolve()), policy="now")
    run.finish(exit_code=exit_code)


def wandb_mode() -> Any:
    """Return WANDB_MODE if it is set; else "online" with a key, and "offline" without."""
    return os.environ.get("WANDB_MODE") or ("online" if _has_key(verify=False) else "offline")


def check_key(instead: str) -> None:
    """Check that wandb has a key, and that its server takes it; `instead` says what can be done without one.

    UserError also if WANDB_MODE forbids the network, or the server cannot be reached.
    """
    if os.environ.get("WANDB_MODE") in ("offline", "disabled"):
        raise UserError(f"WANDB_MODE is {os.environ['WANDB_MODE']}: unset it; {instead}")
    with errors_as_lines("use its key"):
        has_key = _has_key(verify=True)  # waits some seconds at most
    if not has_key:
        raise UserError(f"wandb has no key: run `wandb login` or set WANDB_API_KEY; {instead}")


def wandb_error() -> type[Exception]:
    """Return the base class of wandb's errors, such as CommError without a network and UsageError without a key."""
    from wandb.errors import Error

    return Error


@contextlib.contextmanager
def errors_as_lines(action: str) -> Iterator[None]:
    """Turn any error of wandb in the `with` block into a UserError of one line; `action` is what is tried."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        raise UserError(f"wandb cannot {action} ({one_line(error)}); check network, key, entity and project") from error


def default_entity() -> str:
    """Return the user or team of the key; UserError if the server names none."""
    import wandb

    entity = wandb.Api().default_entity
    if not entity:
        raise UserError("the key of wandb has no default entity; give --entity")
    return str(entity)


def one_line(error: Exception) -> str:
    """Return the message of an error of wandb as one line."""
    return " ".join(str(error).split())


def _has_key(verify: bool) -> bool:
    """Return whether wandb has a key; to verify it, the server is asked."""
    import wandb

    return bool(wandb.login(prompt=False, verify=verify))
