import base64
import json
import re
from pathlib import Path

import numpy as np
import pytest

from launch.cli import main
from launch.comparison.curves import Run, reach_curves, read_run, score_curves
from launch.comparison.searches import search_curves
from launch.learners import registry

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def runs(toy_yaml: Path, monkeypatch) -> list[str]:
    """Train two seeds of one experiment, and a run of another learner with 100 times the moves; return the folders."""
    monkeypatch.setitem(registry.LEARNERS, "other", registry.LEARNERS["toy"])
    main(["train", "toy.yaml", "run.name=a", "run.seed=1"])
    main(["train", "toy.yaml", "run.name=b", "run.seed=2", "toy.report_env_steps=9"])
    other = toy_yaml.read_text().replace("toy:", "other:").replace("learner: toy", "learner: other")
    Path("other.yaml").write_text(other)
    steps = ["other.env_steps=10_000", "other.report_env_steps=1000", "run.evaluate_env_steps=2000"]
    main(["train", "other.yaml", "run.name=c_x", *steps])
    return ["runs/a", "runs/b", "runs/c_x"]


def test_one_page_without_links_holds_both_curves_and_the_table(runs: list[str], capsys):
    assert main(["compare", *runs, "--out", "out", "--x", "games", "--tile", "4096"]) == 0
    assert sorted(path.name for path in Path("out").iterdir()) == ["index.html", "reach_4096.png", "score.png"]
    page = Path("out/index.html").read_text()
    assert not re.findall(r"(?:src|href|srcset)=\"(?!data:)", page)
    assert "http" not in page
    images = [base64.b64decode(data) for data in re.findall(r"data:image/png;base64,([^\"]+)", page)]
    assert len(images) == 4  # two figures, each light and dark
    assert all(image.startswith(PNG) for image in images)
    assert Path("out/score.png").read_bytes() in images
    experiments, rows = (re.findall(r"<tr><td>.*?</tr>", table) for table in page.split("<h2>")[1:])
    assert len(experiments) == 2
    assert len(rows) == 3
    for folder in runs:
        result = json.loads(next(Path(folder, "evaluations").glob("*.json")).read_text())
        (row,) = (row for row in rows if f"<b>{result['run']}</b>" in row)
        assert f"<b>{result['score_mean']:,.0f}</b>" in row
        assert f"<td>{result['learner']}</td>" in row
        assert "75.0%" in row
    assert "wrote out/index.html" in capsys.readouterr().out


def test_seeds_of_one_group_are_one_curve_and_learners_are_not_mixed(runs: list[str]):
    curves = score_curves([read_run(Path(run)) for run in runs], "env_steps")
    assert {curve.label for curve in curves} == {"toys (other), 1 seed", "toys (toy), 2 seeds"}
    assert next(curve.label for curve in curves) == "toys (other), 1 seed"  # the curve with the higher score is first


