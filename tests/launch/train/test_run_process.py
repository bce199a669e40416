"""The lock of a run folder, and process.json: who trains the run, and how it ended."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from toy import ToyLearner

from launch.cli import exit_code_of, main
from launch.errors import UserError
from launch.experiment.experiment import CONFIG_FILE
from launch.train.run_process import LOCK_FILE, PROCESS_FILE, is_locked, owning, read_process, this_process

RUN = Path("runs/one")
HOLDER = "import sys; from pathlib import Path; from launch.train.run_process import owning\n"
ROOT = Path(__file__).parents[3]


def test_a_finished_training(toy_yaml: Path):
    assert main(["train", "toy.yaml"]) == 0
    process = read_process(RUN)
    assert process is not None
    assert (process.host, process.pid, process.exit_code) == (socket.gethostname(), os.getpid(), 0)
    assert process.began <= process.ended
    assert not is_locked(RUN)


def test_the_line_of_an_error_is_kept(toy_yaml: Path, capsys, monkeypatch):
    assert main(["train", "toy.yaml", "toy.nan_at=50"]) == 1
    process = read_process(RUN)
    assert process is not None
    assert process.exit_code == 1
    assert capsys.readouterr().err.endswith(f"error: {process.line}\n")

    def fail(self, tick):
        raise ZeroDivisionError("by zero\nsecond line")

    monkeypatch.setattr(ToyLearner, "advance", fail)
    with pytest.raises(ZeroDivisionError):
        main(["train", "toy.yaml", "run.name=two"])
    process = read_process(Path("runs/two"))
    assert process is not None
    assert (process.exit_code, process.line) == (1, "ZeroDivisionError: by zero")


@pytest.mark.parametrize(
    ("error", "exit_code", "line"),
    [
        (OSError(28, "No space left on device", "a"), 2, "cannot use a: No space left on device"),
        (BrokenPipeError(), 141, "nobody reads the output"),
        (ModuleNotFoundError(name="optuna"), 2, "this needs optuna; install it by pip install 'muzero2048[tune]'"),
        (ModuleNotFoundError("no module", name="launch.nothing"), 1, "ModuleNotFoundError: no module"),
    ],
)
def test_the_exit_code_is_that_of_the_command(error: Exception, exit_code: int, line: str, capsys):
    def train() -> int:
        with owning(RUN) as owner:
            owner.begin()
            (RUN / CONFIG_FILE).touch()
            raise error

    if exit_code == 2:
        assert exit_code_of(train) == 2
        assert capsys.readouterr().err == f"error: {line}\n"
    else:  # of a closed pipe the command line closes its own output
        with pytest.raises(type(error)):
            train()
    process = read_process(RUN)
    assert process is not None
    assert (process.exit_code, process.line) == (exit_code, line)


def test_a_disk_without_room_for_the_end_hides_no_error(monkeypatch, capsys):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    def train() -> int:
        with owning(RUN) as owner:
            owner.begin()
            (RUN / CONFIG_FILE).touch()
            monkeypatch.setattr("launch.train.run_process.write_json", full)
            raise UserError("the first")

    assert exit_code_of(train) == 2
    assert capsys.readouterr().err == "error: the first\n"


def test_a_run_in_training_is_not_trained_twice(toy_yaml: Path, mistake):
    with owning(RUN) as owner:
        owner.begin()
        assert is_locked(RUN)
        assert f"process {os.getpid()} on {socket.gethostname()} is training runs/one" in mistake("train toy.yaml")
    assert not is_locked(RUN)


def test_a_killed_process_leaves_no_lock_and_no_end(tmp_path: Path):
    program = f"{HOLDER}with owning(Path('run')) as owner: owner.begin(); print(flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", program]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        assert is_locked(Path("run"))
        holder.kill()
    assert not is_locked(Path("run"))
    process = read_process(Path("run"))
    assert process is not None
    assert (process.pid, process.ended, process.exit_code) == (holder.pid, "", None)


def test_a_refused_start_does_not_change_how_the_run_ended(toy_yaml: Path, capsys):
    main(["train", "toy.yaml"])
    before = read_process(RUN)
    assert main(["train", "toy.yaml"]) == 2  # without --resume
    assert read_process(RUN) == before


def test_a_run_that_does_not_begin_leaves_the_files_of_others_alone(toy_yaml: Path, mistake):
    assert "cannot begin with a stored network" in mistake("train toy.yaml run.begin_from=nowhere")
    assert not RUN.parent.exists()
    RUN.mkdir(parents=True)
    (RUN / "notes.txt").write_text("mine")
    assert "run.profile" in mistake("train toy.yaml run.profile=true")
    assert [path.name for path in RUN.iterdir()] == ["notes.txt"]


def test_the_job_of_slurm_and_the_gpus(monkeypatch):
    for name in ("SLURM_JOB_ID", "SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID", "CUDA_VISIBLE_DEVICES"):
        monkeypatch.delenv(name, raising=False)
    assert (this_process().job, this_process().gpus) == ("", "")
    monkeypatch.setenv("SLURM_JOB_ID", "18")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    assert (this_process().job, this_process().gpus) == ("18", "1")
    monkeypatch.setenv("SLURM_ARRAY_JOB_ID", "17")
    monkeypatch.setenv("SLURM_ARRAY_TASK_ID", "3")
    assert this_process().job == "17_3"


@pytest.mark.parametrize("text", ["", "[]", "{}", json.dumps({"host": "here"})])
def test_a_damaged_file_is_no_process(tmp_path: Path, text: str):
    (tmp_path / PROCESS_FILE).write_text(text)
    assert read_process(tmp_path) is None


def test_a_run_without_files_is_not_locked(tmp_path: Path):
    assert not is_locked(tmp_path)
    assert not (tmp_path / LOCK_FILE).exists()
