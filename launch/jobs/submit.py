"""`muzero2048 submit`: check a set of runs, print the plan, and bring each run to its end."""

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.table import Table

from launch.config.experiment import CONFIG_FILE, Experiment, load_experiment, read_yaml
from launch.errors import LaunchError, UserError
from launch.jobs import local
from launch.jobs.cluster import load_cluster, resources
from launch.jobs.following import console, status_table
from launch.jobs.plan import PlannedRun, Request, check_memory, plan_runs
from launch.jobs.run_states import RunState, read_state
from launch.machine.signals import STOPPED
from launch.run.checkpoints import newest_checkpoint
from launch.run.resume import BUDGET, is_finished

FAILED = 1  # exit code if a run has failed


def submit(request: Request, on: str, dry_run: bool) -> int:
    """Train all runs of a request that are not finished. The same request again is always safe.

    Args:
        request: which runs.
        on: the cluster file, or its name in configs/clusters/.
        dry_run: check and print the plan alone.

    Returns:
        The exit code: 0 all finished, 1 one failed, 75 stopped.

    Raises:
        UserError: a mistake in the request, a config or the cluster file. Nothing was started.
    """
    cluster = load_cluster(on)
    runs = plan_runs(request)
    folders = {Path(run.experiment.run.runs_folder) for run in runs}
    for folder in sorted(folders):
        _check_writable(folder)
    slots = local.make_slots(cluster)
    check_memory(runs, local.memory_of_a_run(cluster), f"at_once = {cluster.at_once}")
    states = {run.name: read_state(run.folder) for run in runs if (run.folder / CONFIG_FILE).is_file()}
    console().print(_plan_table(runs, states, resources(cluster, slots[0].cores), _known_speeds(folders)))
    if dry_run:
        return 0
    outcome = local.train_all([run for run in runs if not _is_finished(run)], cluster)
    console().print(status_table([read_state(run.folder) for run in runs if (run.folder / CONFIG_FILE).is_file()]))
    if outcome.failed:
        return FAILED
    return STOPPED if outcome.stopped else 0


def _is_finished(run: PlannedRun) -> bool:
    checkpoint = newest_checkpoint(run.folder)
    return checkpoint is not None and is_finished(run.experiment, checkpoint)


def _check_writable(folder: Path) -> None:
    """Refuse a runs folder that cannot be made or written; a file is written into what exists of its path."""
    existing = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    try:
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        raise UserError(
            f"cannot write the runs folder {folder}: {error.strerror}; give another run.runs_folder=..."
        ) from error


def _plan_table(runs: Sequence[PlannedRun], states: dict[str, RunState], gets: str, speeds: dict[str, float]) -> Table:
    table = Table("run", "learner", "state", box=None)
    for heading in ("moves", "to do", "expected hours"):
        table.add_column(heading, justify="right")
    table.add_column("gets")
    for run in runs:
        state, total = states.get(run.name), run.experiment.settings.env_steps
        left = max(0, total - state.env_steps) if state else total
        speed = (state.moves_per_second if state else None) or speeds.get(_training_key(run.experiment))
        table.add_row(
            run.name,
            run.experiment.learner,
            state.state if state else "new",
            f"{total:,}",
            f"{left:,}",
            f"{left / speed / 3600:.1f}" if speed else "unknown",
            gets,
        )
    return table


def _known_speeds(folders: set[Path]) -> dict[str, float]:
    """Return moves per second of the runs in some folders, by their settings."""
    speeds: dict[str, float] = {}
    for folder in folders:
        for file in sorted(folder.glob(f"*/{CONFIG_FILE}")):
            try:
                speed = read_state(file.parent).moves_per_second
                if speed:
                    speeds[_training_key(load_experiment(file.parent))] = speed
            except LaunchError:  # a damaged run of somebody else does not stop this one
                continue
    return speeds


def _training_key(experiment: Experiment) -> str:
    """Return the settings that decide the speed of a training, as one text."""
    settings = read_yaml(experiment.to_yaml())[experiment.learner]
    return json.dumps([experiment.learner, {key: value for key, value in settings.items() if key not in BUDGET}])
