"""What wandb knows of a run besides its rows: tags, and a summary of its best, last and separate evaluations."""

from pathlib import Path

from launch.errors import UserError, warn
from launch.evaluation.result import FOLDER, last_of_each_search, read_result
from launch.experiment.experiment import Experiment
from launch.train.tracking import read_metrics

SCORE = "eval/score_mean"
AT_ROWS = ("env_steps", "games", "wall_hours")  # of the row of an evaluation in training
OF_RESULTS = ("score_mean", "score_low", "score_high", "games", "env_steps")  # of a result file

Summary = dict[str, float | str]


def tags(experiment: Experiment) -> list[str]:
    """Return the tags of a run in wandb: the learner, and the board, such as 4x4."""
    return [experiment.learner, f"{experiment.settings.rows}x{experiment.settings.columns}"]


def summary_of(folder: Path) -> Summary:
    """Return the summary of a run.

    | key | content |
    |---|---|
    | `best/score_mean`, `best/env_steps` ... | the evaluation in training with the highest mean score |
    | `last/score_mean`, ... | the last one |
    | `evaluation/<search>/score_mean`, `score_low`, `games` ... | the last result file of each search |
    | `evaluation/<search>/file` | that file; it is among the files of the run in wandb |

    The best of many evaluations is biased upwards; the result files have other games.

    Args:
        folder: of the run. Damaged result files cause a warning and are left out.

    Raises:
        UserError: a row of metrics.jsonl is damaged.
    """
    rows = [row for row in read_metrics(folder) if SCORE in row]
    found: Summary = {}
    if rows:
        for name, row in (("best", max(rows, key=lambda row: row[SCORE])), ("last", rows[-1])):
            found[f"{name}/score_mean"] = row[SCORE]
            found |= {f"{name}/{axis}": row[axis] for axis in AT_ROWS}
    results = []
    for file in result_files(folder):
        try:
            results.append({**read_result(file, ("search", *OF_RESULTS)), "file": f"{FOLDER}/{file.name}"})
        except UserError as error:
            warn(f"{file} is left out of the summary: {error}")
    for result in last_of_each_search(results):
        found |= {f"evaluation/{result['search']}/{key}": result[key] for key in (*OF_RESULTS, "file")}
    return found


def result_files(folder: Path) -> list[Path]:
    """Return the result files of a run."""
    return sorted((folder / FOLDER).glob("*.json"))
