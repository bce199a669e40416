"""Bring tasks to their end on a cluster with SLURM: an array of jobs, whose script a person can read and keep.

The scheduler is the only one that knows which tasks wait. Its queue names the script of each job, and the script names
the output of each task, so nothing else is kept.
"""

import getpass
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from launch.errors import UserError, warn
from launch.experiment.machine_info import own_program
from launch.files import write_text
from launch.jobs.cluster import ClusterConfig
from launch.jobs.tasks import PlannedTask
from launch.signals import STOPPED

FOLDER = ".slurm"  # in the runs folder: the scripts, and what they print
CALL_SECONDS = 60.0  # that a call of SLURM may take
_TASK = re.compile(r"^    (\d+)\) words=\(.*\) output=(.*) ;;$", re.MULTILINE)
_CHDIR = re.compile(r"^#SBATCH --chdir=(.*)$", re.MULTILINE)

# One process works; the shell, which alone gets SLURM's signals (B:), passes them on. `wait` also ends at a signal, so
# it is repeated until the process has ended. SLURM does not requeue a job that saved and ended: the script does it.
BODY = """\
# Goes on until done, or until the signal before the time limit or a preemption; then it has saved, and is requeued.
# A crash (another exit code than 0, 2 and {stopped}) starts it again from its last save, up to {restarts} times.
child=
trap '[ -z "$child" ] || {forward} 2>/dev/null' TERM
for attempt in $(seq 0 {restarts}); do
    {command} "${{words[@]}}" >> "$output" 2>&1 &
    child=$!
    wait "$child"; code=$?
    while kill -0 "$child" 2>/dev/null; do wait "$child"; code=$?; done
    case $code in 0|2|{stopped}) break ;; esac
done
job=${{SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}}${{SLURM_ARRAY_TASK_ID:+_$SLURM_ARRAY_TASK_ID}}
if [ "$code" = {stopped} ] && timeout 60 scontrol requeue "$job"; then
    sleep 600  # SLURM ends this shell
fi
exit "$code"
"""


class QueuedTask(NamedTuple):
    """A task in SLURM's queue."""

    job: str  # such as 17_3
    state: str  # in SLURM's words, such as PENDING
    reason: str  # why it waits, or ""

    @property
    def is_waiting(self) -> bool:
        """Whether the job has not started, or has been requeued."""
        return self.state in ("PENDING", "REQUEUED", "REQUEUE_HOLD", "SPECIAL_EXIT")


def make_script(tasks: Sequence[PlannedTask], cluster: ClusterConfig, name: str, output: Path) -> str:
    """Return the script of an array of jobs, one for each task.

    What the scripts print goes into the folder `output`; what a task prints goes to its own file.
    """
    processes = _processes_per_node(cluster)
    at_once = f"%{cluster.at_once}" if cluster.at_once else ""
    lines = [
        f"--job-name={name}",
        f"--array=1-{len(tasks)}{at_once}",
        f"--nodes={cluster.nodes}",
        f"--ntasks-per-node={processes}",
        f"--cpus-per-task={max(1, cluster.cores // processes)}" if cluster.cores else "",
        f"--mem={round(cluster.memory_gb * 1000)}M" if cluster.memory_gb else "",
        f"--gpus-per-node={cluster.gpus}" if cluster.gpus else "",
        f"--time={_time(cluster.hours)}",
        f"--signal=B:TERM@{cluster.save_seconds}",
        "--requeue",
        "--open-mode=append",
        f"--output={output}/%x-%A_%a.out",
        f"--chdir={Path.cwd()}",
        *(f"--{key}={getattr(cluster, key)}" for key in ("partition", "account", "qos", "constraint")
          if getattr(cluster, key)),
        *cluster.options,
    ]  # fmt: skip
    forward = 'kill -TERM "$child"'
    program = f"{cluster.prefix} muzero2048" if cluster.prefix else shlex.join(own_program())
    environment = cluster.environment
    if cluster.nodes * processes > 1:
        program = f"srun --kill-on-bad-exit=1 {program}"
        forward = 'scancel --signal=TERM "$SLURM_JOB_ID.$attempt"'  # srun itself would end its tasks unsaved
    else:
        environment = ("JAX_NUM_PROCESSES=1", *environment)
    return "\n".join(
        [
            "#!/bin/bash",
            "# Written by `muzero2048 submit`. To start it again by hand: sbatch THIS FILE",
            *(f"#SBATCH {line}" for line in lines if line),
            "",
            "case $SLURM_ARRAY_TASK_ID in",
            *(_case(number, task) for number, task in enumerate(tasks, start=1)),
            "esac",
            *(f"export {shlex.quote(variable)}" for variable in environment),
            *cluster.setup,
            "",
            BODY.format(restarts=cluster.restarts, stopped=STOPPED, command=program, forward=forward),
        ]
    )


