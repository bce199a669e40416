"""Runs on this machine: how many at once, on which cores, and what happens when something is killed."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from launch.errors import UserError
from launch.experiment.metrics_file import read_metrics
from launch.jobs.cluster import ClusterConfig
from launch.jobs.local import Slot, do_all, make_slots
from launch.jobs.run_states import RunState, find_runs, read_state
from launch.train.run_process import is_locked, read_process

ROOT = Path(__file__).parents[3]
TOY = [sys.executable, str(ROOT / "tests" / "launch" / "toy_main.py"), "muzero2048"]
RUNS = Path("runs")
HELD = "held.yaml"  # a run waits in the middle until the test removes the file `hold`


@pytest.fixture(autouse=True)
def _cluster(toy_yaml: Path, monkeypatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    text = toy_yaml.read_text().replace("evaluate_env_steps: 30", "evaluate_env_steps: 0")
    toy_yaml.write_text(text)
    Path(HELD).write_text(f"{text}  hold: hold\n")
    Path("hold").touch()
    Path("two.yaml").write_text(f"{{at_once: 2, cores: 1, restarts: 2, prefix: '{' '.join(TOY[:2])}'}}\n")


def _submit(*words: str, config: str = "toy.yaml") -> "subprocess.Popen[str]":
    command = [*TOY, "submit", config, "--on", "two.yaml", *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def _output(launcher: "subprocess.Popen[str]", code: int) -> str:
    text = launcher.communicate(timeout=60)[0]
    assert launcher.returncode == code, text
    return text


def _wait_for(condition, seconds: float = 30) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


def _saved(name: str, env_steps: int = 10) -> bool:
    return any(int(path.name) >= env_steps for path in (RUNS / name / "checkpoints").glob("[0-9]*"))


def _states() -> list[RunState]:
    return [read_state(folder) for folder in find_runs([], RUNS)]


def _starts(name: str) -> int:
    return len(json.loads((RUNS / name / "environment.json").read_text()))


def _pid(name: str) -> int:
    process = read_process(RUNS / name)
    assert process is not None
    return process.pid


def test_cores_are_divided(monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0, 2, 3, 5, 6})
    assert make_slots(ClusterConfig(at_once=2)) == [Slot((0, 2), ()), Slot((3, 5), ())]
    assert make_slots(ClusterConfig(at_once=1)) == [Slot((0, 2, 3, 5, 6), ())]
    assert make_slots(ClusterConfig(at_once=2, cores=1)) == [Slot((0,), ()), Slot((2,), ())]
    assert [slot.cores for slot in make_slots(ClusterConfig(at_once=6))] == [(0,), (2,), (3,), (5,), (6,), (0,)]
    with pytest.raises(UserError, match="2 runs at once with 3 cores each need 6 cores, and this process has 5"):
        make_slots(ClusterConfig(at_once=2, cores=3))


def test_gpus_are_divided(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,5,7")
    assert [slot.gpus for slot in make_slots(ClusterConfig(at_once=3, gpus=1))] == [("4",), ("5",), ("7",)]
    assert [slot.gpus for slot in make_slots(ClusterConfig(at_once=1, gpus=2))] == [("4", "5")]
    with pytest.raises(UserError, match="2 runs at once with gpus: 2 need 4 GPUs, and 3 are there"):
        make_slots(ClusterConfig(at_once=2, gpus=2))


def test_a_grid_is_trained_two_at_a_time():
    text = _output(_submit("toy.rate=0.1,0.2", "--seeds", "1-2", "toy.seconds=0.01"), 0)
    assert [state.state for state in _states()] == ["finished"] * 4
    # A line that says "started" comes when fewer than two runs are in training.
    training = 0
    for line in text.splitlines():
        training += line.endswith(("started, cores 0", "started, cores 1")) - line.endswith(": finished")
        assert 0 <= training <= 2
    assert len(re.findall("started, cores 0", text)) == len(re.findall("started, cores 1", text)) == 2
    again = _output(_submit("toy.rate=0.1,0.2", "--seeds", "1-2", "toy.seconds=0.01"), 0)
    assert "started" not in again
    assert {_starts(state.name) for state in _states()} == {1}


def test_a_killed_run_is_resumed_and_ends_as_one_that_was_not():
    launcher = _submit("--seeds", "1-2", config=HELD)
    _wait_for(lambda: _saved("one-seed1"))
    os.kill(_pid("one-seed1"), signal.SIGKILL)
    Path("hold").unlink()
    text = _output(launcher, 0)
    assert "one-seed1: killed by SIGKILL; restart 1 of 2" in text
    assert [(state.state, _starts(state.name)) for state in _states()] == [("finished", 2), ("finished", 1)]
    _output(_submit("--seeds", "1", "run.name=other"), 0)
    killed, whole = ([row["train/score_mean"] for row in read_metrics(RUNS / name) if "train/score_mean" in row]
                     for name in ("one-seed1", "other-seed1"))  # fmt: skip
    assert killed == whole


def test_a_run_that_always_crashes_fails_and_the_others_go_on():
    text = _output(_submit("toy.nan_at=50,0"), 1)
    assert "one-nan_at=50: exit code 1; restart 2 of 2" in text
    assert "one-nan_at=50: failed, exit code 1: error: training stopped: td/error_abs_mean is nan" in text
    assert [state.state for state in _states()] == ["finished", "failed"]


def test_the_runs_outlive_a_killed_launcher_and_the_next_one_finds_them():
    launcher = _submit("--seeds", "1-3", config=HELD)
    _wait_for(lambda: _saved("one-seed1") and _saved("one-seed2"))
    launcher.kill()
    launcher.communicate()
    assert is_locked(RUNS / "one-seed1")
    assert [state.state for state in _states()] == ["running", "running", "new"]  # nobody will start the third one
    launcher = _submit("--seeds", "1-3", config=HELD)
    assert launcher.stdout is not None
    while (line := launcher.stdout.readline()) != "one-seed2: is running already\n":
        assert line
    Path("hold").unlink()
    text = _output(launcher, 0)
    for name in ("one-seed1", "one-seed2"):
        assert f"{name}: finished" in text
    assert "one-seed3: started" in text
    assert [(state.state, _starts(state.name)) for state in _states()] == [("finished", 1)] * 3
    assert not list(RUNS.glob("*/*.queued"))


@pytest.mark.slow
def test_two_launchers_train_each_run_once():
    launchers = [_submit("--seeds", "1-2", "toy.seconds=0.02") for _ in range(2)]
    for launcher in launchers:
        assert "failed" not in _output(launcher, 0)
    assert [(state.state, _starts(state.name)) for state in _states()] == [("finished", 1)] * 2


def test_a_signal_stops_all_runs_and_the_same_command_goes_on():
    launcher = _submit("--seeds", "1-3", config=HELD)
    _wait_for(lambda: _saved("one-seed1") and _saved("one-seed2"))
    launcher.send_signal(signal.SIGTERM)
    text = _output(launcher, 75)
    assert "one-seed1: stopped" in text
    states = _states()
    Path("hold").unlink()
    assert [state.state for state in states] == ["stopped", "stopped", "new"]
    assert all(0 < state.env_steps < 100 for state in states[:2])
    _output(_submit("--seeds", "1-3", config=HELD), 0)
    assert [state.state for state in _states()] == ["finished"] * 3


def test_stop_ends_what_is_trained_and_what_waits():
    launcher = _submit("--seeds", "1-4", "--group", "sweep", config=HELD)
    _wait_for(lambda: all(_saved(f"sweep-one-seed{seed}") for seed in (1, 2)))
    assert [state.state for state in _states()] == ["running", "running", "queued", "queued"]
    said = subprocess.run([*TOY, "stop", "sweep"], check=True, capture_output=True, text=True).stdout
    assert said.splitlines()[2:] == [f"runs/sweep-one-seed{seed}: new at 0 moves" for seed in (3, 4)]
    text = _output(launcher, 75)
    assert "sweep-one-seed1: stopped" in text
    assert "sweep-one-seed4: taken out of the queue" in text
    assert not any((RUNS / f"sweep-one-seed{seed}" / "environment.json").exists() for seed in (3, 4))
    assert not list(RUNS.glob("*/*.queued"))
    Path("hold").unlink()
    _output(_submit("--seeds", "1-4", "--group", "sweep", config=HELD), 0)
    assert [state.state for state in _states()] == ["finished"] * 4


def test_a_detached_launcher_goes_on_and_is_found_by_status_logs_and_stop():
    words = ["--seeds", "1-3", "--group", "sweep", "--detach"]
    text = _output(_submit(*words, config=HELD), 0)
    assert "sweep-one-seed1" in text  # the plan
    (pid,) = map(int, re.findall(r"process (\d+) goes on in the background", text))
    _wait_for(lambda: all(_saved(f"sweep-one-seed{seed}") for seed in (1, 2)))
    assert os.getsid(pid) == pid  # a session of its own: the end of the terminal does not reach it
    assert [state.state for state in _states()] == ["running", "running", "queued"]
    said = subprocess.run([*TOY, "logs", "sweep"], check=True, capture_output=True, text=True).stdout
    assert said == Path("runs/.local/sweep.log").read_text()
    assert "sweep-one-seed1: started" in said
    following = subprocess.Popen([*TOY, "logs", "sweep", "-f"], stdout=subprocess.PIPE, text=True)
    subprocess.run([*TOY, "stop", "sweep"], check=True, capture_output=True)
    assert "sweep-one-seed1: started" in following.communicate(timeout=60)[0]
    _wait_for(lambda: "sweep-one-seed3: taken out of the queue" in Path("runs/.local/sweep.log").read_text())
    _wait_for(lambda: not list((RUNS / ".local").glob("*.lock")))  # the launcher has ended
    Path("hold").unlink()
    _output(_submit(*words[:-1], config=HELD), 0)
    assert [state.state for state in _states()] == ["finished"] * 3
    assert "all of them are finished" in _output(_submit(*words, config=HELD), 0)


@pytest.mark.slow
def test_a_run_that_a_user_stops_stays_stopped():
    launcher = _submit("--seeds", "1-2", config=HELD)
    _wait_for(lambda: _saved("one-seed1"))
    subprocess.run([*TOY, "stop", "one-seed1"], check=True, capture_output=True)
    Path("hold").unlink()
    text = _output(launcher, 75)
    assert "one-seed1: stopped" in text
    assert [(state.state, _starts(state.name)) for state in _states()] == [("stopped", 1), ("finished", 1)]


class Ending(NamedTuple):
    """A task whose process ends at once with an exit code."""

    folder: Path
    number: int
    code: int

    @property
    def name(self) -> str:
        return f"{self.folder}{self.number}"

    @property
    def arguments(self) -> list[str]:
        return [str(self.code)]

    @property
    def output(self) -> Path:
        return Path(f"{self.name}.log")

    def prepare(self) -> None:
        pass

    def is_finished(self) -> bool:
        return False

    def is_running(self) -> bool:
        return False

    def pid(self) -> int | None:
        return None

    def exit_code(self) -> int | None:
        return None


def test_how_tasks_end(capsys):
    Path("end.sh").write_text('echo "ends with $2"; exit $2')
    cluster = ClusterConfig(at_once=1, restarts=2, prefix="bash end.sh")
    a, b, c, d = map(Path, "abcd")
    tasks = [Ending(a, 1, 0), Ending(b, 1, 75), Ending(b, 2, 0), Ending(c, 1, 3), Ending(d, 1, 2), Ending(a, 2, 0)]
    outcome = do_all(tasks, cluster)
    assert [task.name for task in outcome.finished] == ["a1", "a2"]
    assert [task.name for task in outcome.stopped] == ["b1", "b2"]  # b2 waited, and belongs to the same run
    assert [task.name for task in outcome.failed] == ["c1", "d1"]
    assert (outcome.exit_code, outcome.is_interrupted) == (1, False)
    assert Path("c1.log").read_text() == 3 * "ends with 3\n"
    assert Path("d1.log").read_text() == "ends with 2\n"  # a mistake is not tried again
    assert "c1: failed, exit code 3: ends with 3" in capsys.readouterr().out
