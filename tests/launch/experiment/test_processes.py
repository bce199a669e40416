"""Several processes train one run: they agree on its settings, stop together, and end if one of them is lost."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from small_runs import rows_without_times, wait_for_rows

from launch.cli import main
from launch.errors import UserError
from launch.experiment.checkpoints import find_checkpoint, verify
from launch.experiment.metrics_file import read_metrics
from launch.experiment.processes import Processes, join

ROOT = Path(__file__).parents[3]
HERE = Path(__file__).parents[1]  # has the toy learner
RUN = Path("runs/one")

# Trains the toy slowly on all processes. A lost process is detected after 4 s instead of 30 s.
TOY_PROGRAM = """
import os, sys, time
import jax
import toy
from launch.experiment import processes
from launch.experiment import registry
from launch.cli import main
from toy import ToyLearner, ToyPlayer

def slowly(method, seconds):
    return lambda *arguments: (time.sleep(seconds), method(*arguments))[1]

processes.LOST_SECONDS, processes.STORE_SECONDS = 4, 1.0
registry.LEARNERS["toy"] = "toy"
toy.SPEC = toy.SPEC._replace(several_processes=True)
ToyLearner.advance = slowly(ToyLearner.advance, 0.05)
init = ToyLearner.__init__
ToyLearner.__init__ = lambda *arguments: (jax.devices(), init(*arguments))[1]  # all processes must ask for them
exec(os.environ.get("PATCH", ""))
sys.exit(main(["train", *sys.argv[1:]]))
"""


@contextmanager
def _started(
    program: list[str], *words: str, patch: str = "", own_words: tuple[str, str] = ("", "")
) -> Iterator[list[subprocess.Popen[str]]]:
    """Start two processes that train together, and kill them at the end if they still run."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    path = os.pathsep.join([str(ROOT), str(HERE), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {
        "PYTHONPATH": path, "JAX_COORDINATOR_ADDRESS": f"127.0.0.1:{port}", "JAX_NUM_PROCESSES": "2", "PATCH": patch,
    }  # fmt: skip
    running = [
        subprocess.Popen(
            [sys.executable, *program, *words, *own.split()], env=environment | {"JAX_PROCESS_ID": str(index)},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for index, own in enumerate(own_words)
    ]  # fmt: skip
    try:
        yield running
    finally:
        for process in running:
            process.kill()


def _toys(*words: str, **options) -> object:
    return _started(["-c", TOY_PROGRAM], "toy.yaml", *words, **options)


def _outputs(running: list[subprocess.Popen[str]], codes: list[int], seconds: float = 60) -> list[tuple[str, str]]:
    """Return the outputs of the processes; they must end in time with these exit codes."""
    outputs = [process.communicate(timeout=seconds) for process in running]
    assert [process.returncode for process in running] == codes, outputs
    return outputs


def test_two_processes_write_one_run_as_one_process_does(toy_yaml: Path) -> None:
    assert main(["train", str(toy_yaml), "run.name=alone", "run.snapshot_env_steps=50"]) == 0
    with _toys("run.snapshot_env_steps=50") as running:
        (first, _), (second, _) = _outputs(running, [0, 0])
    assert "summary" in first
    assert first.splitlines()[1] == f"processes: 0 on {socket.gethostname()}, 1 on {socket.gethostname()}"
    assert second.startswith("waiting up to 300 s for 2 processes (JAX_NUM_PROCESSES) at 127.0.0.1:")
    assert second.count("\n") == 1
    alone = Path("runs/alone")
    assert rows_without_times(RUN) == rows_without_times(alone)
    for folder in ("checkpoints", "snapshots", "evaluations"):
        assert {path.name for path in (RUN / folder).iterdir()} == {path.name for path in (alone / folder).iterdir()}
    verify(find_checkpoint(RUN))
    assert len(json.loads((RUN / "environment.json").read_text())) == 1


@pytest.mark.parametrize("struck", [pytest.param(0, marks=pytest.mark.slow), 1])
def test_a_signal_to_one_stops_both_at_one_step_saved(toy_yaml: Path, struck: int) -> None:
    with _toys("toy.env_steps=100_000", "run.save_minutes=0", "run.evaluate_env_steps=0") as running:
        wait_for_rows(running, RUN, 3, seconds=60)
        running[struck].send_signal(signal.SIGTERM)
        (first, _), _ = _outputs(running, [75, 75])
    checkpoint = find_checkpoint(RUN)
    assert int(checkpoint.name) == read_metrics(RUN)[-1]["env_steps"]
    assert f"stopped at {int(checkpoint.name):,} moves; the same command with --resume goes on" in first
    assert main(["train", str(toy_yaml), "--resume", f"toy.env_steps={int(checkpoint.name) + 20}"]) == 0  # one process


def test_a_lost_process_ends_the_other_which_names_it(toy_yaml: Path) -> None:
    """By JAX's own heartbeats and messages: another version of JAX may say it in other words."""
    lost = {
        1: "The following tasks are unhealthy (stopped sending heartbeats):\n1\n",
        0: "the leader task was preempted/died",
    }
    for killed, named in lost.items():
        rows = len(read_metrics(RUN)) if RUN.exists() else 0
        with _toys("toy.env_steps=100_000", *(["--resume"] if rows else [])) as running:
            wait_for_rows(running, RUN, rows + 4, seconds=60)
            running[killed].kill()
            codes = [-signal.SIGABRT, -signal.SIGABRT]
            codes[killed] = -signal.SIGKILL
            outputs = _outputs(running, codes, seconds=20)
        assert named in outputs[1 - killed][1]
    assert "resumed from" in outputs[0][0]


def test_a_failure_of_one_ends_the_other_which_tells_it(toy_yaml: Path) -> None:
    patch = """
def save(self, folder):
    if os.environ["JAX_PROCESS_ID"] == "1":
        raise OSError("no space left")
ToyLearner.save = save
"""
    with _toys(patch=patch) as running:
        (_, first), (_, second) = _outputs(running, [1, 1])
    assert first == f"error: process 1 of 2 on {socket.gethostname()} ended: OSError: no space left\n"
    assert "Traceback" in second
    assert second.endswith("error: OSError: no space left\n")


def test_divergence_ends_both_with_one_line_each(toy_yaml: Path) -> None:
    with _toys("toy.nan_at=40") as running:
        for _, errors in _outputs(running, [1, 1]):
            assert errors.count("error: ") == 1
            assert "training stopped: td/error_abs_mean is nan at env_steps 40; the last good checkpoint" in errors


def test_a_mistake_of_the_user_ends_both_with_its_line(toy_yaml: Path) -> None:
    assert main(["train", str(toy_yaml), "toy.env_steps=10"]) == 0
    with _toys() as running:
        for _, errors in _outputs(running, [2, 2]):
            assert "runs/one holds a run; add --resume to go on with it" in errors


def test_processes_with_different_configs_are_refused(toy_yaml: Path) -> None:
    with _toys(own_words=("", "run.seed=1")) as running:
        (_, first), (_, second) = _outputs(running, [2, 2])
    line = "its config is not that of the first process; start all with the same command\n"
    assert second == f"error: {line}"
    assert first == f"error: process 1 of 2 on {socket.gethostname()} ended: {line}"
    assert not RUN.exists()


@pytest.mark.slow
def test_processes_that_are_not_all_started_say_so(toy_yaml: Path) -> None:
    with _toys(patch="processes.JOIN_SECONDS = 2; os.environ['JAX_PROCESS_ID'] == '1' and sys.exit(0)") as running:
        (first, _), _ = _outputs(running, [-signal.SIGABRT, 0])
    assert "waiting up to 2 s for 2 processes (JAX_NUM_PROCESSES) at 127.0.0.1:" in first


@pytest.mark.parametrize(
    ("variables", "learner", "words"),
    [
        ({"JAX_NUM_PROCESSES": "2"}, "ntuple", "the learner 'ntuple' trains in one process; set JAX_NUM_PROCESSES=1"),
        ({"SLURM_STEP_NUM_TASKS": "4"}, "deep_td", "SLURM_STEP_NUM_TASKS is 4, but the learner 'deep_td' trains in"),
        ({"JAX_NUM_PROCESSES": "two"}, "muzero", "JAX_NUM_PROCESSES is 'two'; set it to a number"),
        ({"JAX_NUM_PROCESSES": "0"}, "muzero", "JAX_NUM_PROCESSES is 0; set it to the number of processes"),
        ({"JAX_NUM_PROCESSES": "2"}, "muzero", "JAX_COORDINATOR_ADDRESS is not set; give host:port of the first"),
        (
            {"JAX_NUM_PROCESSES": "2", "JAX_COORDINATOR_ADDRESS": "a"},
            "muzero",
            "JAX_COORDINATOR_ADDRESS is 'a'; give host",
        ),
        # mpirun in a SLURM step with one task
        ({"SLURM_STEP_NUM_TASKS": "1", "OMPI_COMM_WORLD_SIZE": "2"}, "ntuple", "OMPI_COMM_WORLD_SIZE is 2, but the"),
        ({"JAX_NUM_PROCESSES": "2", "JAX_COORDINATOR_ADDRESS": "a:1"}, "muzero", "JAX_PROCESS_ID is ''; set it to a"),
    ],
)
def test_what_cannot_be_joined_is_refused(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], learner: str, words: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(UserError, match=words) as error:
        join(learner)
    assert "\n" not in str(error.value)


def test_jax_num_processes_1_keeps_the_tasks_of_slurm_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "4")
    monkeypatch.setenv("JAX_NUM_PROCESSES", "1")
    assert type(join("muzero")) is Processes
    assert type(join("ntuple")) is Processes


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Sharding info not provided")
def test_muzero_on_two_processes_stops_loses_one_and_goes_on() -> None:
    program, run = ["-m", "launch", "train", str(ROOT / "configs" / "muzero" / "tiny.yaml")], Path("runs/tiny-muzero")
    words = ("run.final_games=20", "muzero.report_env_steps=2_048", "run.save_minutes=0.01")
    with _started(program, *words, "muzero.env_steps=20_000_000") as running:
        wait_for_rows(running, run, 3)
        running[1].send_signal(signal.SIGTERM)
        _outputs(running, [75, 75])
    stopped = find_checkpoint(run)
    assert int(stopped.name) == read_metrics(run)[-1]["env_steps"]
    with _started(program, *words, "muzero.env_steps=20_000_000", "--resume") as running:
        wait_for_rows(running, run, len(read_metrics(run)) + 3)
        running[1].kill()
        began = time.monotonic()
        (first, errors), _ = _outputs(running, [-signal.SIGABRT, -signal.SIGKILL])
        assert time.monotonic() - began < 60
    assert f"resumed from {stopped}" in first
    assert "The following tasks are unhealthy (stopped sending heartbeats):\n1\n" in errors
    saved = int(find_checkpoint(run).name)
    assert saved > int(stopped.name)
    with _started(program, *words, f"muzero.env_steps={saved + 4_096}", "--resume") as running:
        (first, _), _ = _outputs(running, [0, 0], seconds=600)
    assert f"resumed from {find_checkpoint(run).with_name(str(saved))}" in first
