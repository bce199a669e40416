"""What the folder of a run has for wandb: its id there, wandb's own files, tags, and a summary of its evaluations."""

import os
import secrets
from pathlib import Path

from launch.errors import UserError, warn
from launch.evaluation import result as result_file
from launch.evaluation.boards.notation import board_of
from launch.evaluation.result import last_of_each_search, read_result
from launch.experiment.experiment import Experiment
from launch.experiment.machine_info import time_of
from launch.experiment.metrics import Row
from launch.experiment.metrics_file import read_metrics
from launch.files import write_text

FOLDER = "wandb"
TIMESTAMP = "_timestamp"  # wandb's own key of a row's time
SCORE = "eval/score_mean"
AT_ROWS = ("env_steps", "games", "wall_hours")  # of the row of an evaluation in training
OF_RESULTS = ("score_mean", "score_low", "score_high", "games", "env_steps")  # of a result file


def wandb_id(run: Path) -> str:
    """Return the run's id in wandb. It is kept in the run folder, so that a resumed run continues under it.

    A run that an agent of a wandb sweep has started has the id that the sweep gave it.
    """
    file = run / FOLDER / "id"
    if not file.exists():
        file.parent.mkdir(exist_ok=True)
        of_sweep = os.environ.get("WANDB_RUN_ID") if os.environ.get("WANDB_SWEEP_ID") else None
        write_text(file, (of_sweep or secrets.token_hex(4)) + "\n")
    return file.read_text(encoding="utf-8").strip()


def is_uploaded(run: Path) -> bool:
    """Return whether rows of the present id are on a server: the run was online, or `wandb sync` left its mark."""
    wandb = run / FOLDER
    return any(wandb.glob("run-*")) or any(wandb.glob("offline-run-*/*.synced"))


def renew_id(run: Path) -> None:
    """Give the run a new id in wandb; an upload under the old id would add rows to those on the server."""
    old = wandb_id(run)
    (run / FOLDER / "id").unlink()
    new = wandb_id(run)
    print(f"rows of the wandb run {old} are on the server, which takes none back: the whole run is {new}; delete {old}")


def set_aside(run: Path, pattern: str) -> None:
    """Move folders of wandb to wandb/replaced/, where `wandb sync wandb/offline-run-*` does not find them."""
    replaced = run / FOLDER / "replaced"
    for old in sorted((run / FOLDER).glob(pattern)):
        replaced.mkdir(exist_ok=True)
        old.rename(replaced / old.name)


def tags(experiment: Experiment) -> list[str]:
    """Return the tags of a run in wandb: the learner, and the board, such as 4x4."""
    return [experiment.learner, board_of(experiment.settings)]


def summary_of(folder: Path) -> dict[str, float | str]:
    """Return the summary of a run.

    | key | content |
    |---|---|
    | `best/score_mean`, `best/env_steps` ... | the evaluation in training with the highest mean score |
    | `last/score_mean`, ... | the last one |
    | `evaluation/<search>/score_mean`, `score_low`, `games` ... | the last result file of each search |
    | `evaluation/<search>/file` | that file; it is among the files of the run in wandb |

    The best of many evaluations is biased upwards; the result files have other games. Damaged ones cause a warning and
    are left out.
    """
    rows = [row for row in read_metrics(folder) if SCORE in row]
    summary: dict[str, float | str] = {}
    if rows:
        for name, row in (("best", max(rows, key=lambda row: row[SCORE])), ("last", rows[-1])):
            summary[f"{name}/score_mean"] = row[SCORE]
            summary |= {f"{name}/{axis}": row[axis] for axis in AT_ROWS}
    results = []
    for file in result_files(folder):
        try:
            results.append({**read_result(file, ("search", *OF_RESULTS)), "file": f"{result_file.FOLDER}/{file.name}"})
        except UserError as error:
            warn(f"{file} is left out of the summary: {error}")
    for result in last_of_each_search(results):
        summary |= {f"evaluation/{result['search']}/{key}": result[key] for key in (*OF_RESULTS, "file")}
    return summary


def timed_rows(folder: Path) -> list[Row]:
    """Return the rows of a run, each with the time at which it was trained, which wandb shows in place of the present.

    Rows whose time is unknown (launch/experiment/machine_info.py, `time_of`) are as they are.
    """
    time = time_of(folder)
    timed = ((row, time(row["wall_hours"])) for row in read_metrics(folder))
    return [row if seconds is None else {**row, TIMESTAMP: seconds} for row, seconds in timed]


def result_files(folder: Path) -> list[Path]:
    """Return the result files of a run."""
    return sorted((folder / result_file.FOLDER).glob("*.json"))
