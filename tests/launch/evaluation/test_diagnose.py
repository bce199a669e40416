"""`muzero2048 diagnose` as a user sees it: a table by depth, one JSON object, and one line for each mistake."""

import json
from pathlib import Path

import pytest
import toy

from launch.cli import main


def test_the_table_has_a_row_for_each_depth(toy_yaml: Path, capsys):
    main(["train", "toy.yaml"])
    capsys.readouterr()
    assert main(["diagnose", "runs/one", "--boards", "20", "--depth", "3", "--seed", "4", "--json"]) == 0
    first, headings, *rows, last = capsys.readouterr().out.splitlines()
    assert first == "one after 100 moves: 20 boards of its own play"
    assert headings.split(" | ")[:2] == ["depth", "corr. of V"]
    assert [row.split(" | ")[0].strip() for row in rows] == ["0", "1", "2", "3"]
    assert rows[2].split(" | ")[1].strip() == "8.00"  # 0.1 * 20 + 4 + 2
    assert json.loads(last)["depths"]["reward_error"] == [6.0, 7.0, 8.0, 9.0]


@pytest.mark.parametrize(
    ("words", "mistake"),
    [(["--boards", "1"], "--boards 1: give 2 or more"), (["--depth", "0"], "--depth 0: give 1 to 64")],
)
def test_mistakes_are_one_line(words: list[str], mistake: str, toy_yaml: Path, capsys):
    assert main(["diagnose", "runs/none", *words]) == 2
    assert mistake in capsys.readouterr().err


def test_a_learner_without_a_model_is_refused(toy_yaml: Path, capsys, monkeypatch: pytest.MonkeyPatch):
    main(["train", "toy.yaml"])
    monkeypatch.setattr(toy, "SPEC", toy.SPEC._replace(diagnose=""))
    assert main(["diagnose", "runs/one"]) == 2
    assert "the learner 'toy' has no learned model" in capsys.readouterr().err
