import json
from pathlib import Path

import pytest
from full_disk import full_beyond

from launch.errors import UserError
from launch.experiment.metrics_file import METRICS_FILE, MetricsFile, drop_rows_after, read_metrics


def _row(env_steps: int, **values: float) -> dict[str, float]:
    return {"env_steps": env_steps, "games": env_steps // 10, "updates": env_steps, "wall_hours": 0.5, **values}


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


def test_a_full_disk_is_told_with_the_name_of_the_file(tmp_path: Path):
    file = MetricsFile(tmp_path)
    file.append(_row(10))
    size = (tmp_path / METRICS_FILE).stat().st_size
    with full_beyond(size + 9):
        with pytest.raises(UserError) as error:
            file.append(_row(20))
        file.close()
    assert str(error.value).startswith(f"cannot write {tmp_path / METRICS_FILE}: File too large; free disk space, ")
    assert read_metrics(tmp_path) == [_row(10)]


def test_rows_after_the_checkpoint_are_dropped_with_a_half_written_last_line(tmp_path: Path):
    lines = [json.dumps(_row(env_steps)) + "\n" for env_steps in (10, 20, 20, 30)]
    (tmp_path / METRICS_FILE).write_text("".join(lines) + '{"env_steps": 4')
    drop_rows_after(tmp_path, 20)
    assert (tmp_path / METRICS_FILE).read_text() == "".join(lines[:3])
    drop_rows_after(tmp_path, 0)
    assert (tmp_path / METRICS_FILE).read_text() == ""
