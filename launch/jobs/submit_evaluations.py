"""`muzero2048 submit evaluate` and `--then-evaluate`: evaluations by several processes, here or on a cluster."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from rich.table import Table

from launch.evaluation.result import read_result
from launch.jobs import local, slurm
from launch.jobs.cluster import SLURM, ClusterConfig, load_cluster
from launch.jobs.evaluations import EvaluationRequest, PlannedEvaluation, plan_evaluations
from launch.jobs.following import console
from launch.train.signals import STOPPED


def submit_evaluations(paths: Sequence[Path], request: EvaluationRequest, on: str, dry_run: bool) -> int:
    """Evaluate checkpoints, each by several processes. The same request again is always safe."""
    cluster = load_cluster(on)
    planned = plan_evaluations(paths, request)
    if cluster.engine == SLURM:
        evaluate_on_slurm(planned, cluster, slurm.read_queue(is_needed=True), dry_run)
        return 0
    local.make_slots(cluster)  # checks the cluster file
    if dry_run:
        _print(planned)
        return 0
    return evaluate_here(planned, cluster)


def evaluate_here(planned: Sequence[PlannedEvaluation], cluster: ClusterConfig) -> int:
    """Play evaluations on this machine, put their parts together, and print the results; return the exit code."""
    to_do = [one for one in planned if not one.result()]
    for one in to_do:
        one.check_free()
    played = local.do_all([part for one in to_do for part in one.parts if not part.is_finished()], cluster)
    if played.is_interrupted:
        return STOPPED
    left = {task.output for task in (*played.stopped, *played.failed)}
    whole = [one.whole for one in to_do if not left.intersection(part.output for part in one.parts)]
    ended = local.do_all(whole, cluster)
    _print(planned)
    return played.exit_code or ended.exit_code


def evaluate_on_slurm(
    planned: Sequence[PlannedEvaluation],
    cluster: ClusterConfig,
    queue: Mapping[Path, slurm.QueuedTask],
    dry_run: bool,
    after: Sequence[str] = (),
) -> None:
    """Give evaluations to SLURM: an array for each part, and one that puts the parts together.

    Those that are finished or in the queue are left out. All processes run on one node. Task i of the jobs `after`
    trains the run of evaluation i.
    """
    new = [one for one in planned if not one.result() and not any(task.output.resolve() in queue for task in one.tasks)]
    _print(planned)
    if not new:
        print("all of them are finished or in the queue")
        return
    count = max(1, len(new[0].parts))
    each = max(1, cluster.at_once // count) if cluster.at_once else 0
    cluster = replace(cluster, nodes=1, at_once=each)
    runs_folder = new[0].run_folder.parent
    jobs = [
        slurm.submit_tasks(tasks, cluster, f"evaluate-{number}", runs_folder, dry_run, after)
        for number, tasks in enumerate(zip(*(one.parts for one in new), strict=True), start=1)
    ]
    slurm.submit_tasks([one.whole for one in new], cluster, "evaluate", runs_folder, dry_run, jobs or after)


def _print(planned: Sequence[PlannedEvaluation]) -> None:
    """Print a row for each evaluation, with its result if it is there."""
    table = Table("run", "moves", "search", box=None)
    for heading in ("games", "processes", "mean", "95% interval"):
        table.add_column(heading, justify="right")
    for one in planned:
        file = one.result()
        result = read_result(file, ("score_mean", "score_low", "score_high")) if file else {}
        interval = f"{result['score_low']:,.0f} to {result['score_high']:,.0f}" if result else ""
        table.add_row(
            one.run_folder.name,
            f"{one.env_steps:,}" if one.env_steps else "",
            one.search,
            f"{one.evaluation.games:,}",
            str(one.request.parts),
            f"{result['score_mean']:,.0f}" if result else "",
            interval,
        )
    console().print(table)
