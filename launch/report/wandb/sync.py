"""`muzero2048 wandb sync`: upload runs from their metrics.jsonl, each row once."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from launch.errors import UserError, warn
from launch.experiment.experiment import load_experiment
from launch.experiment.metrics_file import METRICS_FILE
from launch.files import write_json
from launch.report.selection import select
from launch.report.wandb import client
from launch.report.wandb.folder import FOLDER, renew_id, result_files, set_aside, timed_rows, wandb_id
from launch.report.wandb.media import with_media
from launch.train.run_process import is_locked

MARK = "uploaded.json"  # in the folder wandb/ of a run: what the server has


def sync(names: Sequence[str], runs_folder: Path) -> None:
    """Upload runs, named as in `select`, to wandb's server. Runs that were uploaded before an error stay uploaded.

    The server says how many rows of a run's id it has, and the moves of the last of them. If these are the first rows
    of metrics.jsonl, the others are added. If they are not, because a training was killed and went on at an earlier
    checkpoint, the whole run is uploaded under a new id, and a line names the old one. wandb's own files, which may be
    incomplete, are not used. A run without changes since its last upload is left alone, and so is one in training.
    """
    folders = list(select(names, [], None, runs_folder))
    client.check_key("`muzero2048 wandb rebuild` writes a run for a later upload")
    failed = 0
    for folder in folders:
        if is_locked(folder):
            print(f"{folder}: in training, so it is left alone")
            continue
        try:
            print(f"{folder}: {_upload(folder)}", flush=True)
        except UserError as error:
            warn(f"{folder} is left out: {error}")
            failed += 1
    if failed == len(folders):
        raise UserError("no run is uploaded; correct what the warnings name, and repeat the command")


def _upload(folder: Path) -> str:
    """Upload a run; return what was done."""
    mark, state = folder / FOLDER / MARK, _state(folder)
    if _read_mark(mark) == state:
        return f"nothing new since the upload as {state['id']}"
    experiment, rows = load_experiment(folder), timed_rows(folder)
    with client.errors_as_lines("upload it"):
        run = client.open_run(folder, experiment, "online", in_training=False)
        try:
            known = _known_rows(run, rows)
            if known is None:
                run.finish()
                renew_id(folder)
                run, known = client.open_run(folder, experiment, "online", in_training=False), 0
            for row in rows[known:]:
                run.log(with_media(folder, row))
            client.close_run(run, folder)
        except Exception:
            run.finish(exit_code=1)
            raise
    set_aside(folder, "offline-run-*")
    write_json(mark, _state(folder))
    return f"{len(rows) - known:,} of {len(rows):,} rows uploaded to {run.url or run.path}"


def _read_mark(file: Path) -> Any:
    """Return the mark of an upload; None if there is none, or if it cannot be read: the server is asked then."""
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _known_rows(run: Any, rows: Sequence[Any]) -> int | None:
    """Return how many rows, from the first one, the server has; None if it has other ones."""
    if not run.resumed:
        return 0
    known = run.starting_step
    if known == 0:
        return 0
    last = run.summary.get("env_steps")
    return known if known <= len(rows) and rows[known - 1]["env_steps"] == last else None


def _state(folder: Path) -> dict[str, str]:
    """Return the id of the run and the digest of all that an upload sends."""
    digest = hashlib.sha256()
    for file in (folder / METRICS_FILE, *result_files(folder)):
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return {"id": wandb_id(folder), "sha256": digest.hexdigest()}