def _write_runs(folder: Path, points: dict[str, list[tuple[int, float]]]) -> list[Run]:
    """Write runs of one group with evaluations at (env_steps, score)."""
    for seed, (name, places) in enumerate(points.items()):
        (folder / name).mkdir()
        config = f"learner: toy\nrun: {{name: {name}, group: g, seed: {seed}}}\ntoy: {{}}\n"
        (folder / name / "config.yaml").write_text(config)
        rows = [
            {"env_steps": x, "eval/score_mean": y, "eval/score_low": y, "eval/score_high": y, "eval/games": 10}
            for x, y in places
        ]
        (folder / name / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return [read_run(folder / name) for name in points]


def test_the_band_of_seeds_is_the_interval_of_their_mean_where_all_have_been(tmp_path: Path):
    runs = _write_runs(tmp_path, {"a": [(10, 100.0), (30, 300.0)], "b": [(20, 100.0), (40, 140.0)]})
    (curve,) = score_curves(runs, "env_steps")
    # Both runs cover 20 to 30. Interpolated at 20 and 30, a is 200 and 300, b is 100 and 120. t(0.975, 1) = 12.7062.
    np.testing.assert_allclose(curve.x, [20, 30])
    np.testing.assert_allclose(curve.y, [150, 210])
    np.testing.assert_allclose(curve.high - curve.y, [12.7062 * 50, 12.7062 * 90], rtol=1e-5)
    np.testing.assert_allclose(curve.y - curve.low, curve.high - curve.y)


def test_the_band_of_rates_of_seeds_stays_a_rate_and_never_vanishes(tmp_path: Path):
    runs = [
        run._replace(rows=[{**row, "eval/reach_2048": 1.0} for row in run.rows])
        for run in _write_runs(tmp_path, {"a": [(10, 1.0)], "b": [(10, 1.0)]})
    ]
    (curve,) = reach_curves(runs, "env_steps", 2048)
    # Wilson's interval for 20 of 20 games: the lower end is 1 / (1 + 1.959964^2 / 20).
    np.testing.assert_allclose([*curve.y, *curve.low, *curve.high], [1.0, 0.838875, 1.0], atol=1e-5)


def test_final_evaluations_of_seeds_come_together(runs: list[str], capsys):
    main(["train", "toy.yaml", "run.name=d", "run.seed=3"])
    capsys.readouterr()
    assert main(["compare", *runs, "runs/d", "--out", "out"]) == 0
    captured = capsys.readouterr()
    results = [result for run in (*runs, "runs/d") for result in read_run(Path(run)).evaluations]
    toys = [result["score_mean"] for result in results if result["learner"] == "toy"]
    margin = 4.302653 * np.std(toys, ddof=1) / 3**0.5  # t(0.975, 2)
    mean = np.mean(toys)
    assert f"({mean - margin:,.0f} to {mean + margin:,.0f}), interval over 3 seeds, 12 games, 1ply" in captured.out
    (other,) = (result for result in results if result["learner"] == "other")
    interval = f"({other['score_low']:,.0f} to {other['score_high']:,.0f})"
    assert f"{interval}, 1 seed, interval of its games alone, 4 games, 1ply" in captured.out
    assert captured.err == ""
    page = Path("out/index.html").read_text()
    assert f"<b>{mean:,.0f}</b> ± {margin:,.0f}<small>over 3 seeds</small>" in page
    assert "<small>of its games alone</small>" in page


def test_seeds_that_share_their_games_cost_a_warning(runs: list[str], capsys):
    for run in runs[:2]:
        main(["evaluate", run, "--games", "50", "--seed", "7"])
    capsys.readouterr()
    assert main(["compare", *runs, "--out", "out"]) == 0
    assert capsys.readouterr().err == (
        "warning: seeds of toys (1ply) were evaluated on the same games, whose luck their interval leaves out;"
        " evaluate them again without --seed\n"
    )


def test_seeds_that_were_never_at_one_place_stay_apart(tmp_path: Path):
    curves = score_curves(_write_runs(tmp_path, {"a": [(10, 100.0)], "b": [(20, 50.0)]}), "env_steps")
    assert [(curve.label, *curve.x, *curve.y) for curve in curves] == [("a (toy)", 10, 100), ("b (toy)", 20, 50)]


def test_a_single_run_shows_the_interval_of_its_evaluations(runs: list[str]):
    run = read_run(Path(runs[0]))
    (curve,) = score_curves([run], "env_steps")
    np.testing.assert_allclose(curve.x, [30, 60, 90, 100])
    np.testing.assert_allclose(curve.low, [row["eval/score_low"] for row in run.rows])
    (reach,) = reach_curves([run], "env_steps", 2048)
    # Wilson's interval for 3 of 4: (0.75 + 0.480182 +- 1.959964 sqrt(0.046875 + 0.060023)) / 1.960365
    np.testing.assert_allclose(reach.y[-1], 0.75)
    np.testing.assert_allclose([reach.low[-1], reach.high[-1]], [0.300642, 0.954413], atol=1e-5)


def test_a_run_in_its_first_minutes_is_left_out_with_a_warning(runs: list[str], capsys):
    Path("runs/b/metrics.jsonl").write_text("")
    assert main(["compare", *runs, "--out", "out"]) == 0
    assert "warning: b has not been evaluated yet" in capsys.readouterr().err
    assert main(["compare", "runs/b", "--out", "out"]) == 2
    assert "none of these runs has been evaluated yet" in capsys.readouterr().err


def _evaluated(run: Run, searches: dict[str, tuple[float, float]]) -> Run:
    """Return the run with one evaluation for each search: mean score, moves/s."""
    evaluations = [
        {"run": run.name, "learner": run.learner, "search": name, "env_steps": 1, "games": 10, "score_mean": score}
        | {"score_low": score - 1, "score_high": score + 2, "moves_per_second": speed}
        for name, (score, speed) in searches.items()
    ]
    return run._replace(evaluations=evaluations)


def test_searches_are_curves_over_the_time_of_a_move(tmp_path: Path):
    (run,) = _write_runs(tmp_path, {"a": [(10, 100.0)]})
    mcts = {"mcts-n4": (5.0, 1e5), "mcts-n140": (9.0, 1e3), "mcts-n20": (7.0, 1e4)}
    mean = {f"mcts-n{n}-c=0.5-backup=mean": (float(n), 1e6 / n) for n in (1, 2, 3)}
    plies = {f"expectimax-p{p}": (10.0 * p, 10.0**-p) for p in (1, 2, 3)}
    others = {"1ply": (3.0, 1e6), "gumbel-n4": (1.0, 1e3), "gumbel-n16": (2.0, 1e2)}
    curves = search_curves([_evaluated(run, mcts | mean | plies | others)])
    assert [curve.label for curve in curves] == ["expectimax", "mcts", "mcts-c=0.5-backup=mean"]
    np.testing.assert_allclose(curves[1].x, [10, 100, 1000])
    np.testing.assert_allclose(curves[1].y, [5, 7, 9])
    np.testing.assert_allclose(curves[1].low, [4, 6, 8])
    np.testing.assert_allclose(curves[1].high, [7, 9, 11])
    two = [_evaluated(run, mcts), _evaluated(run._replace(name="b"), mcts)]
    assert [curve.label for curve in search_curves(two)] == ["a, mcts", "b, mcts"]


def test_the_page_shows_searches_of_three_efforts(runs: list[str]):
    result = next(Path(runs[0], "evaluations").glob("*.json"))
    for n in (4, 16, 50):
        other = json.loads(result.read_text()) | {"search": f"mcts-n{n}", "moves_per_second": 1e5 / n}
        result.with_name(f"{n}.json").write_text(json.dumps(other))
    assert main(["compare", *runs, "--out", "out"]) == 0
    assert Path("out/searches.png").read_bytes().startswith(PNG)
    assert "mean score of searches against microseconds a move" in Path("out/index.html").read_text()
