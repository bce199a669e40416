"""The evaluation of all kept checkpoints of a run."""

import csv
import json
import shutil
from pathlib import Path

import pytest
from toy import ToyPlayer

from launch.cli import main
from launch.evaluation import evaluate
from launch.evaluation.seeds import final_evaluation_seed, snapshot_evaluation_seed, training_evaluation_seed
from launch.signals import STOPPED

KEPT = [20, 40, 60, 80, 90, 100]  # snapshots each 20 moves, and the two newest checkpoints
WORDS = ["evaluate", "runs/one", "--snapshots", "--games", "5"]


@pytest.fixture
def run(toy_yaml: Path) -> Path:
    """Train a run that is evaluated at 30, 60 and 90 moves and at its end, at 100."""
    main(["train", "toy.yaml", "run.seed=3", "run.snapshot_env_steps=20"])
    return Path("runs/one")


def _checkpoint(run: Path, env_steps: int) -> Path:
    snapshot = run / "snapshots" / str(env_steps)
    return snapshot if snapshot.exists() else run / "checkpoints" / str(env_steps)


def _expected_score(run: Path, env_steps: int, games: int, seed: int) -> float:
    """The mean of seed % 1000 + weight + (0, 100, 200, ...)."""
    weight = json.loads((_checkpoint(run, env_steps) / "toy.json").read_text())["weight"]
    return seed % 1000 + round(weight) + 50 * (games - 1)


def _rows(last_json, *words: str) -> list[dict]:
    return last_json(*WORDS, *words)["rows"]


def test_each_kept_checkpoint_plays_games_of_its_own(run: Path, last_json):
    before = set((run / "evaluations").iterdir())
    rows = _rows(last_json)
    assert [row["env_steps"] for row in rows] == KEPT
    assert [row["path"] for row in rows] == [str(_checkpoint(run, env_steps)) for env_steps in KEPT]
    seeds = [snapshot_evaluation_seed(3, env_steps) for env_steps in KEPT]
    assert [row["seed"] for row in rows] == seeds
    assert len({*seeds, training_evaluation_seed(3), final_evaluation_seed(3)}) == len(KEPT) + 2
    assert [row["score_mean"] for row in rows] == [
        _expected_score(run, env_steps, 5, seed) for env_steps, seed in zip(KEPT, seeds, strict=True)
    ]
    files = set((run / "evaluations").iterdir()) - before
    names = {f"{row['env_steps']}-1ply-5games-seed{row['seed']}.json" for row in rows}
    assert {file.name for file in files} == names
    for row in rows:
        result = json.loads((run / f"evaluations/{row['env_steps']}-1ply-5games-seed{row['seed']}.json").read_text())
        assert row == {"path": row["path"], **result, "training": row["training"]}


def test_the_curve_stands_beside_the_one_seen_in_training(run: Path, capsys, last_json):
    rows = _rows(last_json)
    assert rows[0]["training"] is None  # the first evaluation was at 30 moves
    assert [row["training"]["env_steps"] for row in rows[1:]] == [30, 60, 60, 90, 100]
    seen = {60: _expected_score(run, 60, 3, training_evaluation_seed(3)),
            90: _expected_score(run, 90, 3, training_evaluation_seed(3)),
            100: _expected_score(run, 100, 4, final_evaluation_seed(3))}  # fmt: skip
    for row in rows[2:]:
        assert row["training"]["score_mean"] == seen[row["training"]["env_steps"]]
    assert main(WORDS) == 0
    lines = capsys.readouterr().out.splitlines()[-7:]
    assert " ".join(lines[0].split()) == "env_steps in training at env_steps fresh 95% interval games seed"
    assert lines[1].split()[:3] == ["20", "-", "-"]
    # 0, 100, ..., 400 of five games: t(0.975, 4) = 2.77645, s = 158.114, so 196.32 at each side of the mean
    fresh = rows[3]["score_mean"]
    ends = f"{fresh - 196.32:,.0f} to {fresh + 196.32:,.0f}"
    assert " ".join(lines[4].split()) == f"80 {seen[60]:,.0f} 60 {fresh:,.0f} {ends} 5 {rows[3]['seed']}"


def test_a_finished_evaluation_is_not_played_again(run: Path, last_json, monkeypatch):
    first = _rows(last_json)
    play, played = ToyPlayer.play, []
    monkeypatch.setattr(ToyPlayer, "play", lambda self, games, seed, _: played.append(seed) or play(self, games, seed))
    assert _rows(last_json) == first
    assert played == []
    files = [run / f"evaluations/{row['env_steps']}-1ply-5games-seed{row['seed']}.json" for row in first[:2]]
    files[0].unlink()
    files[1].write_text(files[1].read_text().replace('"updates": 40', '"updates": 39'))  # of another training
    assert [row["score_mean"] for row in _rows(last_json)] == [row["score_mean"] for row in first]
    assert played == [first[0]["seed"], first[1]["seed"]]


def test_a_seed_of_the_user_replaces_the_training_seed(run: Path, last_json):
    assert [row["seed"] for row in _rows(last_json, "--seed", "4")] == [snapshot_evaluation_seed(4, n) for n in KEPT]
    assert _rows(last_json, "--seed", "3") == _rows(last_json)


def test_a_csv_file_has_a_row_for_each_checkpoint(run: Path, last_json):
    rows = _rows(last_json, "--csv", "curve.csv")
    with Path("curve.csv").open(newline="") as file:
        assert [(row["env_steps"], row["score_mean"]) for row in csv.DictReader(file)] == [
            (str(row["env_steps"]), str(row["score_mean"])) for row in rows
        ]


def test_a_damaged_checkpoint_is_left_out_with_a_warning(run: Path, capsys):
    (run / "snapshots/40/toy.json").write_text("{}")
    (run / "snapshots/100/toy.json").unlink()
    capsys.readouterr()
    assert main([*WORDS, "--json"]) == 0
    captured = capsys.readouterr()
    rows = json.loads(captured.out.splitlines()[-1])["rows"]
    assert [row["env_steps"] for row in rows] == [20, 60, 80, 90, 100]
    assert rows[-1]["path"] == "runs/one/checkpoints/100"  # the other copy of the same weights
    warnings = captured.err.splitlines()
    assert len(warnings) == 2
    assert all(line.startswith("warning: runs/one/snapshots/") and line.endswith("it is left out") for line in warnings)


def test_mistakes(run: Path, mistake):
    for words, line in {
        "random": "--snapshots evaluates the checkpoints of one run, not random; give one RUN",
        "runs/one runs/two": "of one run, not runs/one runs/two; give one RUN",
        "runs/one/checkpoints": "runs/one/checkpoints is not a run folder: it has no config.yaml; --snapshots needs",
        "runs/one --part 1/2": "--part is for one player, and here are all checkpoints of",
        "runs/one --search mcts": "runs/one/snapshots/20: mcts searches over n-tuple values",
    }.items():
        assert line in mistake(f"evaluate --snapshots --games 5 {words}")
    shutil.rmtree(run / "snapshots")
    shutil.rmtree(run / "checkpoints")
    assert mistake("evaluate --snapshots runs/one").startswith("runs/one holds no good checkpoint; train first")


def test_a_stop_leaves_no_table(run: Path, capsys, monkeypatch):
    monkeypatch.setattr(evaluate.PlayerEvaluation, "play", lambda self: None)
    capsys.readouterr()
    assert main([*WORDS, "--csv", "curve.csv"]) == STOPPED
    assert capsys.readouterr().out == ""
    assert not Path("curve.csv").exists()
