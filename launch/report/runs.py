"""Run folders as a comparison reads them: the config by dotted keys, the metrics as columns, and the evaluations."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float64

from launch.errors import UserError, warn
from launch.evaluation.result import FOLDER, read_result
from launch.evaluation.summary import Summary
from launch.experiment.experiment import CONFIG_FILE
from launch.experiment.metrics_file import read_columns
from launch.experiment.plain_values import MISTAKES, flat, load_plain, mistake_text
from ntuple.core.games.game_2048 import GAME_2048
from ntuple.core.games.known import board_name

RESULT_KEYS = ("board", "run", "group", "learner", "training_seed", "seed", "env_steps", "training_games", "wall_hours",
               "search", "score_bins", "max_tiles", *Summary._fields)  # fmt: skip
CONFIG_KEYS = ("learner", "run.name", "run.group", "run.seed")  # that a comparison needs
X_AXES = ("env_steps", "games", "wall_hours")


class Run(NamedTuple):
    """One run; R rows of metrics."""

    folder: Path
    config: dict[str, Any]  # values by dotted key, such as run.seed
    columns: dict[str, Float64[np.ndarray, " R"]]  # by metric; NaN where a row lacks the metric
    evaluations: list[dict[str, Any]]  # result files (launch/evaluation/result.py)

    @property
    def name(self) -> str:
        """Name of the run."""
        return str(self.config["run.name"])

    @property
    def learner(self) -> str:
        """Name of its learner."""
        return str(self.config["learner"])

    @property
    def game(self) -> str:
        """Game of its learner, such as threes."""
        return str(self.config.get(f"{self.learner}.game") or GAME_2048.name)

    @property
    def board(self) -> str:
        """Board of its learner, such as 4x4; "" if the config has none."""
        rows, columns = (self.config.get(f"{self.learner}.{key}") or 0 for key in ("rows", "columns"))
        return board_name(rows, columns, self.game) if rows else ""


def read_config(folder: Path) -> dict[str, Any]:
    """Read the config of a run folder, without its schema, so that runs of other versions can be compared."""
    file = folder / CONFIG_FILE
    try:
        config = flat(load_plain(file.read_text(encoding="utf-8")))
    except MISTAKES as error:
        raise UserError(f"cannot read {file}: {mistake_text(error)}") from error
    for key in CONFIG_KEYS:
        if key not in config:
            raise UserError(f"{file} is not the config of a run: it has no {key}")
    return config


def read_run(folder: Path, config: dict[str, Any]) -> Run:
    """Read the rows and evaluations of a run. An incomplete last line, of a killed run, is left out."""
    columns = read_columns(folder)
    evaluations = [read_result(file, RESULT_KEYS) for file in sorted((folder / FOLDER).glob("*.json"))]
    return Run(folder, config, columns, evaluations)


def read_runs(configs: dict[Path, dict[str, Any]]) -> list[Run]:
    """Read runs by their folders and configs; damaged ones cause a warning and are left out, UserError if all are."""
    runs, errors = [], dict[Path, UserError]()
    for folder, config in configs.items():
        try:
            runs.append(read_run(folder, config))
        except UserError as error:
            errors[folder] = error
    if len(configs) == 1 and errors:
        raise next(iter(errors.values()))
    for folder, error in errors.items():
        warn(f"{folder} is left out: {error}")
    if not runs:
        raise UserError("no selected run can be read")
    return runs
