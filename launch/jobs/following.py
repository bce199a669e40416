"""`muzero2048 status`, `logs` and `stop`: where runs stand, what they printed, and how to end them."""

import contextlib
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.live import Live
from rich.text import Text

from launch import locks
from launch.errors import UserError
from launch.evaluation.parts import locked_logs
from launch.evaluation.result import FOLDER
from launch.jobs.detached import output_file
from launch.jobs.plan import OUTPUT_FILE
from launch.jobs.queue import queue_files
from launch.jobs.run_states import RunState, find_runs, read_states
from launch.jobs.slurm import QueuedTask, cancel, read_queue
from launch.output import console, print_json
from launch.quantities import clock
from launch.tables import Column, grid
from launch.train.run_process import LOCK_FILE, is_locked, read_process

WATCH_SECONDS = 5.0  # between two readings of all runs
FOLLOW_SECONDS = 0.5  # between two readings of a growing file
POLL_SECONDS = 0.2  # between two looks at runs that are saving
QUEUE_SECONDS = 2.0  # the same if some are in SLURM's queue: many users ask the same scheduler
STOP_SECONDS = 600.0  # that `stop` waits for runs to save


def status(names: Sequence[str], runs_folder: Path, watch: bool, as_json: bool) -> int:
    """Print where runs stand; with `watch` again and again, until Ctrl-C."""
    if watch and as_json:
        raise UserError("--watch draws on a terminal and --json prints once: leave out one of them")
    screen = console()
    if watch:
        with Live(console=screen, auto_refresh=False) as live:
            while True:
                live.update(status_table(_states(names, runs_folder), screen.width), refresh=True)
                time.sleep(WATCH_SECONDS)
    states = _states(names, runs_folder)
    if as_json:
        print_json([state._asdict() for state in states])
    elif states:
        screen.print(status_table(states, screen.width))
    else:
        print(f"there is no run in {runs_folder}")
    return 0


def logs(name: str, runs_folder: Path, follow: bool) -> int:
    """Print what the processes of a run printed; with `follow` also new lines, until none trains it or will do so.

    Of a group, print what its detached launchers printed (launch/jobs/detached.py).
    """
    folders, file = find_runs([name], runs_folder), output_file(name, runs_folder)
    is_of_run = len(folders) == 1 and ((folders[0] / OUTPUT_FILE).is_file() or not file.is_file())
    if is_of_run:
        file = folders[0] / OUTPUT_FILE
    if not file.is_file():
        if is_of_run:
            (state,) = read_states(folders)
            if state.state == "queued":
                raise UserError(f"{file.parent} has printed nothing yet, since it waits in the queue; ask again later")
            raise UserError(
                f"{file.parent} has no {file.name}: a run that was started by hand prints where it was started"
            )
        names = ", ".join(folder.name for folder in folders)
        raise UserError(f"{name} is a group of {len(folders)} runs without {file}; give one of them: {names}")
    with file.open(encoding="utf-8", errors="replace") as stream:
        while True:
            pause = _pause(folders) if follow else None
            sys.stdout.write(stream.read())
            sys.stdout.flush()
            if pause is None:
                return 0
            time.sleep(pause)


def stop(names: Sequence[str], runs_folder: Path) -> int:
    """Stop runs and their evaluations: they save first, or leave the queue. All can be started again.

    Returns 1 if one is still saving after STOP_SECONDS.
    """
    queue = read_queue()
    folders = [folder for folder in find_runs(names, runs_folder) if _is_busy(folder, queue)]
    if not folders:
        print("none of these runs is in training, evaluated or in the queue")
        return 0
    elsewhere: list[str] = []
    for file in [file for folder in folders for file in queue_files(folder)]:
        file.unlink(missing_ok=True)  # takes the task out of the queue
    for folder in folders:
        queued = _queued(folder, queue)
        for task in queued:
            cancel(task)
        if not queued:
            elsewhere += _signal(folder)
    if elsewhere:
        raise UserError("; ".join(elsewhere))
    until = time.monotonic() + STOP_SECONDS
    left = folders
    while left and time.monotonic() < until:
        time.sleep(QUEUE_SECONDS if queue else POLL_SECONDS)
        queue = read_queue() if queue else {}
        left = [folder for folder in left if _is_busy(folder, queue)]
    for folder, state in zip(folders, read_states(folders), strict=True):
        print(f"{folder}: {state.state} at {state.env_steps:,} moves")
    return 1 if left else 0


