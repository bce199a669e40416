"""The engine of SLURM, with programs in place of SLURM's commands. tests/cluster has the real ones."""

from dataclasses import asdict
from pathlib import Path

import pytest

from launch.files import write_json
from launch.jobs.cluster import ClusterConfig
from launch.jobs.plan import GridRequest, PlannedRun, plan_runs
from launch.signals import StopSignals
from launch.train.run_process import PROCESS_FILE, RunProcess
from launch.tune import engines
from launch.tune.engines import SlurmEngine


@pytest.fixture
def queue(toy_yaml: Path, slurm_commands: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file that `squeue` prints."""
    monkeypatch.setattr(engines, "QUEUE_SECONDS", 0.0)
    (tmp_path / "sbatch.out").write_text("17\n")
    return tmp_path / "squeue.out"


@pytest.fixture
def run(queue: Path) -> PlannedRun:
    (run,) = plan_runs(GridRequest((Path("toy.yaml"),), group="tune"))
    return run


def _engine() -> SlurmEngine:
    return SlurmEngine(ClusterConfig(engine="slurm", at_once=2), "tune", StopSignals())


def _calls(name: str) -> list[str]:
    return [line for line in Path("calls.txt").read_text().splitlines() if line.startswith(name)]


def _queue_has(queue: Path, state: str) -> None:
    (script,) = Path("runs/.slurm").glob("*.sbatch")
    queue.write_text(f"17_1|{state}|None|{script.absolute()}\n")


def _ended(run: PlannedRun, code: int | None) -> None:
    process = RunProcess(
        "n1", 1, "17_1", "", "2026-11-25T10:00:00", "" if code is None else "2026-11-25T11:00:00", code
    )
    write_json(run.folder / PROCESS_FILE, asdict(process))


@pytest.mark.parametrize("state", ["PENDING", "RUNNING", "COMPLETING", "SUSPENDED", "REQUEUED"])
def test_a_run_in_the_queue_goes_on(run: PlannedRun, queue: Path, state: str):
    engine = _engine()
    engine.start(run)
    engine.start(run)  # is in the queue
    assert len(_calls("sbatch --parsable")) == 1
    assert engine.outcome(run) is None  # before the first look
    _queue_has(queue, state)
    _ended(run, 75)  # a job that saved at its time limit, and is requeued
    engine.look()
    assert engine.outcome(run) is None


@pytest.mark.parametrize(
    ("code", "outcome"), [(75, "stopped"), (0, "finished"), (1, "failed"), (2, "failed"), (None, "failed")]
)
def test_how_a_run_ended_that_left_the_queue(run: PlannedRun, queue: Path, code: int | None, outcome: str):
    engine = _engine()
    engine.start(run)
    _ended(run, code)
    engine.look()
    assert engine.outcome(run) == outcome


def test_a_job_that_was_cancelled_before_it_began_is_stopped(run: PlannedRun, queue: Path):
    engine = _engine()
    engine.start(run)
    _queue_has(queue, "PENDING")
    engine.look()
    queue.write_text("")
    engine.look()
    assert engine.outcome(run) == "stopped"


def test_a_queue_that_does_not_answer_ends_nothing(run: PlannedRun, queue: Path, tmp_path: Path, capsys):
    engine = _engine()
    engine.start(run)
    (tmp_path / "squeue.err").write_text("busy\n")
    engine.look()
    assert engine.outcome(run) is None
    assert "the queue of SLURM is not known: SLURM refuses it: busy" in capsys.readouterr().err


def test_a_cancellation_that_fails_is_tried_again(run: PlannedRun, queue: Path, tmp_path: Path):
    engine = _engine()
    engine.start(run)
    _queue_has(queue, "RUNNING")
    (tmp_path / "scontrol.err").write_text("busy\n")
    engine.cancel(run)
    engine.look()
    assert _calls("scancel") == []
    (tmp_path / "scontrol.err").unlink()
    engine.look()
    engine.look()
    assert _calls("scancel") == ["scancel --batch --signal=TERM 17_1"]
