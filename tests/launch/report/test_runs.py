import json
from pathlib import Path

import pytest

from launch.experiment.metrics import TILES
from launch.report.runs import Run, read_runs
from launch.report.selection import select
from tests.launch.report.made_runs import write_evaluation, write_run


@pytest.fixture
def result_file() -> Path:
    """Write two runs with a result file each; return the result file of the second."""
    for name in ("a", "b"):
        write_evaluation(write_run(Path("runs", name), [(1, 1.0), (2, 2.0)], group=name), 5.0, 1.0)
    (file,) = Path("runs/b/evaluations").iterdir()
    return file


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("score_mean", value) for value in (float("nan"), "12", True)),
        *(("games", value) for value in ("x", 1)),
        *(("training_games", value) for value in (None, -1)),
        *(("reach", value) for value in ({}, {str(tile): 2.0 for tile in TILES})),
        *(("board", value) for value in (44, "9x9")),
        *(("score_bins", value) for value in ({"x": 1}, {"1000000": 1})),
        *(("wall_hours", float("nan")), ("env_steps", None), ("search", 5), ("moves_per_second", 0)),
        *(("score_max", 5.5), ("max_tiles", 3), ("search_config", 3), ("command", None)),
    ],
)
def test_a_run_with_a_damaged_result_file_is_named_and_left_out(result_file: Path, capsys, key: str, value: object):
    result_file.write_text(json.dumps(json.loads(result_file.read_text()) | {key: value}))
    (error,) = _left_out(read_runs(select([], [], None, Path("runs"))), capsys)
    said = f"{result_file}: its {key} is not that of an evaluation; delete the file and evaluate again"
    assert error == f"warning: runs/b is left out: {said}"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"env_steps": None}, "its env_steps is no number"),
        ({"games": "5"}, "its games is no number"),
        ({"updates": True}, "its updates is no number"),
        ({"wall_hours": float("nan")}, "not JSON"),
        ({"eval/score_low": ...}, "not a row of metrics, it has no eval/score_low"),
        ({"eval/score_high": ...}, "not a row of metrics, it has no eval/score_high"),
        ({"eval/games": ...}, "not a row of metrics, it has no eval/games"),
        ({"eval/score_mean": ...}, "not a row of metrics, it has no eval/score_mean"),
        ({"games": ...}, "not a row of metrics, it has no games"),
    ],
)
def test_a_run_with_a_damaged_row_is_named_and_left_out(result_file: Path, capsys, changes: dict, said: str):
    metrics = Path("runs/b/metrics.jsonl")
    first, second = metrics.read_text().splitlines()
    row = {key: value for key, value in (json.loads(second) | changes).items() if value is not ...}
    metrics.write_text(f"{first}\n{json.dumps(row)}\n")
    (error,) = _left_out(read_runs(select([], [], None, Path("runs"))), capsys)
    assert error == f"warning: runs/b is left out: runs/b/metrics.jsonl, line 2: {said}; remove the line"


def _left_out(runs: list[Run], capsys) -> list[str]:
    """Return the warnings; the first run is read."""
    assert [run.name for run in runs] == ["a"]
    return capsys.readouterr().err.splitlines()