def _pause(folders: Sequence[Path]) -> float | None:
    """Return the seconds until one of these runs may have printed more; None: nothing trains them or will do so."""
    if any(_is_busy(folder, {}) for folder in folders):
        return FOLLOW_SECONDS
    queue = read_queue()
    return QUEUE_SECONDS if any(_queued(folder, queue) for folder in folders) else None


def _is_busy(folder: Path, queue: Mapping[Path, QueuedTask]) -> bool:
    is_done_now = is_locked(folder) or bool(locked_logs(folder / FOLDER))
    return is_done_now or bool(queue_files(folder)) or bool(_queued(folder, queue))


def _queued(folder: Path, queue: Mapping[Path, QueuedTask]) -> list[QueuedTask]:
    """Return the training and the evaluations of a run that are in the queue."""
    return [task for output, task in queue.items() if folder.resolve() in output.parents]


def _signal(folder: Path) -> list[str]:
    """Send SIGTERM to the processes that train or evaluate a run; return what cannot be stopped here."""
    pids, elsewhere = [], []
    for log in locked_logs(folder / FOLDER):
        if pid := locks.lock_owner(log):
            pids.append(pid)
        elif locks.is_locked(log):
            elsewhere.append(f"{log} is played on another machine: stop it there")
    if pid := locks.lock_owner(folder / LOCK_FILE):  # process.json may still be that of the process before
        pids.append(pid)
    elif is_locked(folder):
        process = read_process(folder)
        if process and not process.ended and process.host != socket.gethostname():
            elsewhere.append(f"{folder} is trained by process {process.pid} on {process.host}: stop it there")
        else:
            unseen = "a process that is not seen on this machine"
            elsewhere.append(f"{folder} is trained by {unseen}: stop it where it runs")
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):  # it has just ended
            os.kill(pid, signal.SIGTERM)
    return elsewhere


def _states(names: Sequence[str], runs_folder: Path) -> list[RunState]:
    return read_states(find_runs(names, runs_folder))


def _column(name: str, field: str, form: Callable[[Any], str]) -> Column:
    """Return the column of a field of RunState, "" where it is None."""
    read = attrgetter(field)
    return Column(name, read, lambda state: "" if read(state) is None else form(read(state)))


# Columns of `status`; where there is no room, the last ones are left out.
COLUMNS = (
    _column("run", "name", str),
    _column("state", "state", str),
    _column("done", "share", "{:.0%}".format),
    _column("score", "score", "{:,.0f}".format),
    _column("evaluation", "evaluation", "{:,.0f}".format),
    _column("time left", "seconds_left", clock),
    _column("moves/s", "moves_per_second", "{:,.0f}".format),
    _column("moves", "env_steps_total", lambda moves: f"{moves:,}" if moves else ""),
    _column("where", "place", str),
)
WORDS = ("run", "state", "where")


def status_table(states: Sequence[RunState], width: int) -> RenderableType:
    """Return the table of `status`, and below it why runs do not go on.

    Empty columns are left out, and so many of the last columns that the rest fits into the width.
    """
    columns = [column for column in COLUMNS if any(map(column.text, states))]
    widths = [2 + max(len(column.name), *(len(column.text(state)) for state in states)) for column in columns]
    while len(columns) > 2 and sum(widths) > width:
        columns.pop()
        widths.pop()
    table = grid(states, columns, [place for place, column in enumerate(columns) if column.name in WORDS])
    return Group(table, *(Text(f"{state.name}: {state.line}") for state in states if state.line))
