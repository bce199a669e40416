"""`status`, `logs` and `stop`: what they read from run folders, of runs in every state."""

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from rich.console import Console

from launch.cli import main
from launch.experiment.metrics_file import TAIL_BYTES
from launch.files import write_json
from launch.jobs.following import status_table
from launch.jobs.plan import OUTPUT_FILE, GridRequest, plan_runs
from launch.jobs.queue import LocalQueue, local_queue
from launch.jobs.run_states import RunState, find_runs, read_state
from launch.train.run_process import PROCESS_FILE, owning, read_process, this_process

ROOT = Path(__file__).parents[3]
RUNS = Path("runs")
# A process that owns a run until SIGTERM, as a training does.
TRAINING = """\
import signal, sys, threading
from pathlib import Path
from launch.train.run_process import owning
stop = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: stop.set())
with owning(Path(sys.argv[1])) as owner:
    owner.begin()
    print("begun", flush=True)
    stop.wait(60)
    owner.end(75)
"""


def _train(name: str, *words: str) -> int:
    return main(["train", "toy.yaml", f"run.name={name}", *words])


def _status(capsys, *words: str) -> list[dict]:
    capsys.readouterr()
    assert main(["status", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def _edit_process(name: str, **changes: object) -> None:
    process = read_process(RUNS / name) or this_process()
    write_json(RUNS / name / PROCESS_FILE, asdict(replace(process, **changes)))


def _rows(name: str, rows: list[dict]) -> None:
    (RUNS / name / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_a_damaged_run_hides_no_other(toy_yaml: Path, capsys):
    for name in ("config", "metrics", "good"):
        _train(name)
    (RUNS / "config" / "config.yaml").write_text("x: [")
    file = RUNS / "metrics" / "metrics.jsonl"
    number = len(file.read_bytes().splitlines()) + 1
    for line, fault in (
        ("{broken", "not JSON"),
        ("{}", "not a row of metrics, it has no env_steps"),
        ("5", "not a row of metrics, it has no env_steps"),
        ('{"env_steps": "9", "games": 1, "updates": 1, "wall_hours": 1}', "its env_steps is no number"),
    ):
        whole = file.read_text()
        file.write_text(f"{whole}{line}\n")
        states = {state["name"]: state for state in _status(capsys)}
        assert [states[name]["state"] for name in ("config", "metrics", "good")] == ["damaged", "damaged", "finished"]
        assert states["config"]["line"].startswith("runs/config/config.yaml: not YAML")
        assert states["metrics"]["line"] == f"{file}, line {number}: {fault}; remove the line"
        file.write_text(whole)
    assert [state["name"] for state in _status(capsys, "toys")] == ["good", "metrics"]  # of the group


@pytest.mark.parametrize(
    ("width", "headings"),
    [
        (40, "run state"),
        (80, "run state done score evaluation"),
        (200, "run state done score evaluation moves/s moves where"),
    ],
)
def test_the_table_fits_into_a_terminal(width: int, headings: str):
    name = "quick-ntuple-step_size.alpha=0.05-seed1"
    done = RunState(name, "", "", "", "finished", 10, 10, 1e6, 2e4, 3e4, None, "host, process 1", "")
    failed = done._replace(state="failed", line="why " * 30)
    screen = Console(width=width, file=io.StringIO())
    screen.print(status_table([done, failed], width))
    lines = screen.file.getvalue().splitlines()
    assert " ".join(lines[0].split()) == headings
    assert max(len(line.rstrip()) for line in lines) <= width
    if width >= 80:
        assert lines[1].startswith(f"{name}  finished")
        assert lines[3].startswith(f"{name}: why why")


def test_states_of_runs(toy_yaml: Path, capsys):
    _train("done")
    _train("diverged", "toy.nan_at=50")
    _train("longer")
    config = RUNS / "longer" / "config.yaml"
    config.write_text(config.read_text().replace("env_steps: 100", "env_steps: 200"))
    _train("saved", "toy.env_steps=50")
    config = RUNS / "saved" / "config.yaml"
    config.write_text(config.read_text().replace("env_steps: 50", "env_steps: 100"))
    _edit_process("saved", exit_code=75)
    _train("killed", "toy.nan_at=50")
    _edit_process("killed", exit_code=None, ended="", line="")
    shutil.copytree(RUNS / "killed", RUNS / "early")
    config = RUNS / "early" / "config.yaml"
    config.write_text(config.read_text().replace("name: killed", "name: early"))
    shutil.rmtree(RUNS / "early" / "checkpoints")
    found = {state["name"]: state for state in _status(capsys)}
    assert {name: state["state"] for name, state in found.items()} == {
        "done": "finished", "diverged": "failed", "longer": "stopped", "saved": "stopped", "killed": "stopped",
        "early": "stopped",
    }  # fmt: skip
    assert "td/error_abs_mean is nan at env_steps 50" in found["diverged"]["line"]
    assert found["killed"]["line"] == "ended without saving; goes on from its last checkpoint"
    assert found["early"]["line"] == "ended without saving; it has no checkpoint, so it begins again"
    assert found["saved"]["line"] == ""
    assert (found["done"]["env_steps"], found["saved"]["env_steps"], found["saved"]["env_steps_total"]) == (
        100, 50, 100,
    )  # fmt: skip
    assert found["done"]["place"].endswith(f"process {os.getpid()}")
    assert found["done"]["group"] == "toys"
    assert found["done"]["learner"] == "toy"


def test_a_run_without_the_file_of_its_process(toy_yaml: Path):
    _train("one")
    (RUNS / "one" / PROCESS_FILE).unlink()
    assert (read_state(RUNS / "one").state, read_state(RUNS / "one").place) == ("finished", "")


def test_a_run_in_training(toy_yaml: Path):
    _train("one")
    report = {"games": 1, "updates": 1, "train/score_mean": 700.0}
    rows = [{"env_steps": 10 * i, "wall_hours": (i + 5) / 3600, **report} for i in range(1, 6)]
    evaluated = {"eval/score_mean": 900.0, "eval/score_low": 800.0, "eval/score_high": 950.0, "eval/games": 10}
    rows.insert(4, {"env_steps": 40, "wall_hours": 9 / 3600, "games": 1, "updates": 1, **evaluated})
    _rows("one", rows)
    with owning(RUNS / "one") as owner:
        owner.begin()
        state = read_state(RUNS / "one")
    assert state.state == "running"
    assert state.moves_per_second == pytest.approx(10.0)  # 10 moves in each second of training
    assert state.seconds_left == pytest.approx(5.0)
    assert (state.score, state.evaluation) == (700.0, 900.0)
    assert read_state(RUNS / "one").seconds_left is None  # it is no longer in training


def test_a_long_file_of_metrics_is_read_from_its_end(toy_yaml: Path):
    _train("one")
    row = {"games": 1, "updates": 1, "wall_hours": 1.0, "train/score_mean": 700.0}
    _rows("one", [{"env_steps": i, **row} for i in range(5_000)])
    assert (RUNS / "one" / "metrics.jsonl").stat().st_size > TAIL_BYTES
    assert read_state(RUNS / "one").env_steps == 4_999
    with (RUNS / "one" / "metrics.jsonl").open("a") as file:
        file.write("{}\n")
    assert ", line 5001: not a row of metrics" in read_state(RUNS / "one").line


def test_runs_by_name_by_folder_and_by_group(toy_yaml: Path, capsys, mistake):
    for name, group in (("b", "sweep/rate=1"), ("a", "sweep/rate=2"), ("c", "sweeper"), ("d", "sweep")):
        _train(name, f"run.group={group}")
    named = [folder.name for folder in find_runs(["sweep"], RUNS)]
    assert named == ["a", "b", "d"]
    assert [folder.name for folder in find_runs(["c", "runs/b", "sweep"], RUNS)] == ["c", "b", "a", "d"]
    assert [folder.name for folder in find_runs([], RUNS)] == ["a", "b", "c", "d"]
    assert [state["name"] for state in _status(capsys, "sweeper")] == ["c"]
    assert "there is no run and no group sweeps in runs" in mistake("status sweeps")
    assert "sweep is a group of 3 runs without runs/.local/sweep.log; give one of them: a, b, d" in mistake(
        "logs sweep"
    )


def test_the_table(toy_yaml: Path, capsys):
    _train("done")
    capsys.readouterr()
    assert main(["status"]) == 0
    heading, row = capsys.readouterr().out.splitlines()
    assert heading.split()[:3] == ["run", "state", "done"]
    assert row.split()[:3] == ["done", "finished", "100%"]


def test_no_runs(tmp_path: Path, capsys):
    assert main(["status"]) == 0
    assert capsys.readouterr().out == "there is no run in runs\n"
    assert main(["status", "--watch", "--json"]) == 2


def test_the_output_of_a_run(toy_yaml: Path, capsys, mistake):
    _train("one")
    assert "runs/one has no output.log" in mistake("logs one")
    file = RUNS / "one" / OUTPUT_FILE
    file.write_text("first\n")
    assert main(["logs", "one"]) == 0
    assert capsys.readouterr().out == "first\n"

    begun = threading.Event()

    def train() -> None:
        with owning(RUNS / "one"):
            begun.set()
            time.sleep(0.3)
            file.write_text("first\nsecond\n")
            time.sleep(0.3)

    thread = threading.Thread(target=train)
    thread.start()
    begun.wait()
    assert main(["logs", "one", "-f"]) == 0
    thread.join()
    assert capsys.readouterr().out == "first\nsecond\n"


def test_the_output_of_a_run_that_waits_in_the_queue(toy_yaml: Path, capsys, mistake):
    """Such as between a crash and its restart."""
    (run,) = plan_runs(GridRequest((toy_yaml,)))
    run.prepare()
    printed = threading.Event()

    def restart(queue: LocalQueue) -> None:
        time.sleep(0.2)
        run.output.write_text("first\nsecond\n")
        printed.set()
        queue.remove(run)

    with local_queue(RUNS) as queue:
        queue.add(run)
        assert mistake("logs one") == "runs/one has printed nothing yet, since it waits in the queue; ask again later"
        run.output.write_text("first\n")
        thread = threading.Thread(target=restart, args=[queue])
        thread.start()
        assert main(["logs", "one", "-f"]) == 0
        assert printed.is_set()
        thread.join()
    assert capsys.readouterr().out == "first\nsecond\n"


def test_stop_waits_until_the_runs_have_saved(toy_yaml: Path, capsys):
    for name in ("one", "two", "three"):
        _train(name, "toy.env_steps=50")
        config = RUNS / name / "config.yaml"
        config.write_text(config.read_text().replace("env_steps: 50", "env_steps: 100"))
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    trainings = []
    for name in ("one", "two"):
        command = [sys.executable, "-c", TRAINING, f"runs/{name}"]
        trainings.append(subprocess.Popen(command, stdout=subprocess.PIPE, env=environment))
        stdout = trainings[-1].stdout
        assert stdout is not None
        assert stdout.readline() == b"begun\n"
    capsys.readouterr()
    assert main(["stop", "toys"]) == 0
    assert [training.wait() for training in trainings] == [0, 0]
    assert capsys.readouterr().out.splitlines() == ["runs/one: stopped at 50 moves", "runs/two: stopped at 50 moves"]
    for training in trainings:
        training.communicate()
    assert main(["stop", "toys"]) == 0
    assert capsys.readouterr().out == "none of these runs is in training, evaluated or in the queue\n"


def test_the_process_that_has_the_lock_is_stopped_also_before_it_wrote_its_file(toy_yaml: Path, monkeypatch):
    _train("one")
    (run,) = plan_runs(GridRequest((toy_yaml,)))
    killed = []
    monkeypatch.setattr("os.kill", lambda *words: killed.append(words))
    monkeypatch.setattr("launch.jobs.following.STOP_SECONDS", 0.0)
    assert run.pid() is None
    for ended in ("2026-01-01", ""):  # the process before, which has ended or was killed
        _edit_process("one", pid=1, ended=ended)
        with owning(RUNS / "one"):
            assert run.pid() == os.getpid()
            assert main(["stop", "one"]) == 1
    assert killed == [(os.getpid(), signal.SIGTERM)] * 2


def test_a_run_on_another_machine_is_stopped_there(toy_yaml: Path, mistake, monkeypatch):
    _train("one")
    monkeypatch.setattr("launch.locks.lock_owner", lambda _: None)
    _edit_process("one", host="elsewhere", pid=1, ended="")
    with owning(RUNS / "one"):
        assert "is trained by process 1 on elsewhere: stop it there" in mistake("stop one")
