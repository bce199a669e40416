"""`muzero2048 diagnose` as a user sees it: a table by depth, one JSON object, and one line for each mistake."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import toy

from launch import progress
from launch.cli import main

ROOT = Path(__file__).parents[4]


def test_the_table_has_a_row_for_each_depth(toy_yaml: Path, capsys):
    main(["train", "toy.yaml"])
    capsys.readouterr()
    words = ["diagnose", "runs/one", "--boards", "20", "--depth", "3", "--games", "0", "--seed", "4"]
    assert main(words) == 0
    first, second, headings, *rows = capsys.readouterr().out.splitlines()
    assert [first, second] == ["one after 100 moves", "20 boards of its own play"]
    assert headings.split(" | ")[:2] == ["depth", "corr. of V"]
    assert [row.split(" | ")[0].strip() for row in rows] == ["0", "1", "2", "3"]
    assert rows[2].split(" | ")[1].strip() == "8.00"  # 0.1 * 20 + 4 + 2
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["depths"]["reward_error"] == [6.0, 7.0, 8.0, 9.0]


def test_mistakes_are_one_line(toy_yaml: Path, mistake, monkeypatch: pytest.MonkeyPatch):
    for words, line in {
        "--boards 1": "--boards 1: give 2 or more",
        "--depth 0": "--depth 0: give 1 to 64",
        "--games 1": "--games 1: give 2 or more, or 0 for no values",
        "--games 0 --solution x": "--solution x has no effect with --games 0",
        "--games 0 --simulations 4": "--simulations 4 has no effect with --games 0",
    }.items():
        assert line in mistake(f"diagnose runs/none {words}")
    main(["train", "toy.yaml"])
    monkeypatch.setattr(toy, "SPEC", toy.SPEC._replace(diagnose=""))
    assert "the learner 'toy' has nothing to diagnose without --games" in mistake("diagnose runs/one --games 0")


@pytest.mark.slow
def test_values_beside_exact_values(run: str, last_json):
    assert main(["solve", "--board", "2x3", "--out", "2x3.solution"]) == 0
    words = ["diagnose", run, "--boards", "2", "--depth", "1", "--games", "40", "--solution", "2x3.solution"]
    found = last_json(*words)["values"]
    assert found["games"] == 40
    assert found["discount"] == 1.0
    assert 0.5 < found["correlation"] < 0.9
    assert 0.5 < found["exact_correlation"] < 0.9
    first = found["tables"]["sum of tiles"][0]
    assert first["exact"] == pytest.approx(476, abs=6)  # the best score is 480, and these are the first positions
    assert first["gain"] + first["interval"] < first["exact"]  # of better play than this one
    without = last_json(*words[:-2])["values"]  # the same games again
    assert without["correlation"] == found["correlation"]
    assert without["exact_correlation"] is None
    assert without["tables"]["tenth"][3]["gain"] == found["tables"]["tenth"][3]["gain"]


@pytest.mark.slow
def test_the_games_of_values_are_counted(run: str, capsys, monkeypatch: pytest.MonkeyPatch):
    """The line of the games is shown, and no line that is about the command as a whole in its place."""

    @contextmanager
    def at_the_end(seconds: float, show: Callable[[], None]) -> Iterator[None]:
        yield
        show()

    monkeypatch.setattr(progress, "periodically", at_the_end)
    assert main(["diagnose", run, "--boards", "2", "--depth", "1", "--games", "3"]) == 0
    assert "3 of 3" in capsys.readouterr().err.splitlines()[-1]


def test_trees_of_an_ntuple_network(capsys, mistake):
    words = ["run.name=one", "run.final_games=5", "ntuple.env_steps=2000", "ntuple.report_env_steps=2000"]
    assert main(["train", str(ROOT / "configs" / "ntuple" / "2x2.yaml"), *words]) == 0
    capsys.readouterr()
    assert main(["diagnose", "runs/one", "--boards", "20", "--depth", "2", "--games", "3"]) == 0
    _, _, headings, *rows = capsys.readouterr().out.splitlines()
    assert [word.strip() for word in headings.split("|")] == ["depth", "nodes", "most nodes", "negative leaves"]
    assert [word.strip() for word in rows[0].split("|")] == ["0", "1.0", "1", "0.0000"]
    assert rows[3].startswith("values of 3 games, mean score ")
    assert rows[-1].startswith("correlation at one position of each game: of V and G ")
    assert "give --depth 5 or less" in mistake("diagnose runs/one")
    assert "leave out --simulations 5" in mistake("diagnose runs/one --simulations 5")
