"""`muzero2048 submit`: check a plan of trainings and evaluations, print it, and bring each task to its end.

The same plan again is always safe: what is finished, running or in the queue is not begun again.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from launch.errors import UserError
from launch.evaluation.result import read_result
from launch.experiment.experiment import CONFIG_FILE, Experiment
from launch.files import probe_folder
from launch.jobs import local, slurm
from launch.jobs.cluster import SLURM, ClusterConfig, load_cluster, resources
from launch.jobs.detached import detach
from launch.jobs.evaluations import PlannedEvaluation, plan_final_evaluations
from launch.jobs.following import status_table
from launch.jobs.plan import PlannedRun, check_config, check_fits, for_trainings
from launch.jobs.queue import queue_files
from launch.jobs.run_states import measured_runs, read_states
from launch.output import console
from launch.quantities import duration
from launch.signals import STOPPED
from launch.tables import fields, grid
from launch.train.resume import BUDGET


class SubmitPlan(NamedTuple):
    """What a `submit` asks for: runs to train, and evaluations, each of a checkpoint or of one of these runs."""

    runs: Sequence[PlannedRun] = ()
    evaluations: Sequence[PlannedEvaluation] = ()


def submit(plan: SubmitPlan, on: str, dry_run: bool, in_background: bool) -> int:
    """Do a plan on this machine, or give it to SLURM; return the exit code. Nothing is begun if there is a mistake.

    `in_background`: a process of its own does it on this machine. SLURM always does.
    """
    cluster = load_cluster(on)
    for folder in sorted({Path(run.experiment.run.runs_folder) for run in plan.runs}):
        check_writable(folder)
    if cluster.engine == SLURM:
        return _submit_to_slurm(plan, cluster, dry_run)
    return _do_here(plan, cluster, dry_run, in_background)


def _do_here(plan: SubmitPlan, cluster: ClusterConfig, dry_run: bool, in_background: bool) -> int:
    trains_on = for_trainings(cluster, plan.runs)
    slots = local.make_slots(trains_on)
    to_do = [run for run in plan.runs if not run.is_finished()]
    if plan.runs:
        check_fits(to_do, cluster)
        _print_runs(plan.runs, resources(trains_on, slots[0].cores), slurm.read_queue())
    if dry_run:
        if not plan.runs:
            _print_evaluations(plan.evaluations)
        return 0
    if in_background:
        return _detach(plan)
    if not plan.runs:
        return evaluate_here(plan.evaluations, cluster)
    trained = local.do_all(to_do, trains_on)
    screen = console()
    screen.print(status_table(read_states([run.folder for run in plan.runs]), screen.width))
    if not plan.evaluations or trained.is_interrupted:
        return trained.exit_code
    finished = [run for run in plan.runs if run.is_finished()]
    evaluated = evaluate_here(plan_final_evaluations(finished, plan.evaluations[0].request), cluster)
    return trained.exit_code or evaluated


def _detach(plan: SubmitPlan) -> int:
    """Start the launcher in the background, unless everything is finished."""
    folders = [run.folder for run in plan.runs if not run.is_finished()]
    folders += [evaluation.run_folder for evaluation in plan.evaluations if not evaluation.result()]
    if not folders:
        print("all of them are finished")
        return 0
    group = plan.runs[0].experiment.run.group.partition("/")[0] if plan.runs else ""
    return detach(group or folders[0].name, folders[0].parent, lambda: any(map(queue_files, folders)))


def _for_evaluations(cluster: ClusterConfig, planned: Sequence[PlannedEvaluation]) -> ClusterConfig:
    """Return what evaluations get of a cluster: one node, and no GPUs if no search of them can use one."""
    uses_jax = any(evaluation.uses_jax for evaluation in planned)
    return replace(cluster, nodes=1, gpus=cluster.gpus if uses_jax else 0)


def evaluate_here(planned: Sequence[PlannedEvaluation], cluster: ClusterConfig) -> int:
    """Play evaluations on this machine, put their parts together, and print the results; return the exit code."""
    to_do = [evaluation for evaluation in planned if not evaluation.result()]
    cluster = _for_evaluations(cluster, to_do)
    for evaluation in to_do:
        evaluation.check_free()
    parts = [part for evaluation in to_do for part in evaluation.parts if not part.is_finished()]
    played = local.do_all(parts, cluster)
    if played.is_interrupted:
        return STOPPED
    left = {task.output for task in (*played.stopped, *played.failed)}
    complete = [each.whole for each in to_do if left.isdisjoint(part.output for part in each.parts)]
    ended = local.do_all(complete, cluster)
    _print_evaluations(planned)
    return played.exit_code or ended.exit_code


def _submit_to_slurm(plan: SubmitPlan, cluster: ClusterConfig, dry_run: bool) -> int:
    to_do = [run for run in plan.runs if not run.is_finished()]
    check_fits(to_do, cluster)
    queue = slurm.read_queue(is_needed=True)
    if not plan.runs:
        evaluate_on_slurm(plan.evaluations, cluster, queue, dry_run)
        return 0
    for run in to_do:
        if run.output.resolve() in queue:
            check_config(run)  # it may wait with the config of another command
    new = [run for run in to_do if not run.is_running() and run.output.resolve() not in queue]
    queued = {evaluation.run_folder for evaluation in plan.evaluations if _is_queued(evaluation, queue)}
    new.sort(key=lambda run: run.folder in queued)  # these get no evaluation, and task i of one follows training i
    trains_on = for_trainings(cluster, new)
    _print_runs(plan.runs, resources(trains_on), queue)
    if not new:
        print("all of them are finished, in training or in the queue")
    else:
        name = re.sub(r"[^\w.-]", "_", new[0].experiment.run.group.partition("/")[0]) or "muzero2048"
        job = slurm.submit_tasks(new, trains_on, name, Path(new[0].experiment.run.runs_folder), dry_run)
        begun = {run.folder for run in new}
        if after := [evaluation for evaluation in plan.evaluations if evaluation.run_folder in begun]:
            evaluate_on_slurm(after, cluster, queue, dry_run, after=[job])
    if trained := [evaluation for evaluation in plan.evaluations if evaluation.env_steps is not None]:
        evaluate_on_slurm(trained, cluster, queue, dry_run)
    if plan.evaluations and (busy := [run.name for run in to_do if run not in new]):
        print(f"submit these again when their training is over, unless they had it: {', '.join(busy)}")
    if not dry_run:
        print("`muzero2048 status` shows them, `muzero2048 stop` ends them")
    return 0


def evaluate_on_slurm(
    planned: Sequence[PlannedEvaluation],
    cluster: ClusterConfig,
    queue: Mapping[Path, slurm.QueuedTask],
    dry_run: bool,
    after: Sequence[str] = (),
) -> None:
    """Give evaluations to SLURM: an array for each part, and one that puts the parts together.

    Those that are finished or in the queue are left out. All processes run on one node. Task i of the jobs `after`
    trains the run of evaluation i, of those that are not left out.
    """
    new = [evaluation for evaluation in planned if not evaluation.result() and not _is_queued(evaluation, queue)]
    _print_evaluations(planned)
    if not new:
        print("all of them are finished or in the queue")
        return
    count = max(1, len(new[0].parts))
    each = max(1, cluster.at_once // count) if cluster.at_once else 0
    cluster = replace(_for_evaluations(cluster, new), at_once=each)
    runs_folder = new[0].run_folder.parent
    jobs = [
        slurm.submit_tasks(tasks, cluster, f"evaluate-{number}", runs_folder, dry_run, after)
        for number, tasks in enumerate(zip(*(evaluation.parts for evaluation in new), strict=True), start=1)
    ]
    slurm.submit_tasks(
        [evaluation.whole for evaluation in new], cluster, "evaluate", runs_folder, dry_run, jobs or after
    )


def _is_queued(evaluation: PlannedEvaluation, queue: Mapping[Path, slurm.QueuedTask]) -> bool:
    return any(task.output.resolve() in queue for task in evaluation.tasks)


def check_writable(folder: Path) -> None:
    """Refuse a runs folder that cannot be made or written; a file is written into what exists of its path."""
    existing = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    try:
        probe_folder(existing)
    except OSError as error:
        raise UserError(
            f"cannot write the runs folder {folder}: {error.strerror}; give another run.runs_folder=..."
        ) from error


def _print_runs(runs: Sequence[PlannedRun], gets: str, queue: Mapping[Path, slurm.QueuedTask]) -> None:
    """Print a row for each run: its state, its moves, the expected time and what it gets."""
    existing = [run for run in runs if (run.folder / CONFIG_FILE).is_file()]
    read = read_states([run.folder for run in existing], queue)
    states = {run.name: state for run, state in zip(existing, read, strict=True)}
    speeds = _known_speeds({Path(run.experiment.run.runs_folder) for run in runs})
    rows = []
    for run in runs:
        state, total = states.get(run.name), run.experiment.settings.env_steps
        left = max(0, total - state.env_steps) if state else total
        speed = (state.moves_per_second if state else None) or speeds.get(_training_key(run.experiment))
        time = "" if not left else duration(left / speed / 3600) if speed else "unknown"
        is_in = state.state if state else "new"
        rows.append((run.name, run.experiment.learner, is_in, f"{total:,}", f"{left:,}", time, gets))
    columns = fields("run", "learner", "state", "moves", "to do", "expected time", "gets")
    console().print(grid(rows, columns, left=(0, 1, 2, 6)))


def _print_evaluations(planned: Sequence[PlannedEvaluation]) -> None:
    """Print a row for each evaluation, with its result if it is finished."""
    rows = []
    for evaluation in planned:
        file = evaluation.result()
        result = read_result(file, ("score_mean", "score_low", "score_high")) if file else {}
        moves = f"{evaluation.env_steps:,}" if evaluation.env_steps else ""
        games, parts = f"{evaluation.evaluation.games:,}", evaluation.request.parts
        mean = f"{result['score_mean']:,.0f}" if result else ""
        interval = f"{result['score_low']:,.0f} to {result['score_high']:,.0f}" if result else ""
        rows.append((evaluation.run_folder.name, moves, evaluation.search, games, parts, mean, interval))
    columns = fields("run", "moves", "search", "games", "processes", "mean", "95% interval")
    console().print(grid(rows, columns, left=range(3)))


def _known_speeds(folders: set[Path]) -> dict[str, float]:
    """Return moves per second of the runs in some folders, by their settings."""
    speeds: dict[str, float] = {}
    for folder in folders:
        speeds |= {_training_key(experiment): speed for experiment, speed in measured_runs(folder)}
    return speeds


def _training_key(experiment: Experiment) -> str:
    """Return the settings that decide the speed of a training, as one text."""
    settings = experiment.plain()[experiment.learner]
    return json.dumps([experiment.learner, {key: value for key, value in settings.items() if key not in BUDGET}])
