import json
import subprocess
import sys
from pathlib import Path

import pytest

from launch import tracking
from launch.config import Experiment, load_experiment
from launch.tracking import METRICS_FILE, MetricsFile, WandbSink, drop_rows_after, read_metrics


def _row(env_steps: int, **values: float) -> dict[str, float]:
    return {"env_steps": env_steps, "games": env_steps // 10, "updates": env_steps, "wall_hours": 0.5, **values}


@pytest.fixture
def experiment(toy_yaml: Path) -> Experiment:
    return load_experiment(toy_yaml, ["run.seed=5"])


def test_a_row_is_on_disk_as_soon_as_it_is_written(tmp_path: Path):
    file = MetricsFile(tmp_path)
    file.append(_row(10))
    assert read_metrics(tmp_path) == [_row(10)]
    file.append(_row(20, **{"train/score_mean": 3.5}))
    assert read_metrics(tmp_path) == [_row(10), _row(20, **{"train/score_mean": 3.5})]
    file.close()


def test_unknown_names_and_nan_are_refused(tmp_path: Path):
    file = MetricsFile(tmp_path)
    with pytest.raises(KeyError, match="train/scores"):
        file.append(_row(10, **{"train/scores": 1.0}))
    with pytest.raises(ValueError, match="not JSON compliant"):
        file.append(_row(10, **{"train/score_mean": float("nan")}))
    file.close()
    assert read_metrics(tmp_path) == []


def test_rows_after_the_checkpoint_are_dropped_with_a_half_written_last_line(tmp_path: Path):
    lines = [json.dumps(_row(env_steps)) + "\n" for env_steps in (10, 20, 20, 30)]
    (tmp_path / METRICS_FILE).write_text("".join(lines) + '{"env_steps": 4')
    drop_rows_after(tmp_path, 20)
    assert (tmp_path / METRICS_FILE).read_text() == "".join(lines[:3])
    drop_rows_after(tmp_path, 0)
    assert (tmp_path / METRICS_FILE).read_text() == ""


def _inspect(wandb_run: Path) -> list[dict]:
    """The records of an offline run, as wandb's own tool reads them back."""
    command = [str(Path(sys.executable).with_name("wandb")), "leet", "inspect", "--json", str(wandb_run)]
    output = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    return [json.loads(line) for line in output.splitlines()]


def test_wandb_keeps_the_run_offline_with_group_job_type_and_axes(tmp_path: Path, experiment, monkeypatch):
    monkeypatch.delenv("WANDB_MODE")
    for _ in range(2):  # the second is a resumed run
        sink = WandbSink(tmp_path, experiment)
        sink.log(_row(10, **{"eval/score_mean": 99.0}))
        sink.finish(exit_code=0)
    runs = list((tmp_path / "wandb").glob("offline-run-*"))
    records = [record for run in runs for record in _inspect(run)]
    of_kind = {kind: [r[kind] for r in records if r["type"] == kind] for kind in ("run", "metric", "history")}
    first = of_kind["run"][0]
    assert (first["display_name"], first["run_group"], first["job_type"]) == ("one", "toys", "toy")
    assert (first["config"]["update"]["seed"], first["config"]["update"]["toy"]["rate"]) == (5, 0.25)
    assert len({run["run_id"] for run in of_kind["run"]}) == 1
    axes = {metric["glob_name"]: metric["step_metric"] for metric in of_kind["metric"] if "glob_name" in metric}
    assert axes["eval/*"] == axes["train/*"] == axes["td/*"] == "env_steps"
    assert of_kind["history"][0]["item"]["eval/score_mean"] == 99
    assert of_kind["history"][0]["item"]["env_steps"] == 10


def test_wandb_disabled_writes_nothing(tmp_path: Path, experiment):
    sink = WandbSink(tmp_path / "run", experiment)
    sink.log(_row(10))
    sink.finish(exit_code=0)
    assert not (tmp_path / "run").exists()


def test_without_a_network_the_run_goes_offline_with_one_warning(tmp_path: Path, experiment, monkeypatch, capsys):
    from wandb.errors import CommError

    modes = []

    def init(folder, experiment, mode):
        modes.append(mode)
        if mode == "online":
            raise CommError("no such host\nConsider a longer timeout")
        return _Recorder()

    monkeypatch.setenv("WANDB_MODE", "online")
    monkeypatch.setattr(tracking, "_init", init)
    WandbSink(tmp_path, experiment).log(_row(10))
    assert modes == ["online", "offline"]
    assert capsys.readouterr().err == (
        "warning: wandb cannot go online (no such host Consider a longer timeout); the run is kept offline\n"
    )


def test_a_failing_wandb_stops_nothing(tmp_path: Path, experiment, monkeypatch, capsys):
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setattr(tracking, "_init", lambda *_: _Recorder(fails=True))
    sink = WandbSink(tmp_path, experiment)
    sink.log(_row(10))
    sink.log(_row(20))
    sink.finish(exit_code=0)
    assert capsys.readouterr().err == "warning: wandb failed to log (disk full); going on without it\n"


class _Recorder:
    def __init__(self, fails: bool = False) -> None:
        self.fails = fails

    def define_metric(self, *args, **kwargs) -> None:
        pass

    def log(self, row: dict) -> None:
        if self.fails:
            raise OSError("disk full")

    def finish(self, exit_code: int) -> None:
        pass