def check_folder(runs_folder: Path) -> None:
    """Refuse a working or runs folder with a blank, quote or backslash: lines of #SBATCH and the queue name both."""
    for folder in (Path.cwd(), runs_folder):
        if unfit := re.search(r"""[\s"'\\]""", str(folder)):
            raise UserError(f"scripts of SLURM cannot name the folder {folder}, with {unfit[0]!r}; rename it")


def check_script(script: str) -> None:
    """Let SLURM check a script without starting it; UserError, with SLURM's line, if it refuses."""
    if not shutil.which("sbatch"):
        raise UserError("engine is slurm, but there is no sbatch on this machine; --dry-run prints the script alone")
    _call(["sbatch", "--test-only"], script)


def submit_tasks(
    tasks: Sequence[PlannedTask],
    cluster: ClusterConfig,
    name: str,
    runs_folder: Path,
    dry_run: bool,
    after: Sequence[str] = (),
) -> str:
    """Give tasks to SLURM as one array of jobs; return the number of the job, with `dry_run` the name.

    The tasks are neither finished nor running nor in the queue. Task i begins when task i of each array in `after` has
    ended well, and never begins if one fails. UserError if SLURM refuses the script or a folder; nothing was made then.
    """
    check_folder(runs_folder)
    script = make_script(tasks, cluster, name, runs_folder / FOLDER)
    if dry_run:
        print(f"after each task of {', '.join(after)}:\n{script}" if after else script)
        return name
    check_script(script)
    for task in tasks:
        task.prepare()
    folder = runs_folder / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}-{datetime.now():%Y%m%d-%H%M%S-%f}.sbatch"
    write_text(file, script)
    depends = [f"--dependency=aftercorr:{':'.join(after)}", "--kill-on-invalid-dep=yes"] if after else []
    job = _call(["sbatch", "--parsable", *depends, str(file.absolute())]).strip().partition(";")[0]
    print(f"job {job}: {len(tasks)} tasks of {name}")
    return job


def read_queue(is_needed: bool = False) -> dict[Path, QueuedTask]:
    """Return the tasks of this user in SLURM's queue, by output; none if there is no SLURM.

    If `is_needed`, the answer decides what is started, and a queue that does not answer is an error, else a warning.
    """
    if not shutil.which("squeue"):
        return {}
    try:
        listed = _call(["squeue", "--array", "--noheader", f"--user={getpass.getuser()}", "--format=%i|%T|%r|%o"])
    except UserError as error:
        if is_needed:
            raise UserError(f"{error}; what it holds is not known, so nothing is submitted") from error
        warn(f"the queue of SLURM is not known: {error}")
        return {}
    found: dict[Path, QueuedTask] = {}
    for line in listed.splitlines():
        job, state, reason, script = line.split("|", 3)
        output = _outputs_of(script.split(" ")[0]).get(job.partition("_")[2])
        if output:
            found[output] = QueuedTask(job, state, "" if reason == "None" else reason)
    return found


def cancel(queued: QueuedTask) -> None:
    """Take a task out of the queue: one that waits at once, a running one after it saved, without a requeue."""
    if queued.is_waiting:
        _call(["scancel", queued.job])
        return
    _call(["scontrol", "update", f"JobId={queued.job}", "Requeue=0"])
    _call(["scancel", "--batch", "--signal=TERM", queued.job])


def _case(number: int, task: PlannedTask) -> str:
    return f"    {number}) words=({shlex.join(task.arguments)}) output={shlex.quote(str(task.output))} ;;"


def _outputs_of(script: str) -> dict[str, Path]:
    """Return the outputs of a script's tasks by their number; none if `submit` did not write it."""
    try:
        text = Path(script).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return {}
    place = _CHDIR.search(text)
    if not place:
        return {}
    return {number: Path(place[1], *shlex.split(output)).resolve() for number, output in _TASK.findall(text)}


def _processes_per_node(cluster: ClusterConfig) -> int:
    """Return the processes on each node: JAX gives each process of a SLURM step one GPU. Alone, a process takes all."""
    return max(1, cluster.gpus) if cluster.nodes > 1 else 1


def _time(hours: float) -> str:
    minutes = max(1, round(60 * hours))
    return f"{minutes // 60}:{minutes % 60:02d}:00"


def _call(command: Sequence[str], text: str = "") -> str:
    """Return what a command of SLURM prints."""
    try:
        done = subprocess.run(
            command, input=text, capture_output=True, text=True, timeout=CALL_SECONDS, env=_environment()
        )
    except subprocess.TimeoutExpired as error:
        raise UserError(f"{command[0]} did not answer for {CALL_SECONDS:.0f} s; is SLURM working?") from error
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise UserError(f"SLURM refuses it: {lines[-1]}")
    return done.stdout


def _environment() -> dict[str, str]:
    """Return the environment without the variables of a job in which this process may run: sbatch would take them."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("SLURM_JOB", "SLURM_ARRAY"))}
