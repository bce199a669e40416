"""`muzero2048 submit`: check a set of runs, print the plan, and bring each run to its end."""

import json
import math
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.table import Table

from launch.errors import LaunchError, UserError
from launch.experiment.experiment import CONFIG_FILE, Experiment, load_experiment, read_yaml
from launch.jobs import local, slurm
from launch.jobs.cluster import SLURM, ClusterConfig, load_cluster, resources
from launch.jobs.evaluations import EvaluationRequest, plan_evaluations, plan_final_evaluations
from launch.jobs.following import console, status_table
from launch.jobs.plan import PlannedRun, Request, check_memory, is_finished_run, plan_runs
from launch.jobs.run_states import read_speed, read_states
from launch.jobs.submit_evaluations import evaluate_here, evaluate_on_slurm
from launch.train.resume import BUDGET


def submit(request: Request, then: EvaluationRequest | None, on: str, dry_run: bool) -> int:
    """Train all runs of a request that are not finished. The same request again is always safe.

    `then` evaluates each run after its training. Nothing is started if there is a mistake.
    """
    cluster = load_cluster(on)
    runs = plan_runs(request)
    if then:
        plan_final_evaluations(runs, then)  # checks the words
    folders = {Path(run.experiment.run.runs_folder) for run in runs}
    for folder in sorted(folders):
        _check_writable(folder)
    to_do = [run for run in runs if not is_finished_run(run)]
    if cluster.engine == SLURM:
        return _submit_to_slurm(runs, to_do, then, cluster, dry_run)
    trained = _train_here(runs, to_do, cluster, dry_run)
    if then is None or dry_run or trained.is_interrupted:
        return trained.exit_code
    finished = [run.folder for run in runs if is_finished_run(run)]
    evaluated = evaluate_here(plan_evaluations(finished, then), cluster)
    return trained.exit_code or evaluated


def _train_here(
    runs: Sequence[PlannedRun], to_do: Sequence[PlannedRun], cluster: ClusterConfig, dry_run: bool
) -> local.Outcome:
    slots = local.make_slots(cluster)
    check_memory(to_do, local.memory_of_a_run(cluster), bool(cluster.gpus))
    _print_plan(runs, resources(cluster, slots[0].cores), slurm.read_queue())
    if dry_run:
        return local.Outcome()
    outcome = local.do_all(to_do, cluster)
    console().print(status_table(read_states([run.folder for run in runs])))
    return outcome


def _submit_to_slurm(
    runs: Sequence[PlannedRun],
    to_do: Sequence[PlannedRun],
    then: EvaluationRequest | None,
    cluster: ClusterConfig,
    dry_run: bool,
) -> int:
    check_memory(to_do, cluster.memory_gb * 1e9 or math.inf, bool(cluster.gpus))
    queue = slurm.read_queue(is_needed=True)
    new = [run for run in to_do if not run.is_running() and run.output.resolve() not in queue]
    _print_plan(runs, resources(cluster), queue)
    if not new:
        print("all of them are finished, in training or in the queue")
    else:
        name = re.sub(r"[^\w.-]", "_", new[0].experiment.run.group.partition("/")[0]) or "muzero2048"
        runs_folder = Path(new[0].experiment.run.runs_folder)
        job = slurm.submit_tasks(new, cluster, name, runs_folder, dry_run)
        if then:
            evaluate_on_slurm(plan_final_evaluations(new, then), cluster, queue, dry_run, after=[job])
    if then:
        if finished := [run.folder for run in runs if run not in to_do]:
            evaluate_on_slurm(plan_evaluations(finished, then), cluster, queue, dry_run)
        if busy := [run.name for run in to_do if run not in new]:
            print(f"submit these again when their training is over, unless they had it: {', '.join(busy)}")
    if not dry_run:
        print("`muzero2048 status` shows them, `muzero2048 stop` ends them")
    return 0


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


def _print_plan(runs: Sequence[PlannedRun], gets: str, queue: Mapping[Path, slurm.QueuedTask]) -> None:
    """Print a row for each run: its state, its moves, the expected time and what it gets."""
    existing = [run for run in runs if (run.folder / CONFIG_FILE).is_file()]
    found = read_states([run.folder for run in existing], queue)
    states = {run.name: state for run, state in zip(existing, found, strict=True)}
    speeds = _known_speeds({Path(run.experiment.run.runs_folder) for run in runs})
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
    console().print(table)


def _known_speeds(folders: set[Path]) -> dict[str, float]:
    """Return moves per second of the runs in some folders, by their settings."""
    speeds: dict[str, float] = {}
    for folder in folders:
        for file in sorted(folder.glob(f"*/{CONFIG_FILE}")):
            try:
                if speed := read_speed(file.parent):
                    speeds[_training_key(load_experiment(file.parent))] = speed
            except LaunchError:  # a damaged run of somebody else does not stop this one
                continue
    return speeds


def _training_key(experiment: Experiment) -> str:
    """Return the settings that decide the speed of a training, as one text."""
    settings = read_yaml(experiment.to_yaml())[experiment.learner]
    return json.dumps([experiment.learner, {key: value for key, value in settings.items() if key not in BUDGET}])
