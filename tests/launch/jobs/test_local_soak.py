"""Runs of both learners on this machine, while their launcher and one of them are killed again and again."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from small_runs import write_small_runs

from launch.experiment.checkpoints import newest_checkpoint
from launch.experiment.metrics_file import read_metrics
from launch.jobs.run_states import find_runs, read_state
from launch.train.run_process import is_locked, read_process

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
RUNS = Path("runs")
SUBMIT = ["submit", "tuples.yaml", "net.yaml", "--seeds", "1-3", "--on", "two.yaml"]


def _start() -> "subprocess.Popen[str]":
    with Path("launcher.log").open("a") as log:
        return subprocess.Popen([sys.executable, "-m", "launch", *SUBMIT], stdout=log, stderr=log, text=True)


def _wait_for(condition, seconds: float = 300) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, Path("launcher.log").read_text()
        time.sleep(0.05)


def _saved(name: str) -> int:
    newest = newest_checkpoint(RUNS / name)
    return int(newest.name) if newest else 0


def _processes_of_runs() -> list[str]:
    """Return the command lines of processes that train in this folder."""
    here, found = str(Path.cwd()), []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_text().split("\0")
            if os.readlink(process / "cwd") == here and "train" in words:
                found.append(" ".join(words))
        except OSError:
            continue
    return found


def test_six_runs_survive_five_kills(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("WANDB_MODE", "offline")
    for name in ("XLA_FLAGS", "NUMBA_OPT"):
        monkeypatch.delenv(name, raising=False)
    write_small_runs((60_000_000, 2_000_000), (200_000, 2_048), 0.01)
    Path("two.yaml").write_text("{at_once: 2, cores: 1, restarts: 3}\n")
    launcher = _start()
    for _ in range(2):
        _wait_for(lambda: sum(is_locked(folder) for folder in find_runs([], RUNS)) == 2)
        launcher.kill()
        launcher.wait()
        assert sum(is_locked(folder) for folder in find_runs([], RUNS)) == 2  # the runs go on
        launcher = _start()
    lost = []
    for _ in range(3):
        before = _saved("net-seed1")
        _wait_for(lambda before=before: is_locked(RUNS / "net-seed1") and _saved("net-seed1") > before)
        process = read_process(RUNS / "net-seed1")
        assert process is not None
        os.kill(process.pid, signal.SIGKILL)
        lost.append(_saved("net-seed1"))
        _wait_for(lambda pid=process.pid: (new := read_process(RUNS / "net-seed1")) is not None and new.pid != pid)
    assert launcher.wait(900) == 0, Path("launcher.log").read_text()
    states = {state.name: state.state for state in map(read_state, find_runs([], RUNS))}
    assert states == {f"{name}-seed{seed}": "finished" for name in ("net", "tuples") for seed in (1, 2, 3)}
    assert not _processes_of_runs()
    for name in states:
        starts = len(json.loads((RUNS / name / "environment.json").read_text()))
        assert starts == (4 if name == "net-seed1" else 1), name
        reports = [row["env_steps"] for row in read_metrics(RUNS / name) if "train/score_mean" in row]
        assert reports == sorted(set(reports)), name  # nothing is there twice
        (offline,) = (RUNS / name / "wandb").glob("offline-run-*/*.wandb")
        assert offline.stem == "run-" + (RUNS / name / "wandb" / "id").read_text().strip()
    output = (RUNS / "net-seed1" / "output.log").read_text()
    assert all(f"resumed from runs/net-seed1/checkpoints/{saved}" in output for saved in lost)
