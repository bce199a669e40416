"""`submit` and `tune` on a real SLURM: preemptions, time limits, two nodes. `make test-cluster` starts the cluster."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file
from small_runs import write_small_runs

from launch.evaluation.parts import locked_logs
from launch.experiment.metrics_file import read_metrics

pytestmark = pytest.mark.cluster

COMMAND = [sys.executable, "-m", "launch"]
LONG = "ntuple.env_steps=150_000_000"  # about half a minute
LONGER = "ntuple.env_steps=250_000_000"  # more than the time limit of a minute, on a fast core too
SECONDS = 240.0  # that a test waits for a state


@pytest.fixture(autouse=True)
def _workplace(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WANDB_MODE", "disabled")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    for name in ("XLA_FLAGS", "NUMBA_OPT"):
        monkeypatch.delenv(name, raising=False)
    write_small_runs((3_000_000, 100_000), (16_384, 4_096), 0.05)
    _cluster()


def _cluster(**settings: object) -> None:
    Path("slurm.yaml").write_text(json.dumps({"engine": "slurm", "cores": 1, "at_once": 0, "hours": 1.0, **settings}))


def _run(*words: str) -> str:
    return subprocess.run([*COMMAND, *words], check=True, capture_output=True, text=True).stdout


def _submit(*words: str) -> str:
    """Submit, and return the number of the job."""
    found = re.search(r"^job (\d+): ", _run("submit", *words, "--on", "slurm.yaml"), re.MULTILINE)
    assert found
    return found[1]


def _states() -> dict[str, dict[str, Any]]:
    return {state["name"]: state for state in json.loads(_run("status", "--json").splitlines()[-1])}


def _wait(condition: Callable[[dict[str, dict[str, Any]]], bool]) -> dict[str, dict[str, Any]]:
    until = time.monotonic() + SECONDS
    while not condition(states := _states()):
        assert time.monotonic() < until, states
        time.sleep(0.2)
    return states


def _all_finished(states: dict[str, dict[str, Any]]) -> bool:
    assert not any(state["state"] == "failed" for state in states.values()), states
    return bool(states) and all(state["state"] == "finished" for state in states.values())


def _restarts(job: str) -> int:
    text = subprocess.run(["scontrol", "show", "job", job], check=True, capture_output=True, text=True).stdout
    return max(int(number) for number in re.findall(r"Restarts=(\d+)", text))


def _start_now(job: str) -> None:
    """Start a requeued job, for which SLURM waits two minutes; a node refuses it in the second of its end."""
    time.sleep(2)
    subprocess.run(["scontrol", "update", f"JobId={job}", "StartTime=now"], check=False, capture_output=True)


def _arrays(run: str) -> dict[str, np.ndarray]:
    newest = max(Path("runs", run, "checkpoints").iterdir(), key=lambda path: int(path.name))
    return {name: array for file in sorted(newest.glob("*.safetensors")) for name, array in load_file(file).items()}


def _assert_as_one_that_was_never_stopped(run: str, seed: int, budget: str = LONG) -> None:
    _run("train", "tuples.yaml", budget, f"run.seed={seed}", "run.name=whole")
    for name, array in _arrays("whole").items():
        np.testing.assert_array_equal(_arrays(run)[name], array)
    stopped, whole = (
        [row for row in read_metrics(Path("runs", name)) if row["env_steps"] % 10_000_000 == 0]
        for name in (run, "whole")
    )
    assert [row["env_steps"] for row in stopped] == [row["env_steps"] for row in whole]
    assert [row.get("td/error_abs_mean") for row in stopped[-3:-1]] == [
        row.get("td/error_abs_mean") for row in whole[-3:-1]
    ]


def test_a_sweep_of_two_configs_and_two_seeds_two_at_a_time():
    _cluster(at_once=2)
    job = _submit("tuples.yaml", "net.yaml", "--seeds", "1-2", "--group", "sweep")
    seen: set[str] = set()

    def watched(states: dict[str, dict[str, Any]]) -> bool:
        kinds = [state["state"] for state in states.values()]
        assert kinds.count("running") <= 2
        assert set(kinds) <= {"queued", "running", "finished"}
        seen.update(kinds)
        return _all_finished(states)

    states = _wait(watched)
    assert seen == {"queued", "running", "finished"}
    assert {name: state["group"] for name, state in states.items()} == {
        "sweep-tuples-seed1": "sweep/tuples", "sweep-tuples-seed2": "sweep/tuples",
        "sweep-net-seed1": "sweep/net", "sweep-net-seed2": "sweep/net",
    }  # fmt: skip
    assert all(f"job {job}_" in state["place"] for state in states.values())
    again = _run("submit", "tuples.yaml", "net.yaml", "--seeds", "1-2", "--group", "sweep", "--on", "slurm.yaml")
    assert "all of them are finished" in again


def test_a_preempted_run_is_requeued_and_ends_as_one_that_was_not():
    _cluster(environment=["WANDB_MODE=offline"])
    job = _submit("tuples.yaml", LONG, "--seeds", "7")
    _wait(lambda states: states["tuples-seed7"]["env_steps"] > 5_000_000)
    other = ["sbatch", "--partition=high", "--nodes=2", "--exclusive", "--output=/dev/null", "--wrap=sleep 5"]
    subprocess.run(other, check=True, capture_output=True)
    states = _wait(lambda states: states["tuples-seed7"]["state"] == "requeued")
    assert 5_000_000 < states["tuples-seed7"]["env_steps"] < 150_000_000
    _start_now(f"{job}_1")
    _wait(_all_finished)
    assert _restarts(f"{job}_1") == 1
    _assert_as_one_that_was_never_stopped("tuples-seed7", 7)
    (offline,) = Path("runs/tuples-seed7/wandb").glob("offline-run-*/*.wandb")  # one run, which `wandb sync` would find
    assert offline.stem == "run-" + Path("runs/tuples-seed7/wandb/id").read_text().strip()
    command = [str(Path(sys.executable).with_name("wandb")), "leet", "inspect", "--json", str(offline)]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    assert sum(json.loads(line)["type"] == "history" for line in lines) == len(read_metrics(Path("runs/tuples-seed7")))


def test_a_time_limit_requeues():
    _cluster(hours=1 / 60, save_seconds=45)  # the signal may come at once: SLURM looks at it every minute or so
    job = _submit("tuples.yaml", LONGER, "--seeds", "8")
    _wait(lambda states: states["tuples-seed8"]["state"] in ("requeued", "finished"))
    until = time.monotonic() + SECONDS
    while _states()["tuples-seed8"]["state"] != "finished":
        assert time.monotonic() < until
        _start_now(f"{job}_1")
    assert _restarts(f"{job}_1") >= 1
    _assert_as_one_that_was_never_stopped("tuples-seed8", 8, LONGER)


def test_a_failed_node_requeues():
    job = _submit("tuples.yaml", LONG, "--seeds", "9")
    _wait(lambda states: states["tuples-seed9"]["env_steps"] > 5_000_000)
    text = subprocess.run(["squeue", "-h", "-j", job, "-o", "%N"], check=True, capture_output=True, text=True).stdout
    node = text.strip()
    update = ["scontrol", "update", f"NodeName={node}"]
    try:
        subprocess.run([*update, "State=DOWN", "Reason=test"], check=True)
        _wait(lambda states: states["tuples-seed9"]["state"] in ("requeued", "running"))
        _start_now(f"{job}_1")
        _wait(_all_finished)
    finally:
        subprocess.run([*update, "State=RESUME"], check=False)
    assert _restarts(f"{job}_1") >= 1
    _assert_as_one_that_was_never_stopped("tuples-seed9", 9)


def test_stop_and_submit_again():
    _cluster(at_once=1)
    _submit("tuples.yaml", LONG, "--seeds", "1-2")
    _wait(lambda states: states["tuples-seed1"]["env_steps"] > 5_000_000)
    assert _states()["tuples-seed2"]["state"] == "queued"
    _run("stop", "tuples")
    states = _states()
    assert (states["tuples-seed1"]["state"], states["tuples-seed2"]["state"]) == ("stopped", "new")
    stopped_at = states["tuples-seed1"]["env_steps"]
    assert stopped_at < 150_000_000
    _submit("tuples.yaml", LONG, "--seeds", "1-2")
    _wait(_all_finished)
    assert f"resumed from runs/tuples-seed1/checkpoints/{stopped_at}" in _run("logs", "tuples-seed1")


def test_two_nodes_train_as_one():
    _cluster(nodes=2)
    _submit("net.yaml", "--seeds", "3")
    _wait(_all_finished)
    _run("train", "net.yaml", "run.seed=3", "run.name=one")
    two, one = (
        [row for row in read_metrics(Path("runs", name)) if "loss/total" in row] for name in ("net-seed3", "one")
    )
    assert [row["env_steps"] for row in two] == [row["env_steps"] for row in one]
    # Later, moves of equal value can be chosen differently after another rounding, and the trainings drift apart.
    for name in (name for name in one[0] if name.startswith("loss/")):
        assert two[0][name] == pytest.approx(one[0][name], rel=1e-5, abs=1e-5), name
    assert two[-1]["loss/total"] == pytest.approx(one[-1]["loss/total"], rel=0.02)
    environment = json.loads(Path("runs/net-seed3/environment.json").read_text())
    assert len(environment[-1]["devices"]) == 2


def test_two_nodes_stop_together_after_they_saved():
    _cluster(nodes=2)
    _submit("net.yaml", "muzero.env_steps=10_000_000", "--seeds", "4")
    _wait(lambda states: states["net-seed4"]["env_steps"] > 0)
    _run("stop", "net-seed4")
    state = _states()["net-seed4"]
    assert state["state"] == "stopped"
    assert Path("runs/net-seed4/checkpoints", str(state["env_steps"])).is_dir()


def _until(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.5)


def _queue_is_empty() -> bool:
    return not subprocess.run(["squeue", "-h"], check=True, capture_output=True, text=True).stdout.strip()


def _results(games: int) -> dict[str, dict[str, Any]]:
    files = Path("runs").glob(f"*/evaluations/*-{games}games-*.json")
    return {file.parents[1].name: json.loads(file.read_text()) for file in files}


def test_parts_of_evaluations_follow_their_training():
    Path("rows.txt").write_text("run.name=good\nrun.name=bad run.begin_from=nowhere\n")
    words = ["tuples.yaml", "--rows", "rows.txt", "--then-evaluate", "--games", "200", "--parts", "2"]
    words += ["--search", "expectimax", "--plies", "2"]
    _submit(*words)
    assert not _results(200)
    _until(_queue_is_empty)  # the evaluations of the run that failed have left the queue too
    assert list(_results(200)) == ["good"]
    _run("evaluate", "runs/good", "--games", "200", "--search", "expectimax", "--plies", "2", "--keep", "alone.jsonl")
    logs = [path.read_text().splitlines()[1:] for path in Path("runs/good/evaluations").glob("*.part-*.jsonl")]
    alone = sorted(json.loads(line)["score"] for line in Path("alone.jsonl").read_text().splitlines()[1:])
    assert [len(lines) for lines in logs] == [100, 100]
    assert sorted(json.loads(line)["score"] for lines in logs for line in lines) == alone
    assert _results(200)["good"]["score_mean"] == pytest.approx(sum(alone) / 200)


def test_a_preempted_part_of_an_evaluation_plays_no_game_twice():
    _run("train", "tuples.yaml")
    words = ["submit", "evaluate", "runs/tuples", "--games", "300", "--parts", "2", "--on", "slurm.yaml"]
    words += ["--search", "expectimax", "--plies", "4"]
    _run(*words)
    folder = Path("runs/tuples/evaluations")

    def lines(part: int) -> list[str]:
        return [line for file in folder.glob(f"*.part-{part}-of-2.jsonl") for line in file.read_text().splitlines()]

    _until(lambda: len(lines(1)) > 5)
    assert "all of them are finished or in the queue" in _run(*words)
    other = ["sbatch", "--partition=high", "--nodes=2", "--exclusive", "--output=/dev/null", "--wrap=sleep 5"]
    subprocess.run(other, check=True, capture_output=True)
    _until(lambda: not any("part-1" in log.name for log in locked_logs(folder)))
    kept = lines(1)
    assert 5 < len(kept) < 151

    def release() -> bool:
        for job in subprocess.run(
            ["squeue", "-h", "-o", "%i"], check=True, capture_output=True, text=True
        ).stdout.split():
            _start_now(job)
        return _queue_is_empty()

    _until(release)
    assert lines(1)[: len(kept)] == kept
    assert sorted(json.loads(line)["number"] for part in (1, 2) for line in lines(part)[1:]) == list(range(300))
    assert _results(300)["tuples"]["games"] == 300
    assert "all of them are finished" in _run(*words)


def test_a_killed_search_finds_its_jobs_again():
    _cluster(at_once=2)
    words = ["tune", "tuples.yaml", LONG, "ntuple.step_size.tc.alpha=0.5..1", "--trials", "3", "--group", "look"]
    search = subprocess.Popen([*COMMAND, *words, "--on", "slurm.yaml"], stdout=subprocess.DEVNULL)
    _wait(lambda states: [state["state"] for state in states.values()] == ["running"] * 2)
    search.kill()
    search.wait()
    trials = json.loads(_run(*words, "--on", "slurm.yaml", "--json"))
    assert [trial["state"] for trial in trials] == ["finished"] * 3
    assert {trial["run"] for trial in trials} == _states().keys()
    for trial in trials:
        assert trial["score"] == read_metrics(Path("runs", trial["run"]))[-1]["eval/score_mean"]
        assert len(json.loads(Path("runs", trial["run"], "environment.json").read_text())) == 1  # was started once


def test_an_unknown_partition_is_one_line():
    _cluster(partition="moon")
    words = [*COMMAND, "submit", "tuples.yaml", "--on", "slurm.yaml"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=os.environ)
    assert done.returncode == 2
    assert done.stderr.startswith("error: SLURM refuses it: ")
    assert done.stderr.count("\n") == 1
    assert not Path("runs").exists()
