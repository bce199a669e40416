import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from launch.cli import main
from launch.experiment.experiment import Experiment, load_experiment
from launch.experiment.metrics_file import MetricsFile, drop_rows_after, read_metrics
from launch.report.wandb import client
from launch.train.run_process import owning
from launch.train.wandb_sink import WandbSink

EVAL = "eval/score_mean"
REST = {"eval/score_low": 1.0, "eval/score_high": 99.0, "eval/games": 9}  # of the row of an evaluation
REMEDY = "`muzero2048 wandb sync` uploads its run from metrics.jsonl, `wandb rebuild` writes it offline\n"


def _row(env_steps: int, **values: float) -> dict[str, float]:
    return {"env_steps": env_steps, "games": env_steps // 10, "updates": env_steps, "wall_hours": 0.5, **values}


@pytest.fixture
def experiment(toy_yaml: Path) -> Experiment:
    return load_experiment(toy_yaml, ["run.seed=5"])


def _inspect(wandb_run: Path) -> list[dict]:
    """Return the records of an offline run, read by wandb's own tool."""
    command = [str(Path(sys.executable).with_name("wandb")), "leet", "inspect", "--json", str(wandb_run)]
    output = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    return [json.loads(line) for line in output.splitlines()]


def _history(records: list[dict]) -> list[dict]:
    """Return the rows of an offline run, with wandb's own step but without its times."""
    rows = [record["history"] for record in records if record["type"] == "history"]
    kept = {"_timestamp", "_runtime"}
    return [{name: value for name, value in row["item"].items() if name not in kept} for row in rows]


def _offline(folder: Path) -> Path:
    """Return the only offline run in a run folder that `wandb sync` would find."""
    (run,) = (folder / "wandb").glob("offline-run-*")
    return run


def _keep(folder: Path, experiment: Experiment, rows: list[dict], sink: WandbSink | None = None) -> WandbSink:
    """Write rows to metrics.jsonl and to wandb, as a training does."""
    file = MetricsFile(folder)
    sink = sink or WandbSink(folder, experiment)
    for row in rows:
        file.append(row)
        sink.log(row)
    file.close()
    return sink


def _check_offline_run(folder: Path, experiment: Experiment) -> None:
    """Check that the run has each row of metrics.jsonl once, in order, and the names and config of the training."""
    records = _inspect(_offline(folder))
    expected = [{**row, "_step": step} for step, row in enumerate(read_metrics(folder))]
    assert _history(records) == expected
    of_kind = {kind: [r[kind] for r in records if r["type"] == kind] for kind in ("run", "metric")}
    (run,) = of_kind["run"]
    told = (run["display_name"], run["run_group"], run["job_type"], run["run_id"])
    name = (folder / "wandb" / "id").read_text().strip()
    assert told == (experiment.run.name, experiment.run.group, experiment.learner, name)
    config = {key: value for key, value in run["config"]["update"].items() if key != "_wandb"}
    assert config == {"seed": experiment.run.seed, **experiment.plain()}
    axes = {metric["glob_name"]: metric["step_metric"] for metric in of_kind["metric"] if "glob_name" in metric}
    assert axes["eval/*"] == axes["train/*"] == axes["td/*"] == "env_steps"


def test_a_resumed_offline_run_is_one_whole_run_in_wandb(tmp_path: Path, experiment, monkeypatch, capsys):
    monkeypatch.delenv("WANDB_MODE")
    first = [_row(10, **{EVAL: 99.0}, **REST), _row(20), _row(30)]
    _keep(tmp_path, experiment, first).finish(exit_code=0)
    _check_offline_run(tmp_path, experiment)
    name, old = (tmp_path / "wandb" / "id").read_text(), _offline(tmp_path)
    drop_rows_after(tmp_path, 20)  # the run was killed after its checkpoint at 20
    _keep(tmp_path, experiment, [_row(30, **{EVAL: 7.0}, **REST), _row(40)]).finish(exit_code=0)
    assert [row["env_steps"] for row in read_metrics(tmp_path)] == [10, 20, 30, 40]
    _check_offline_run(tmp_path, experiment)
    assert (tmp_path / "wandb" / "id").read_text() == name
    assert [path.name for path in (tmp_path / "wandb" / "replaced").iterdir()] == [old.name]
    assert capsys.readouterr().err == ""


# A training whose scheduler sends a signal to all processes of the step, including wandb's service, which buffers rows.
SIGNALLED = """
import os, signal, time
from pathlib import Path
from launch.experiment.experiment import load_experiment
from launch.experiment.metrics_file import MetricsFile
from launch.train.run_process import owning
from launch.train.wandb_sink import WandbSink
folder = Path("run")
file, sink = MetricsFile(folder), WandbSink(folder, load_experiment(folder))
for env_steps in (10, 20, 30):
    row = {"env_steps": env_steps, "games": 1, "updates": env_steps, "wall_hours": 0.5, "train/score_mean": 7.0}
    file.append(row)
    sink.log(row)
    for child in " ".join(task.read_text() for task in Path("/proc/self/task").glob("*/children")).split():
        if env_steps == 20:
            os.kill(int(child), signal.SIGTERM)
            while Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
                time.sleep(0.01)
sink.finish(exit_code=1)
"""


def test_rebuild_makes_the_run_whole_whose_service_a_scheduler_killed(toy_yaml: Path, monkeypatch, capfd):
    learner = toy_yaml.read_text().replace("toy", "ntuple").partition("ntuple:\n")[0] + "ntuple: {}\n"
    (folder := Path("run")).mkdir()
    (folder / "config.yaml").write_text(learner)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "WANDB_MODE": "offline"}
    environment.pop("WANDB_SERVICE", None)  # the service of this process, started by other tests
    command = [sys.executable, "-c", SIGNALLED]
    killed = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (killed.returncode, killed.stderr.count("\n")) == (0, 1), killed.stderr
    assert killed.stderr.endswith(f"going on without it; {REMEDY}")
    name = (folder / "wandb" / "id").read_text()
    assert main(["wandb", "rebuild", "run"]) == 0
    captured = capfd.readouterr()
    assert captured.out.splitlines()[-1] == f"3 rows of run/metrics.jsonl are in the wandb run {name.strip()}"
    assert captured.err == ""
    assert (folder / "wandb" / "id").read_text() == name
    _check_offline_run(folder, load_experiment(folder))


