"""The one loop that trains every learner.

Each round: train until the next report, then metrics, snapshot, evaluation and checkpoint, in this order.

- A signal ends a report within seconds. The report gets a row at the move where it ended and is saved there. A resumed
  run trains the rest of it.
- A resumed run takes the newest good checkpoint, removes the rows of metrics.jsonl after it, plays an evaluation that a
  signal ended, and goes on. With one thread or one device its weights and its rows (except times and speeds) equal
  those of a run that was never stopped.
- Of several processes all train and save. The first alone writes the run folder, evaluates, and decides by its clock.
"""

import re
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

from launch.errors import UserError
from launch.experiment import registry
from launch.experiment.experiment import Experiment, load_experiment, warn_without_effect
from launch.experiment.processes import Processes, join
from launch.output import going_on_unread
from launch.signals import STOPPED, StopSignals
from launch.train.resume import agree_on_config, agree_on_start, in_folder, is_finished, is_run_folder, refuse_changes
from launch.train.run_process import owning
from launch.train.training_run import TrainingRun

OUT_OF_MEMORY = "RESOURCE_EXHAUSTED.*(memory|allocat)"  # in JAX's error when a program does not fit


@going_on_unread()
def train(config: Path, overrides: Sequence[str], resume: bool) -> int:
    """Train, save and evaluate one experiment; return the exit code.

    The config is a YAML file, or the folder of a run, which may have been moved. With `resume` the training goes on
    from the newest good checkpoint, or starts if there is none.

    Raises:
        UserError: a mistake in the config, the folder or the checkpoint; or too little memory.
        DivergedError: a metric became NaN or infinite.
    """
    experiment = load_experiment(config, overrides)
    warn_without_effect(experiment)
    if is_run_folder(config):
        experiment = in_folder(experiment, config, overrides)
    processes = join(experiment.learner)
    with StopSignals(lost="nothing was trained yet") as stop, processes:
        agree_on_config(experiment, processes)
        with owning(experiment.run.folder) if processes.is_first else nullcontext() as owner:
            checkpoint = agree_on_start(experiment, resume, processes)
            if owner:
                owner.begin()
            exit_code = _train_within_memory(experiment, checkpoint, processes, stop)
            if owner:
                owner.end(exit_code)
            return exit_code


def _train_within_memory(
    experiment: Experiment, checkpoint: Path | None, processes: Processes, stop: StopSignals
) -> int:
    try:
        return _train(experiment, checkpoint, processes, stop)
    except RuntimeError as error:
        if not re.search(OUT_OF_MEMORY, str(error)):
            raise
        keys = registry.spec_of(experiment.learner).memory_keys
        reason = str(error).partition("\n")[0]
        raise UserError(f"{experiment.run.name} takes more memory than there is ({reason}); lower {keys}") from error


def _train(experiment: Experiment, checkpoint: Path | None, processes: Processes, stop: StopSignals) -> int:
    if checkpoint and processes.of_first(lambda: is_finished(experiment, checkpoint)):
        refuse_changes(experiment, checkpoint)
        if processes.is_first:
            print(f"{experiment.run.folder} is finished; to train on, give a larger {experiment.learner}.env_steps")
        return 0
    with TrainingRun(experiment, checkpoint, processes) as run:
        stop.explain_loss(run.what_is_lost)
        run.evaluate_if_due(stop)
        stopping = processes.anyone(stop.requested)
        while not run.done and not stopping:
            run.advance(stop)
            run.snapshot_if_due()
            run.evaluate_if_due(stop)
            stopping = processes.anyone(stop.requested)
            if run.done or stopping or run.save_is_due():
                run.save()
        run.evaluate_finally(stop)
    if not processes.anyone(stop.requested):
        return 0
    if processes.is_first:
        print(f"stopped at {run.env_steps:,} moves; the same command with --resume goes on")
    return STOPPED
