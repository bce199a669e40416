import os
from pathlib import Path

import pytest

from launch.errors import UserError
from launch.report.selection import select
from tests.launch.report.made_runs import write_run


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    folder = tmp_path / "runs"
    write_run(folder / "a1", [(1, 1.0)], group="a", seed=1, size=3)
    write_run(folder / "a2", [(1, 1.0)], group="a", seed=2, size=4)
    write_run(folder / "b1", [(1, 1.0)], group="b", seed=1, name_of_it="'3'")
    return folder


def _names(found) -> list[str]:
    return [folder.name for folder in found]


def test_runs_are_named_by_folder_group_and_pattern(runs: Path):
    assert _names(select([], [], None, runs)) == ["a1", "a2", "b1"]
    assert _names(select([str(runs)], [], None, Path("nowhere"))) == ["a1", "a2", "b1"]
    assert _names(select([str(runs / "b1"), "a"], [], None, runs)) == ["b1", "a1", "a2"]
    assert _names(select([f"{runs}/*1"], [], None, runs)) == ["a1", "b1"]
    assert _names(select(["a", str(runs / "a2")], [], None, runs)) == ["a1", "a2"]
    write_run(runs / "a3", [(1, 1.0)], group="a/rate=2", seed=1)  # of a grid
    write_run(runs / "ab", [(1, 1.0)], group="ab", seed=1)
    assert _names(select(["a"], [], None, runs)) == ["a1", "a2", "a3"]
    write_run(runs / "n1", [(1, 1.0)], group="2048", seed=1)  # a number in YAML
    assert _names(select(["a"], [], None, runs)) == ["a1", "a2", "a3"]
    assert _names(select(["2048"], [], None, runs)) == ["n1"]


def test_runs_are_chosen_by_values_of_their_configs(runs: Path):
    assert _names(select([], ["run.seed=1"], None, runs)) == ["a1", "b1"]
    assert _names(select([], ["run.seed=1", "run.group=a"], None, runs)) == ["a1"]
    assert _names(select([], ["toy.size=3"], None, runs)) == ["a1"]
    assert _names(select([], ["toy.name_of_it=3"], None, runs)) == ["b1"]  # a text that looks like a number


def test_a_value_is_that_of_an_override(runs: Path):
    write_run(runs / "c1", [(1, 1.0)], group="c", network="['4x6']", rate="0.1", start="null", tc="true")
    for condition in ("toy.network=4x6", "toy.network=[4x6]", "toy.rate=1e-1", "toy.tc=true", "run.group=c"):
        assert _names(select([], [condition], None, runs)) == ["c1"]
    assert _names(select([], ["toy.start=null"], None, runs)) == ["a1", "a2", "b1", "c1"]  # three lack the key
    assert _names(select([], ["toy.network=null"], None, runs)) == ["a1", "a2", "b1"]


def test_a_run_with_two_paths_is_one_run(runs: Path):
    (runs.parent / "link").symlink_to(runs / "a1")
    paths = [str(runs / "a1"), f"{runs}/../runs/a1", str(runs.parent / "link"), str(runs / "a2"), "a"]
    assert list(select(paths, [], None, runs)) == [runs / "a1", runs / "a2"]


def test_runs_are_chosen_by_the_time_of_their_last_row(runs: Path):
    os.utime(runs / "a1" / "metrics.jsonl", (0, 946_728_000))  # 2000-01-01 12:00 UTC
    assert _names(select([], [], "2010-01-01", runs)) == ["a2", "b1"]
    assert _names(select([], [], "1999-12-30T08:00", runs)) == ["a1", "a2", "b1"]


def test_other_folders_and_damaged_configs_are_named_and_left_out(runs: Path, capsys):
    (runs / "pictures").mkdir()
    (runs / "began").mkdir()
    (runs / "began" / "config.yaml").write_text("learner: toy\n")
    for name, text in (("torn", "learner: [toy"), ("foreign", "version: 3\n"), ("binary", "\0\1")):
        write_run(runs / name, [(1, 1.0)])
        (runs / name / "config.yaml").write_text(text)
    assert _names(select([], [], None, runs)) == ["a1", "a2", "b1"]
    said = capsys.readouterr().err.splitlines()
    assert [line.split(" is left out: ")[0] for line in said] == [
        f"warning: {runs / name}" for name in ("began", "binary", "foreign", "pictures", "torn")
    ]
    assert "it has no metrics.jsonl" in said[0]
    assert "it has no learner" in said[2]
    assert "it has no config.yaml" in said[3]


@pytest.mark.parametrize(
    ("names", "where", "since", "message"),
    [
        (["c"], [], None, "c: no run folder, pattern of run folders, or group with a readable run"),
        ([], ["run.seed=9"], None, "no run has run.seed=9"),
        ([], ["seed=9"], None, "--where seed: no run has this key; the keys are such as run.seed"),
        ([], ["run.seed=[1"], None, "--where run.seed=[1: '[1' is no value of a config"),
        ([], ["=9"], None, "--where has an empty key; give keys such as run.group,run.seed, without a comma at an end"),
        ([], ["run.seed"], None, "--where run.seed: give key=value, such as ntuple.network=4x6"),
        ([], [], "yesterday", "--since yesterday: give a date or time such as 2026-11-24 or 2026-11-24T08:00"),
        ([], [], "2999-01-01", "no run was written since 2999-01-01; give an earlier --since"),
    ],
)
def test_a_selection_without_runs_is_an_error(runs: Path, names, where, since, message: str):
    with pytest.raises(UserError) as error:
        select(names, where, since, runs)
    assert message in str(error.value)


def test_an_empty_runs_folder_is_an_error(tmp_path: Path):
    with pytest.raises(UserError, match="no run folder"):
        select([], [], None, tmp_path / "runs")
