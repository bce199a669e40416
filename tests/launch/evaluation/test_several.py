"""Several players in one command: each plays as alone; then one table and one CSV file."""

import csv
import json
import shutil
from pathlib import Path

import pytest
from toy import ToyPlayer

from launch.cli import main
from launch.errors import UserError
from launch.evaluation import evaluate
from launch.experiment import registry
from launch.signals import STOPPED

WEIGHTS = {"a": 40, "b=2": 90}  # the weights are set by hand: the mean of 4 games is seed % 1000 + 150 + weight


@pytest.fixture
def runs(toy_yaml: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Train two runs, whose players then have the WEIGHTS."""
    for name in WEIGHTS:
        main(["train", "toy.yaml", f"run.name={name}", "run.save_minutes=0"])

    def load(learner: str, checkpoint: Path, *_: object) -> ToyPlayer:
        return ToyPlayer(WEIGHTS[checkpoint.parts[-3]])

    monkeypatch.setattr(registry, "restore_player", load)
    return [f"runs/{name}" for name in WEIGHTS]


def _results(runs: list[str], seed: int) -> list[dict]:
    """Return the results of the runs in their files, and delete these."""
    found = []
    for run in runs:
        file = Path(run, f"evaluations/100-1ply-4games-seed{seed}.json")
        found.append(json.loads(file.read_text()) | {"command": "", "time": ""})
        file.unlink()
    return found


def test_each_player_plays_as_alone(runs: list[str], capsys):
    for run in runs:
        assert main(["evaluate", run, "--games", "4", "--seed", "7"]) == 0
    alone = _results(runs, 7)
    blocks = capsys.readouterr().out.splitlines()
    assert ", 1ply) after " in blocks[0]
    assert main(["evaluate", *runs, "--games", "4", "--seed", "7"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-3 - len(blocks) : -3] == blocks[-len(blocks) :]  # the report of each, then head and two rows
    assert main(["evaluate", *runs, "--games", "4", "--seed", "7", "--json"]) == 0
    assert _results(runs, 7) == alone
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row.pop("path") for row in rows] == runs  # in the order of the command
    assert [row | {"command": "", "time": ""} for row in rows] == alone
    assert [result["score_mean"] for result in alone] == [7 + 150 + 40, 7 + 150 + 90]


def test_the_table_has_the_best_player_first(runs: list[str], capsys):
    assert main(["evaluate", *runs, "--games", "4", "--seed", "7"]) == 0
    head, first, second = capsys.readouterr().out.splitlines()[-3:]
    assert " ".join(head.split()) == "player board search games mean 95% interval median max 2048 4096 8192 moves/s"
    # the interval of 0, 100, 200, 300: t(0.975, 3) = 3.18245, s = 129.099, so 205.43 at each side of the mean
    # games have 9 + 19 + 29 + 39 and 4 more for the second player's 90 of weight, in half a second
    assert " ".join(first.split()) == "runs/b=2 2x3 1ply 4 247 42 to 452 247 397 75.0% 50.0% 25.0% 192"
    assert " ".join(second.split()) == "runs/a 2x3 1ply 4 197 -8 to 402 197 347 75.0% 50.0% 25.0% 152"
    assert len(head) == len(first) == len(second)


def test_the_table_fits_into_a_terminal(runs: list[str], capsys, monkeypatch):
    for name, value in {"COLUMNS": "80", "FORCE_COLOR": "1", "TERM": "dumb"}.items():
        monkeypatch.setenv(name, value)
    long = "runs/quick-ntuple-step_size.alpha=0.05-seed1"
    shutil.move(runs[0], long)
    monkeypatch.setitem(WEIGHTS, Path(long).name, 40)
    for words in ([long, runs[1]], [long, "--snapshots"]):
        capsys.readouterr()
        assert main(["evaluate", *words, "--games", "4"]) == 0
        lines = capsys.readouterr().out.splitlines()
        begin = 1 + max(place for place, line in enumerate(lines) if line.startswith("mean "))
        assert "95%" in lines[begin]
        assert max(map(len, lines[begin:])) <= 80


def test_a_csv_file_has_a_row_for_each_player(runs: list[str], capsys):
    words = ["evaluate", "random", *runs, "--board", "2x2", "--games", "4", "--seed", "7", "--csv", "scores.csv"]
    assert main(words) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("random")  # 2x2 comes after the larger board
    with Path("scores.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["path"] for row in rows] == ["random", *runs]
    assert rows[0]["run"] == rows[0]["env_steps"] == ""
    assert (rows[0]["board"], rows[0]["search"], rows[0]["games"]) == ("2x2", "random", "4")
    expected = {"run": "b=2", "learner": "toy", "env_steps": "100", "board": "2x3", "seed": "7", "score_mean": "247.0",
                "score_max": "397", "reach_4096": "0.5", "reach_131072": "0.0"}  # fmt: skip
    assert expected.items() <= rows[2].items()
    assert None not in rows[0]  # no row is longer than the head


def test_one_player_has_a_csv_file_and_no_table(runs: list[str], capsys):
    assert main(["evaluate", runs[0], "--games", "4", "--seed", "7", "--csv", "scores.csv"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("mean 197 (95% interval")
    assert len(Path("scores.csv").read_text().splitlines()) == 2


def test_a_damaged_player_is_named_before_games_are_played(runs: list[str], mistake):
    file = Path(runs[1], "checkpoints/100/toy.json")
    file.write_bytes(file.read_bytes()[:5])
    assert mistake("evaluate", runs[0], str(file.parent)).startswith(f"{file} has 5 bytes instead of ")


def test_a_foreign_player_is_named_before_games_are_played(runs: list[str], mistake, monkeypatch):
    Path("empty").mkdir()
    assert mistake("evaluate", runs[0], "empty").startswith("empty holds no checkpoint; ")
    load = registry.restore_player

    def refuse(learner: str, checkpoint: Path, *others: object) -> ToyPlayer:
        if "b=2" in checkpoint.parts:
            raise UserError(f"{checkpoint}: toy.json is of a 3x3 board")
        return load(learner, checkpoint, *others)

    monkeypatch.setattr(registry, "restore_player", refuse)
    before = sorted(Path(runs[0], "evaluations").iterdir())
    assert mistake("evaluate", *runs, "--games", "5") == "runs/b=2/checkpoints/100: toy.json is of a 3x3 board"
    assert sorted(Path(runs[0], "evaluations").iterdir()) == before


def test_mistakes_in_a_set_of_players(runs: list[str], mistake):
    advice = "is for one player, and here are 2 players; evaluate one PATH at a time, or leave it out"
    for option in ("--records", "--keep FILE", "--part", "--solution"):
        assert mistake("evaluate", *runs, f"{option.split()[0]}=1/2") == f"{option} {advice}"
    again = f"{runs[0]}/checkpoints/100"
    assert mistake("evaluate", *runs, again) == f"{again} is given twice; give each player once"
    assert mistake("evaluate random", runs[0], "random") == "random is given twice; give each player once"
    assert "a checkpoint holds its own board" in mistake("evaluate", *runs, "--board", "2x2")
    Path("old.csv").write_text("old")
    assert mistake("evaluate", *runs, "--csv=old.csv") == "old.csv is there already: name another --csv, or remove it"
    assert "there is no folder" in mistake("evaluate", *runs, "--csv", "none/new.csv")
    assert "--csv /proc/new.csv: cannot write to /proc: " in mistake("evaluate", *runs, "--csv", "/proc/new.csv")


def test_a_run_whose_name_has_an_equals_sign_is_a_path(runs: list[str], mistake):
    shutil.move("runs/b=2", "b=2")
    line = mistake("evaluate", runs[0], "b=2", "search.plies=3")
    assert line == "runs/a/checkpoints/100: 1ply has no settings; leave out search.plies=3"
    assert mistake("evaluate", runs[0], "c=2") == "runs/a/checkpoints/100: 1ply has no settings; leave out c=2"
    assert "there is no runs/c=2" in mistake("evaluate", runs[0], "runs/c=2")


def test_a_stop_leaves_no_table_and_no_csv_file(runs: list[str], capsys, monkeypatch):
    monkeypatch.setattr(evaluate.PlayerEvaluation, "play", lambda self: None)
    capsys.readouterr()
    assert main(["evaluate", *runs, "--games", "4", "--csv", "scores.csv"]) == STOPPED
    assert capsys.readouterr().out == ""
    assert not Path("scores.csv").exists()
