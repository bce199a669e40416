"""Where a run stands, read from its folder: nothing else is kept of it, and runs started by hand are read alike."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from launch.errors import LaunchError, UserError
from launch.experiment.checkpoints import newest_checkpoint
from launch.experiment.experiment import CONFIG_FILE, Experiment, in_group, load_experiment
from launch.experiment.metrics import Row
from launch.experiment.metrics_file import last_value, read_last_rows
from launch.jobs.plan import OUTPUT_FILE
from launch.jobs.queue import queue_files
from launch.jobs.slurm import QueuedTask, read_queue
from launch.train.resume import in_folder, is_finished
from launch.train.run_process import RunProcess, has_begun, is_locked, read_process

State = Literal["new", "queued", "running", "stopped", "requeued", "finished", "failed", "damaged"]

SPEED_ROWS = 10  # reports over which the speed is measured


class RunState(NamedTuple):
    """One row of `muzero2048 status`."""

    name: str
    group: str
    learner: str
    folder: str
    state: State
    env_steps: int
    env_steps_total: int
    moves_per_second: float | None
    score: float | None  # mean of the training games of the last report
    evaluation: float | None  # mean score of the last evaluation
    seconds_left: float | None  # of training; None: not in training, or the speed is unknown
    place: str  # host, job and GPUs of the process that trains it, or that trained it last
    line: str  # why it is stopped, failed, damaged or waiting

    @property
    def share(self) -> float | None:
        """Share of the moves that are made; None if the run is damaged."""
        return self.env_steps / self.env_steps_total if self.env_steps_total else None


def find_runs(names: Sequence[str], runs_folder: Path) -> list[Path]:
    """Return the folders of runs, each once, in the order of `names`: folders, names or groups; none: all.

    A damaged run belongs to no group. UserError if a word names no run and no group.
    """
    everywhere = sorted(file.parent for file in runs_folder.glob(f"*/{CONFIG_FILE}"))
    if not names:
        return everywhere
    folders: dict[Path, None] = {}
    groups: dict[Path, str] | None = None
    for name in names:
        named = next((path for path in (Path(name), runs_folder / name) if (path / CONFIG_FILE).is_file()), None)
        if named is not None:
            folders[named] = None
            continue
        if groups is None:
            groups = _groups(everywhere)
        members = [folder for folder, group in groups.items() if in_group(group, name)]
        if not members:
            raise UserError(f"there is no run and no group {name} in {runs_folder}; `muzero2048 status` lists them")
        folders |= dict.fromkeys(members)
    return list(folders)


def _groups(folders: Sequence[Path]) -> dict[Path, str]:
    groups = {}
    for folder in folders:
        with contextlib.suppress(UserError):
            groups[folder] = load_experiment(folder).run.group
    return groups


def read_states(folders: Sequence[Path], queue: Mapping[Path, QueuedTask] | None = None) -> list[RunState]:
    """Read the states of runs; see `read_state`."""
    queue = read_queue() if queue is None else queue
    return [read_state(folder, queue.get((folder / OUTPUT_FILE).resolve())) for folder in folders]


def read_state(folder: Path, queued: QueuedTask | None = None) -> RunState:
    """Read the state of one run; `queued` is its place in SLURM's queue. A run that cannot be read is damaged."""
    try:
        return _read_state(folder, queued)
    except LaunchError as error:
        return RunState(folder.name, "", "", str(folder), "damaged", 0, 0, None, None, None, None, "", str(error))


def _read_state(folder: Path, queued: QueuedTask | None) -> RunState:
    experiment = in_folder(load_experiment(folder), folder, ())
    process = read_process(folder)
    rows = read_last_rows(folder)
    env_steps = int(rows[-1]["env_steps"]) if rows else 0
    total = experiment.settings.env_steps
    state, line = _state(experiment, process, queued)
    speed = _speed(rows)
    return RunState(
        name=folder.name,
        group=experiment.run.group,
        learner=experiment.learner,
        folder=str(folder),
        state=state,
        env_steps=env_steps,
        env_steps_total=total,
        moves_per_second=speed,
        score=last_value(rows, "train/score_mean"),
        evaluation=last_value(rows, "eval/score_mean"),
        seconds_left=max(0, total - env_steps) / speed if speed and state == "running" else None,
        place=_place(process, queued),
        line=line,
    )


def measured_runs(runs_folder: Path) -> Iterator[tuple[Experiment, float]]:
    """Yield the runs of a folder that have reported their speed, each with its `RunState.moves_per_second`.

    A damaged run is left out: it is perhaps of somebody else.
    """
    for file in sorted(runs_folder.glob(f"*/{CONFIG_FILE}")):
        try:
            if speed := _speed(read_last_rows(file.parent)):
                yield load_experiment(file.parent), speed
        except LaunchError:
            continue


def _state(experiment: Experiment, process: RunProcess | None, queued: QueuedTask | None) -> tuple[State, str]:
    """Return the state of a run and why it does not go on."""
    folder = experiment.run.folder
    if is_locked(folder):
        return "running", ""
    if queued and queued.is_waiting:
        return "requeued" if process else "queued", queued.reason
    if queued and queued.state in ("RUNNING", "CONFIGURING"):
        return "running", "starting or ending"  # or its lock is not visible here
    if any(file.name.startswith(OUTPUT_FILE) for file in queue_files(folder)):
        return "queued", "it waits for its turn on this machine"
    checkpoint = newest_checkpoint(folder)
    if checkpoint and is_finished(experiment, checkpoint):
        return "finished", ""
    if not has_begun(folder):
        return "new", ""
    if process is None or process.is_stopped:
        return "stopped", ""
    if process.exit_code is None:
        goes_on = "goes on from its last checkpoint" if checkpoint else "it has no checkpoint, so it begins again"
        return "stopped", f"ended without saving; {goes_on}"
    if process.exit_code == 0:
        return "stopped", "its budget is larger than when it was finished"
    return "failed", process.line


def _place(process: RunProcess | None, queued: QueuedTask | None) -> str:
    if process is None or (queued and process.job != queued.job):
        return f"job {queued.job}" if queued else ""
    job = f"job {process.job}" if process.job else f"process {process.pid}"
    gpus = f", GPU {process.gpus}" if process.gpus else ""
    return f"{process.host}, {job}{gpus}"


def _speed(rows: Sequence[Row]) -> float | None:
    """Return moves per second of training over the last reports; None for fewer than two."""
    recent = [row for row in rows if "eval/score_mean" not in row][-SPEED_ROWS - 1 :]
    if len(recent) < 2:
        return None
    hours = recent[-1]["wall_hours"] - recent[0]["wall_hours"]
    moves = recent[-1]["env_steps"] - recent[0]["env_steps"]
    return float(moves / (3600 * hours)) if hours > 0 and moves > 0 else None
