"""The script of an array of jobs, run by bash without SLURM, and what is read from and said to SLURM's commands.

`make test-cluster` runs tests/cluster on a real SLURM.
"""

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import toy

from launch.cli import main
from launch.jobs.cluster import ClusterConfig
from launch.jobs.plan import GridRequest, PlannedRun, plan_runs
from launch.jobs.run_states import read_states
from launch.jobs.slurm import QueuedTask, make_script, read_queue
from launch.train.run_process import owning

ROOT = Path(__file__).parents[3]
PREFIX = f"{sys.executable} {ROOT / 'tests' / 'launch' / 'toy_main.py'}"
OUTPUT = Path("runs/.slurm")


@pytest.fixture(autouse=True)
def _commands(toy_yaml: Path, slurm_commands: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    Path("slurm.yaml").write_text(f"engine: slurm\nprefix: '{PREFIX}'\nhours: 1\ncores: 2\n")


def _calls() -> list[str]:
    file = Path("calls.txt")
    return file.read_text().splitlines() if file.exists() else []


def _runs(*overrides: str, seeds: str = "1-2") -> list[PlannedRun]:
    return plan_runs(GridRequest((Path("toy.yaml"),), overrides, seeds))


def _headers(script: str) -> list[str]:
    return re.findall(r"^#SBATCH (.*)$", script, re.MULTILINE)


def _start(script: str, task: int = 1) -> "subprocess.Popen[str]":
    environment = os.environ | {"SLURM_ARRAY_JOB_ID": "17", "SLURM_ARRAY_TASK_ID": str(task), "SLURM_JOB_ID": "19"}
    return subprocess.Popen(["bash", "-c", script], env=environment, stderr=subprocess.DEVNULL, text=True)


def _cluster(**settings: object) -> ClusterConfig:
    return ClusterConfig(engine="slurm", prefix=PREFIX, **settings)  # type: ignore[arg-type]


def test_what_the_jobs_ask_for():
    cluster = _cluster(
        at_once=3, cores=8, memory_gb=1.5, gpus=2, hours=1.5, save_seconds=90, partition="gpu", account="lab",
        qos="low", constraint="a100", options=("--exclude=n3",), setup=("module load cuda",), environment=("A=b c",),
    )  # fmt: skip
    script = make_script(_runs(), cluster, "name", OUTPUT)
    assert _headers(script) == [
        "--job-name=name", "--array=1-2%3", "--nodes=1", "--ntasks-per-node=1", "--cpus-per-task=8", "--mem=1500M",
        "--gpus-per-node=2", "--time=1:30:00", "--signal=B:TERM@90", "--requeue", "--open-mode=append",
        "--output=runs/.slurm/%x-%A_%a.out", f"--chdir={Path.cwd()}", "--partition=gpu", "--account=lab", "--qos=low",
        "--constraint=a100", "--exclude=n3",
    ]  # fmt: skip
    assert "\nexport 'A=b c'\nmodule load cuda\n" in script
    assert "srun" not in script
    assert "export JAX_NUM_PROCESSES=1\n" in script  # each job trains a run of its own


def test_without_a_prefix_the_jobs_run_this_package():
    script = make_script(_runs(), ClusterConfig(engine="slurm"), "name", OUTPUT)
    assert f'\n    {sys.executable} -P -m launch "${{words[@]}}" >>' in script


def test_several_nodes_start_one_process_for_each_gpu():
    script = make_script(_runs(), _cluster(nodes=2, gpus=4, cores=32, at_once=0, hours=0.001), "name", OUTPUT)
    assert {
        "--nodes=2", "--ntasks-per-node=4", "--gpus-per-node=4", "--cpus-per-task=8", "--array=1-2", "--time=0:01:00",
    } <= set(_headers(script))  # fmt: skip
    assert "\n    srun --kill-on-bad-exit=1 " in script
    assert "JAX_NUM_PROCESSES" not in script
    assert """|| scancel --signal=TERM "$SLURM_JOB_ID.$attempt" """ in script  # each attempt is a step of the job


def test_a_task_trains_its_run():
    runs = _runs()
    for run in runs:
        run.prepare()
    job = _start(make_script(runs, _cluster(), "name", OUTPUT), task=2)
    assert job.wait(60) == 0
    assert [state.state for state in read_states([run.folder for run in runs])] == ["new", "finished"]
    assert "\nmean " in (runs[1].folder / "output.log").read_text()
    assert not any(call.startswith("scontrol requeue") for call in _calls())


def test_a_signal_saves_and_requeues():
    (run,) = _runs("toy.seconds=0.05", seeds="1")
    run.prepare()
    Path("scontrol.err").write_text("refused")  # else the script would wait for SLURM to end it
    job = _start(make_script([run], _cluster(), "name", OUTPUT))
    until = time.monotonic() + 30
    while not list(run.folder.glob("checkpoints/*0")):
        assert time.monotonic() < until
        time.sleep(0.02)
    job.send_signal(signal.SIGTERM)
    assert job.wait(30) == 75
    assert _calls() == ["scontrol requeue 17_1"]
    (state,) = read_states([run.folder])
    assert state.state == "stopped"
    assert 0 < state.env_steps < 100


@pytest.mark.parametrize(
    ("override", "code", "starts"),
    [("toy.nan_at=50", 1, 3), ("run.begin_from=nowhere", 2, 1)],
    ids=["crash", "mistake"],
)
def test_a_crash_is_tried_again_in_the_same_job_and_a_mistake_is_not(override: str, code: int, starts: int):
    (run,) = _runs(override, seeds="1")
    run.prepare()
    assert _start(make_script([run], _cluster(restarts=2), "name", OUTPUT)).wait(60) == code
    assert (run.folder / "output.log").read_text().count("error: ") == starts
    assert _calls() == []


def test_a_dry_run_prints_the_script_and_starts_nothing(capsys):
    assert main(["submit", "toy.yaml", "--seeds", "1-2", "--on", "slurm.yaml", "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert "#SBATCH --array=1-2\n" in out.replace("%1", "")
    assert "    2) words=(train runs/one-seed2 --resume) output=runs/one-seed2/output.log ;;\n" in out
    assert subprocess.run(["bash", "-n"], input=out[out.index("#!/bin/bash") :], text=True, check=False).returncode == 0
    assert not Path("runs").exists()
    assert not any(call.startswith("sbatch") for call in _calls())


@pytest.mark.parametrize("uses_jax", [False, True])
def test_a_gpu_is_requested_for_learners_that_use_one(capsys, monkeypatch, uses_jax: bool):
    monkeypatch.setattr(toy, "SPEC", toy.SPEC._replace(uses_jax=uses_jax))
    with Path("slurm.yaml").open("a") as file:
        file.write("gpus: 1\n")
    assert main(["submit", "toy.yaml", "--on", "slurm.yaml", "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert ("#SBATCH --gpus-per-node=1" in out) == ("1 GPU" in out) == uses_jax


def test_submit_checks_then_gives_the_script_to_slurm(capsys):
    Path("sbatch.out").write_text("41;cluster\n")
    assert main(["submit", "toy.yaml", "--seeds", "1-2", "--on", "slurm.yaml"]) == 0
    assert "job 41: 2 tasks of toys" in capsys.readouterr().out
    (script,) = Path("runs/.slurm").glob("toys-*.sbatch")
    assert [call for call in _calls() if call.startswith("sbatch")] == [
        "sbatch --test-only", f"sbatch --parsable {script.absolute()}",
    ]  # fmt: skip
    assert (Path("runs/one-seed1") / "config.yaml").is_file()


def test_a_script_that_slurm_refuses_is_one_line_and_leaves_nothing(mistake):
    Path("sbatch.err").write_text("sbatch: error: invalid partition specified: moon\n")
    line = mistake("submit toy.yaml --on slurm.yaml")
    assert line == "SLURM refuses it: sbatch: error: invalid partition specified: moon"
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    ("folder", "runs_folder", "line"),
    [(".", "my runs", "my runs, with ' '; rename it"), ("it's", "runs", "it's, with \"'\"; rename it")],
)
def test_a_folder_that_no_script_can_name(mistake, monkeypatch, folder: str, runs_folder: str, line: str):
    workplace = Path.cwd()
    Path(folder).mkdir(exist_ok=True)
    monkeypatch.chdir(folder)
    files = [str(workplace / name) for name in ("toy.yaml", "slurm.yaml")]
    for words in (["submit", files[0]], ["tune", files[0], "toy.rate=0.1..0.5"]):
        said = mistake(*words, "--on", files[1], f"run.runs_folder={runs_folder}")
        assert said.startswith("scripts of SLURM cannot name the folder ")
        assert said.endswith(line)
    assert not Path(runs_folder).exists()


def test_without_slurm(mistake, monkeypatch):
    monkeypatch.setenv("PATH", "/usr/bin/nowhere")
    assert "engine is slurm, but there is no sbatch on this machine" in mistake("submit toy.yaml --on slurm.yaml")


def _queue(lines: str) -> None:
    """Submit two runs, and let the queue hold these lines, in which SCRIPT is the script of the runs."""
    Path("sbatch.out").write_text("41\n")
    main(["submit", "toy.yaml", "--seeds", "1-2", "--on", "slurm.yaml"])
    (script,) = Path("runs/.slurm").glob("*.sbatch")
    Path("squeue.out").write_text(lines.replace("SCRIPT", shlex.quote(str(script.absolute()))))
    Path("calls.txt").unlink()


def test_the_queue_names_runs_by_their_script():
    _queue(
        "41_1|RUNNING|None|SCRIPT\n41_2|PENDING|JobArrayTaskLimit|SCRIPT\n40_1|RUNNING|None|/elsewhere.sh\n"
        "7|RUNNING|None|(null)\n"
    )
    assert read_queue() == {
        Path("runs/one-seed1/output.log").resolve(): QueuedTask("41_1", "RUNNING", ""),
        Path("runs/one-seed2/output.log").resolve(): QueuedTask("41_2", "PENDING", "JobArrayTaskLimit"),
    }


def test_states_of_queued_runs():
    _queue("41_1|RUNNING|None|SCRIPT\n41_2|PENDING|Priority|SCRIPT\n")
    first, second = Path("runs/one-seed1"), Path("runs/one-seed2")
    states = read_states([first, second])
    assert [(state.state, state.place, state.line) for state in states] == [
        ("running", "job 41_1", "starting or ending"), ("queued", "job 41_2", "Priority"),
    ]  # fmt: skip
    with owning(second) as owner:
        owner.begin()
        owner.end(75)
    assert read_states([second])[0].state == "requeued"
    with owning(first) as owner:
        owner.begin()
        assert read_states([first])[0].state == "running"


def test_runs_in_the_queue_are_not_submitted_again(capsys, mistake):
    _queue("41_1|RUNNING|None|SCRIPT\n41_2|PENDING|Priority|SCRIPT\n")
    capsys.readouterr()
    assert main(["submit", "toy.yaml", "--seeds", "1-2", "--on", "slurm.yaml"]) == 0
    assert "all of them are finished, in training or in the queue" in capsys.readouterr().out
    assert main(["submit", "toy.yaml", "--seeds", "1-3", "--on", "slurm.yaml"]) == 0
    newest = max(Path("runs/.slurm").glob("*.sbatch"), key=lambda file: file.stat().st_mtime_ns)
    assert re.findall(r"\d+\) words=.* output=(.*) ;;", newest.read_text()) == ["runs/one-seed3/output.log"]
    Path("toy.yaml").write_text(Path("toy.yaml").read_text().replace("rate: 0.25", "rate: 0.5"))
    line = "runs/one-seed1 exists with another config (toy.rate: 0.25 -> 0.5)"
    assert line in mistake("submit toy.yaml --seeds 1-2 --on slurm.yaml")


def test_stop_takes_runs_out_of_the_queue(monkeypatch):
    _queue("41_1|RUNNING|None|SCRIPT\n41_2|PENDING|Priority|SCRIPT\n")
    monkeypatch.setattr("launch.jobs.following.STOP_SECONDS", 0.0)
    assert main(["stop", "toys"]) == 1  # this queue never changes
    assert [call for call in _calls() if not call.startswith("squeue")] == [
        "scontrol update JobId=41_1 Requeue=0", "scancel --batch --signal=TERM 41_1", "scancel 41_2",
    ]  # fmt: skip


def _dependencies() -> list[str]:
    """The names of the arrays in the order in which they were submitted, each with what it waits for."""
    calls = [call for call in _calls() if call.startswith("sbatch --parsable")]
    return [
        re.sub(r".*?(aftercorr:\S+ )?(?:--kill-on-invalid-dep=yes )?/.*/(.*)-\d+-\d+-\d+\.sbatch", r"\1\2", c)
        for c in calls
    ]


def test_evaluations_follow_their_training(capsys, monkeypatch):
    Path("sbatch.out").write_text("41\n")
    words = ["submit", "toy.yaml", "--seeds", "1-2", "--on", "slurm.yaml", "--then-evaluate", "--parts", "2"]
    assert main(words) == 0
    assert _dependencies() == [
        "toys", "aftercorr:41 evaluate-1", "aftercorr:41 evaluate-2", "aftercorr:41:41 evaluate",
    ]  # fmt: skip
    (script,) = Path("runs/.slurm").glob("evaluate-2-*")
    cases = re.findall(r"\d+\) words=\((.*)\) output=(.*) ;;", script.read_text())
    assert cases[0][0] == "evaluate runs/one-seed1 --games 1000 --keep --part 2/2"
    # A second submit finds training and evaluations in the queue.
    (training,) = Path("runs/.slurm").glob("toys-*")
    Path("squeue.out").write_text(f"41_1|PENDING|x|{training.absolute()}\n41_2|PENDING|x|{training.absolute()}\n")
    Path("calls.txt").unlink()
    assert main(words) == 0
    assert _dependencies() == []
    # stop takes both out of the queue.
    with Path("squeue.out").open("a") as queue:
        queue.write(f"43_1|PENDING|x|{script.absolute()}\n")
    capsys.readouterr()
    Path("calls.txt").unlink()
    monkeypatch.setattr("launch.jobs.following.STOP_SECONDS", 0.0)
    assert main(["stop", "one-seed1"]) == 1  # this queue never changes
    assert [call for call in _calls() if call.startswith("scancel")] == ["scancel 41_1", "scancel 43_1"]


def test_an_evaluation_in_the_queue_moves_no_other_to_its_training():
    """The first run is trained again while its evaluation waits: the evaluation of the second follows the second."""
    Path("sbatch.out").write_text("41\n")
    words = ["submit", "toy.yaml", "--seeds", "1-3", "--on", "slurm.yaml", "--then-evaluate"]
    assert main(words) == 0
    (waiting,) = Path("runs/.slurm").glob("evaluate-*")
    Path("squeue.out").write_text(f"42_1|PENDING|x|{waiting.absolute()}\n")
    assert main(words) == 0
    trained, evaluated = (
        re.findall(r"\) words=.* output=runs/([^/]+)/", max(Path("runs/.slurm").glob(name)).read_text())
        for name in ("toys-*", "evaluate-*")
    )
    assert evaluated == ["one-seed2", "one-seed3"] == trained[:2]
    assert trained[2:] == ["one-seed1"]


def test_a_queue_that_does_not_answer_is_a_warning(capsys):
    Path("squeue.err").write_text("squeue: error: Unable to contact slurm controller\n")
    assert main(["status"]) == 0
    assert (
        "warning: the queue of SLURM is not known: SLURM refuses it: squeue: error: Unable" in capsys.readouterr().err
    )
