"""`muzero2048 reproduce`: train what a table of a paper lacks, evaluate it as the paper did, and print both."""

from collections.abc import Sequence
from pathlib import Path

from launch.errors import UserError
from launch.evaluation.evaluate import prepare_path
from launch.evaluation.result import OutputOptions
from launch.files import check_output, write_text
from launch.jobs import local, slurm
from launch.jobs.cluster import SLURM, ClusterConfig, load_cluster
from launch.jobs.evaluations import PlannedEvaluation
from launch.jobs.plan import PlannedRun, check_fits
from launch.jobs.submit import evaluate_here, evaluate_on_slurm
from launch.output import console
from launch.report.papers.comparison import compare_with_paper, tables_csv, write_table_file
from launch.report.papers.estimate import estimate, measured_speeds
from launch.report.papers.lines import line_columns, lines_of
from launch.report.papers.plan import Scale, plan_row, plan_runs, why_not
from launch.report.papers.table import PaperRow, PaperTable, load_table, table_names
from launch.signals import STOPPED
from launch.tables import fields, grid
from launch.train.loop import train

RUNS = Path("runs")  # the runs folder of the experiments in configs/


def reproduce(
    name: str, rows: Sequence[str], columns: Sequence[str], scale: Scale, on: str | None, csv_file: Path | None
) -> int:
    """Bring a part of a table to its end, and print the table. The same call again goes on and reuses what is done.

    Args:
        name: of the table, or its file.
        rows: names of the rows that are trained and evaluated; none: all.
        columns: names of the columns that are evaluated; none: all.
        scale: the budget, the seeds and the games.
        on: a cluster file or its name, which trains and plays there; None: this process does it.
        csv_file: where to write the CSV; None: runs/<table>-b<budget>.csv.

    Returns:
        The exit code.
    """
    scale.check()
    if csv_file:
        check_output(csv_file, "--csv")
    cluster = load_cluster(on) if on else None
    table = load_table(name)
    chosen = [table.row(row) for row in rows] or table.rows
    evaluated = table.with_columns(columns)
    runs = plan_runs(table, chosen, scale)
    expected = estimate(evaluated, chosen, scale, measured_speeds(RUNS))
    how = "measured in runs/" if expected.is_measured else "a rough one, from the table's file"
    print(
        f"{table.name}: {table.title} ({table.source})\n"
        f"on this machine from nothing: about {expected.training:,.1f} hours of training and"
        f" {expected.playing:,.1f} of play (speed of training: {how})",
        flush=True,
    )
    exit_code = _do_on(cluster, evaluated, chosen, runs, scale) if cluster else _do_here(evaluated, chosen, runs, scale)
    if exit_code == STOPPED:
        return exit_code
    data = compare_with_paper(table, scale)
    RUNS.mkdir(exist_ok=True)
    page = RUNS / f"{table.name}-{scale.label}.json"
    write_table_file(data, page)
    file = csv_file or page.with_suffix(".csv")
    try:
        write_text(file, tables_csv([data]))
    except OSError as error:
        raise UserError(f"--csv {file} cannot be written: {error.strerror}") from error
    print(f"\n{data.title} ({data.source})\nConditions: {data.conditions}")
    lines = [line for row in data.rows for line in lines_of(row)]
    console().print(grid(lines, line_columns(data), left=range(3)))
    print("\n".join(f"Caveat: {line}" for line in data.caveats))
    print(f"{file}\n{page}")
    return exit_code


def list_tables(scale: Scale) -> int:
    """Print all tables with the hours that each would take on this machine."""
    scale.check()
    speeds = measured_speeds(RUNS)
    rows = []
    for name in table_names():
        table = load_table(name)
        hours = estimate(table, table.rows, scale, speeds)
        left_out = sum(bool(why_not(table, row)) for row in table.rows) or ""
        speed = "measured" if hours.is_measured else "rough"
        numbers = (len(table.rows), left_out, f"{hours.training:,.1f}", f"{hours.playing:,.1f}")
        rows.append((name, table.title, *numbers, speed))
    columns = fields("table", "title", "rows", "not here", "hours of training", "hours of play", "speed")
    console().print(grid(rows, columns, left=(0, 1, 6)))
    print(
        f"Hours are for {scale.budget:g} of the paper's moves and {len(scale.seeds)} of its training seeds, from"
        " nothing. measured: the training speed of runs of these networks in runs/; rough, as all of play:"
        " moves_per_second of the table's file."
    )
    return 0


def _do_here(table: PaperTable, rows: Sequence[PaperRow], runs: Sequence[PlannedRun], scale: Scale) -> int:
    """Train and evaluate in this process, one after the other."""
    for run in runs:
        if run.is_finished():
            continue
        run.prepare()
        if exit_code := train(run.folder, (), resume=True):
            return exit_code
    for one in _evaluations(table, rows, scale):
        if one.result():
            continue
        games, request = one.evaluation.games, one.request
        if prepare_path(str(one.path), games, request.seed, request.options, OutputOptions()).play() is None:
            return STOPPED
    return 0


def _do_on(
    cluster: ClusterConfig, table: PaperTable, rows: Sequence[PaperRow], runs: Sequence[PlannedRun], scale: Scale
) -> int:
    """Train and evaluate by a cluster file.

    On SLURM it submits what can begin now: trainings whose first network is finished, and evaluations of finished runs.
    """
    if cluster.engine == SLURM:
        queue = slurm.read_queue(is_needed=True)
        ready = [run for run in _ready(runs) if not run.is_running() and run.output.resolve() not in queue]
        if ready:
            check_fits(ready, cluster)
            slurm.submit_tasks(ready, cluster, table.name, RUNS, dry_run=False)
        if planned := _evaluations(table, rows, scale):
            evaluate_on_slurm(planned, cluster, queue, dry_run=False)
        print("the same command again submits what could not begin yet, and prints what is finished")
        return 0
    while ready := _ready(runs):
        check_fits(ready, cluster)
        outcome = local.do_all(ready, cluster)
        if outcome.exit_code:
            return outcome.exit_code
    return evaluate_here(_evaluations(table, rows, scale), cluster)


def _ready(runs: Sequence[PlannedRun]) -> list[PlannedRun]:
    """Return the runs that are not finished, and whose first network is."""
    finished = {str(run.folder) for run in runs if run.is_finished()}
    waits_for = [(run, run.experiment.run.begin_from) for run in runs if str(run.folder) not in finished]
    return [run for run, first in waits_for if not first or first in finished]


def _evaluations(table: PaperTable, rows: Sequence[PaperRow], scale: Scale) -> list[PlannedEvaluation]:
    """Return the evaluations of the finished runs, each once; columns of one evaluation share it."""
    evaluations: dict[Path, PlannedEvaluation] = {}
    for row in rows:
        for _, planned in plan_row(table, row, scale):
            evaluations.setdefault(planned.whole.output, planned)
    return list(evaluations.values())
