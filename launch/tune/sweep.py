"""The search of a `muzero2048 tune` as a sweep of wandb, whose server chooses the values and whose agents train."""

import shlex
from pathlib import Path
from typing import Any

from launch.experiment.experiment import Experiment
from launch.experiment.plain_values import dump_plain
from launch.files import write_text
from launch.tune.request import BAYESIAN, TuneRequest
from launch.tune.space import Space

FIRST_EVALUATIONS = 3  # of a run, before wandb may end it


def write_sweep(file: Path, request: TuneRequest, space: Space, base: Experiment) -> None:
    """Write the file of `wandb sweep`, and print how it is used."""
    write_text(file, dump_plain(make_sweep(request, space, base)))
    print(f"{file} is written. Make the sweep:  wandb sweep {shlex.quote(str(file))}")
    print("then, on each machine, in a folder with the config:  wandb agent SWEEP")


def make_sweep(request: TuneRequest, space: Space, base: Experiment) -> dict[str, Any]:
    """Return a sweep of wandb. A run has the name of the group and wandb's id of it."""
    group, sampling = request.group, request.sampling
    train = shlex.join(["muzero2048", "train", str(request.config), *space.fixed, f"run.group={group}"])
    sweep: dict[str, Any] = {
        "project": base.run.wandb_project,
        "name": group,
        "method": "bayes" if sampling.sampler == BAYESIAN else "random",
        "metric": {"name": "eval/score_mean", "goal": "maximize"},
        "run_cap": request.trials,
        "parameters": {key: axis.sweep() for key, axis in space.axes.items()},
        # The agent replaces a word ${args_no_hyphens} by key=value words, and sets WANDB_RUN_ID.
        "program": "muzero2048",
        "command": [
            "bash", "-c", f'exec {train} run.name={shlex.quote(group)}-$WANDB_RUN_ID "$@"', group, "${args_no_hyphens}"
        ],
    }  # fmt: skip
    if sampling.is_pruning and base.run.evaluate_env_steps:
        sweep["early_terminate"] = {"type": "hyperband", "min_iter": FIRST_EVALUATIONS}
    return sweep
