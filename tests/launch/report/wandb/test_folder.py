import json
from pathlib import Path

from launch.experiment.metrics_file import METRICS_FILE
from launch.report.wandb.folder import summary_of


def _row(env_steps: int, **values: float) -> dict[str, float]:
    return {"env_steps": env_steps, "games": env_steps // 10, "updates": 0, "wall_hours": env_steps / 100, **values}


def _result(folder: Path, name: str, search: str, env_steps: int, score: float) -> None:
    result = {"search": search, "env_steps": env_steps, "games": 9, "score_mean": score}
    (folder / "evaluations" / name).write_text(json.dumps(result | {"score_low": score - 1, "score_high": score + 1}))


def test_the_summary_has_the_best_and_the_last_evaluation_and_the_last_result_of_each_search(tmp_path: Path, capsys):
    scores = [(10, 5.0), (20, 9.0), (30, 7.0)]
    rest = {"eval/score_low": 1.0, "eval/score_high": 10.0, "eval/games": 9}
    rows = [_row(steps, **{"eval/score_mean": score, **rest}) for steps, score in scores] + [_row(40)]
    (tmp_path / METRICS_FILE).write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "evaluations").mkdir()
    _result(tmp_path, "a.json", "1ply", 20, 100.0)
    _result(tmp_path, "b.json", "1ply", 40, 90.0)
    _result(tmp_path, "c.json", "expectimax-3ply", 20, 300.0)
    (tmp_path / "evaluations" / "d.json").write_text("{")
    found = summary_of(tmp_path)
    axes = {"best/env_steps": 20, "best/games": 2, "best/wall_hours": 0.2}
    axes |= {"last/env_steps": 30, "last/games": 3, "last/wall_hours": 0.3}
    results = {
        f"evaluation/{search}/{key}": value
        for search, steps, score, file in (("1ply", 40, 90.0, "b"), ("expectimax-3ply", 20, 300.0, "c"))
        for key, value in {
            "env_steps": steps, "games": 9, "score_mean": score, "score_low": score - 1, "score_high": score + 1,
            "file": f"evaluations/{file}.json",
        }.items()
    }  # fmt: skip
    assert found == {"best/score_mean": 9.0, "last/score_mean": 7.0} | axes | results
    assert "d.json is left out of the summary" in capsys.readouterr().err