@pytest.mark.parametrize("mark", ["wandb/offline-run-1-old/run-old.wandb.synced", "wandb/run-1-old/run-old.wandb"])
def test_what_is_on_a_server_gets_another_id(tmp_path: Path, experiment, monkeypatch, capsys, mark: str):
    """An upload with the old id would add its rows to those on the server."""
    monkeypatch.setenv("WANDB_MODE", "offline")
    (tmp_path / mark).parent.mkdir(parents=True)
    (tmp_path / mark).write_text("")
    (tmp_path / "wandb" / "id").write_text("old\n")
    _keep(tmp_path, experiment, [_row(10)]).finish(exit_code=0)
    name = (tmp_path / "wandb" / "id").read_text().strip()
    assert name != "old"
    assert f"the whole run is {name}; delete old" in capsys.readouterr().out
    assert [path.name for path in (tmp_path / "wandb" / "replaced").iterdir()] == [(tmp_path / mark).parent.name]
    _check_offline_run(tmp_path, experiment)
    _keep(tmp_path, experiment, [_row(20)]).finish(exit_code=0)  # this run is not on a server
    assert (tmp_path / "wandb" / "id").read_text().strip() == name


@pytest.mark.parametrize(("resumed", "expected"), [(True, [30]), (False, [10, 20, 30])])
def test_a_run_that_goes_online_brings_the_rows_that_the_server_lacks(
    tmp_path: Path, experiment, monkeypatch, resumed: bool, expected: list[int]
):
    recorder = _Recorder(resumed=resumed)
    monkeypatch.setenv("WANDB_MODE", "online")
    monkeypatch.setattr(client, "open_run", lambda *_: recorder)
    file = MetricsFile(tmp_path)
    for row in (_row(10), _row(20)):
        file.append(row)
    file.close()
    (tmp_path / "wandb" / "offline-run-1-old").mkdir(parents=True)
    _keep(tmp_path, experiment, [_row(30)])
    assert [row["env_steps"] for row in recorder.rows] == expected
    assert not list((tmp_path / "wandb").glob("offline-run-*"))


def test_rebuild_says_what_is_wrong(toy_yaml: Path, monkeypatch, mistake):
    line = "nothing is not a run folder: it has no config.yaml; give runs/<name>"
    assert mistake("wandb rebuild nothing") == line
    assert main(["train", "toy.yaml"]) == 0
    monkeypatch.setattr(client, "open_run", lambda *_: _Recorder(fails=True))
    line = "the wandb run of runs/one is not written; correct what the warning names, and repeat the command"
    assert mistake("wandb rebuild runs/one") == line
    with owning(Path("runs/one")):
        assert mistake("wandb rebuild runs/one").startswith("runs/one is in training, which writes its wandb run; ")


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
    monkeypatch.setattr(client, "open_run", init)
    _keep(tmp_path, experiment, [_row(10)])
    assert modes == ["online", "offline"]
    assert capsys.readouterr().err == (
        "warning: wandb cannot go online (no such host Consider a longer timeout); the run is kept offline\n"
    )


def test_a_failing_wandb_stops_nothing(tmp_path: Path, experiment, monkeypatch, capsys):
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setattr(client, "open_run", lambda *_: _Recorder(fails=True))
    _keep(tmp_path, experiment, [_row(10), _row(20)]).finish(exit_code=0)
    assert capsys.readouterr().err == ("warning: wandb failed to log (disk full); going on without it; " + REMEDY)


def test_a_run_after_one_that_failed_is_a_run_of_its_own(tmp_path: Path, experiment, monkeypatch):
    monkeypatch.setenv("WANDB_MODE", "offline")
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    with monkeypatch.context() as patch:
        patch.setattr("launch.train.wandb_sink.with_media", lambda *_: 1 / 0)
        assert not _keep(tmp_path / "one", experiment, [_row(10)]).works
    _keep(tmp_path / "two", experiment, [_row(20)]).finish(exit_code=0)
    assert [row["env_steps"] for row in _history(_inspect(_offline(tmp_path / "two")))] == [20]


class _Recorder:
    def __init__(self, fails: bool = False, resumed: bool = False) -> None:
        self.fails, self.resumed = fails, resumed
        self.rows: list[dict] = []
        self.summary: dict[str, object] = {}

    def log(self, row: dict) -> None:
        if self.fails:
            raise OSError("disk full")
        self.rows.append(row)

    def finish(self, exit_code: int) -> None:
        pass
