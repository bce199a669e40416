"""`muzero2048 wandb sync` against a stand-in for wandb's server. The real server may differ."""

import json
from datetime import UTC, datetime
from pathlib import Path

import wandb

from launch.cli import main
from launch.experiment.metrics import Row
from launch.experiment.metrics_file import METRICS_FILE, MetricsFile, read_metrics
from launch.locks import take_lock
from launch.report.wandb.folder import summary_of, timed_rows
from launch.train.run_process import LOCK_FILE


def _id(run: Path) -> str:
    return (run / "wandb" / "id").read_text().strip()


def _env_steps(run: Path) -> list[int]:
    return [row["env_steps"] for row in read_metrics(run)]


def test_each_row_is_uploaded_once(runs: Path, wandb_server, capsys):
    assert main(["wandb", "sync"]) == 0
    for run in (runs / "toy1", runs / "toy2"):
        assert wandb_server.env_steps(_id(run)) == _env_steps(run)
    assert main(["wandb", "sync"]) == 0
    assert capsys.readouterr().out.count("nothing new since the upload") == 2
    one, two = runs / "toy1", runs / "toy2"

    file = MetricsFile(one)  # the first run goes on
    file.append({**read_metrics(one)[-1], "env_steps": 110})
    file.close()
    second_id = _id(two)
    kept = read_metrics(two)[:-2]  # the second was killed, and goes on from a checkpoint: with other rows, and more
    others = [{**kept[-1], "env_steps": 95 + i} for i in range(3)]
    (two / METRICS_FILE).write_text("".join(json.dumps(row) + "\n" for row in [*kept, *others]))
    assert main(["wandb", "sync", "toys"]) == 0
    assert wandb_server.env_steps(_id(one)) == _env_steps(one)
    assert _id(two) != second_id
    assert wandb_server.env_steps(_id(two)) == _env_steps(two)
    output = capsys.readouterr().out
    assert f"1 of {len(_env_steps(one))} rows uploaded" in output
    assert f"the whole run is {_id(two)}; delete {second_id}" in output


def test_rows_have_the_times_at_which_they_were_trained(runs: Path, wandb_server):
    """The training began on two days: at 0 hours, and again at 2 hours from a checkpoint at 1.5 hours."""
    run = runs / "toy1"
    first, *_ = json.loads((run / "environment.json").read_text())
    assert first["wall_hours"] == 0.0
    starts = [
        first | {"time": "2026-11-01T10:00:00+00:00"},
        first | {"time": "2026-11-02T20:00:00+00:00", "wall_hours": 1.5},
    ]
    (run / "environment.json").write_text(json.dumps(starts))
    hours = (0.25, 1.25, 1.75, 3.5)
    rows = [{**row, "wall_hours": hour} for row, hour in zip(read_metrics(run), hours, strict=False)]
    (run / METRICS_FILE).write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["wandb", "sync", "runs/toy1"]) == 0
    sent = wandb_server.rows[_id(run)]
    times = [datetime.fromtimestamp(sent[place]["_timestamp"], UTC).isoformat() for place in sorted(sent)]
    assert times == [
        "2026-11-01T10:15:00+00:00", "2026-11-01T11:15:00+00:00",
        "2026-11-02T20:15:00+00:00", "2026-11-02T22:00:00+00:00",
    ]  # fmt: skip
    for damaged in ("{}", "[3]", '[{"time": "yesterday"}]'):
        (run / "environment.json").write_text(damaged)
        assert timed_rows(run) == read_metrics(run)


def test_tags_summary_and_result_files_go_with_the_run(runs: Path, wandb_server):
    assert main(["wandb", "sync", "runs/toy1"]) == 0
    run = runs / "toy1"
    sent = wandb_server.runs[_id(run)]
    assert (sent["groupName"], sent["jobType"], sent["tags"]) == ("toys", "toy", ["toy", "2x3"])
    assert summary_of(run).items() <= wandb_server.summaries[_id(run)].items()
    (file,) = (run / "evaluations").glob("*.json")
    assert f"evaluations/{file.name}" in wandb_server.saved[_id(run)]


def test_runs_in_training_and_damaged_ones_are_left_alone(runs: Path, wandb_server, capsys):
    with (runs / "toy1" / LOCK_FILE).open("w") as lock:
        take_lock(lock)
        assert main(["wandb", "sync"]) == 0
    assert "runs/toy1: in training, so it is left alone" in capsys.readouterr().out
    with (runs / "toy1" / METRICS_FILE).open("a") as file:
        file.write("{\n")
    assert main(["wandb", "sync"]) == 0
    assert "warning: runs/toy1 is left out: runs/toy1/metrics.jsonl, line" in capsys.readouterr().err
    assert list(wandb_server.rows) == [_id(runs / "toy2")]
    assert wandb_server.env_steps(_id(runs / "toy2")) == _env_steps(runs / "toy2")


def test_a_failed_upload_leaves_the_next_run_its_own_rows(runs: Path, wandb_server, monkeypatch, capsys):
    def fail_for_one(folder: Path, row: Row) -> Row:
        if folder.name == "toy1":
            raise OSError("no space")
        return row

    monkeypatch.setattr("launch.report.wandb.sync.with_media", fail_for_one)
    assert main(["wandb", "sync"]) == 0
    assert "warning: runs/toy1 is left out: wandb cannot upload it (no space)" in capsys.readouterr().err
    assert wandb_server.env_steps(_id(runs / "toy1")) == []
    assert wandb_server.env_steps(_id(runs / "toy2")) == _env_steps(runs / "toy2")
    assert main(["wandb", "sync", "runs/toy1"]) == 2
    assert wandb.run is None


def test_a_damaged_mark_of_an_upload_is_no_mark(runs: Path, wandb_server, capsys):
    for name, mark in (("toy1", b"garbage"), ("toy2", b"\xff[]")):
        (runs / name / "wandb").mkdir(exist_ok=True)
        (runs / name / "wandb" / "uploaded.json").write_bytes(mark)
    assert main(["wandb", "sync"]) == 0
    for run in (runs / "toy1", runs / "toy2"):
        assert wandb_server.env_steps(_id(run)) == _env_steps(run)


def test_without_a_key_nothing_is_sent(runs: Path, monkeypatch, mistake):
    instead = "`muzero2048 wandb rebuild` writes a run for a later upload"
    assert mistake("wandb sync") == f"WANDB_MODE is disabled: unset it; {instead}"
    monkeypatch.delenv("WANDB_MODE")
    monkeypatch.setenv("HOME", str(runs))  # no .netrc
    assert "wandb has no key: run `wandb login` or set WANDB_API_KEY;" in mistake("wandb sync")
