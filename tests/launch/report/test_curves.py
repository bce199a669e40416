from pathlib import Path

import numpy as np
import pytest

from launch.report.curves import (
    SCORE,
    Band,
    Series,
    first_reach,
    interquartile_band,
    key_label,
    make_curves,
    shown_points,
    value_at,
)
from tests.launch.report.made_runs import read, write_run

BY_GROUP = ["run.group"]


def test_the_band_of_seeds_is_the_interval_of_their_mean_where_all_have_been(tmp_path: Path):
    one = write_run(tmp_path / "a", [(10, 100.0), (30, 300.0)])
    two = write_run(tmp_path / "b", [(20, 100.0), (40, 140.0)])
    (curve,) = make_curves(read(one, two), BY_GROUP, 400)
    assert curve.label == "g (toy), 2 seeds"
    x, (y, low, high), _, seeds = curve.series[SCORE]
    # Both runs cover 20 to 30. Interpolated at 20 and 30, a is 200 and 300, b is 100 and 120. t(0.975, 1) = 12.7062.
    np.testing.assert_allclose(x["env_steps"], [20, 30])
    np.testing.assert_allclose(x["games"], [2, 3])
    np.testing.assert_allclose(x["wall_hours"], [0.2, 0.3])
    np.testing.assert_allclose(y, [150, 210])
    np.testing.assert_allclose(high - y, [12.7062 * 50, 12.7062 * 90], rtol=1e-5)
    np.testing.assert_allclose(y - low, high - y)
    np.testing.assert_allclose(seeds, [[200, 300], [100, 120]])  # shown in place of the band


def test_one_seed_has_the_interval_of_its_games(tmp_path: Path):
    (curve,) = make_curves(read(write_run(tmp_path / "a", [(10, 100.0), (30, 300.0)])), BY_GROUP, 400)
    assert curve.label == "g (toy), 1 seed"
    np.testing.assert_array_equal(curve.series[SCORE].mean, [[100, 300], [99, 299], [102, 302]])
    assert curve.series[SCORE].iqm is None
    # Wilson's interval for 10 of 10 games: the lower end is 1 / (1 + 1.959964^2 / 10).
    np.testing.assert_allclose(curve.series["eval/reach_2048"].mean.low, 0.722467, atol=1e-5)


def test_the_band_of_rates_of_seeds_stays_a_rate_and_never_vanishes(tmp_path: Path):
    runs = read(*(write_run(tmp_path / name, [(10, 1.0)]) for name in "ab"))
    (curve,) = make_curves(runs, BY_GROUP, 400)
    # Wilson's interval for 20 of 20 games: the lower end is 1 / (1 + 1.959964^2 / 20).
    np.testing.assert_allclose(curve.series["eval/reach_2048"].mean, [[1.0], [0.838875], [1.0]], atol=1e-5)


def test_seeds_without_common_moves_are_curves_of_their_own(tmp_path: Path):
    runs = read(write_run(tmp_path / "a", [(10, 1.0), (20, 2.0)]), write_run(tmp_path / "b", [(30, 3.0)]))
    assert [curve.label for curve in make_curves(runs, BY_GROUP, 400)] == ["b (toy), 1 seed", "a (toy), 1 seed"]


def test_a_score_is_never_lost(tmp_path: Path, capsys):
    """Seeds that were evaluated at other moves are curves of their own; one without evaluation does not count."""
    first = write_run(tmp_path / "a", [(10, 1.0), (20, None)])
    runs = read(first, write_run(tmp_path / "b", [(10, None), (20, 2.0)]))
    curves = make_curves(runs, BY_GROUP, 400)
    assert [(curve.label, curve.last_score) for curve in curves] == [("b (toy), 1 seed", 2.0), ("a (toy), 1 seed", 1.0)]
    assert "a, b: no moves at which all of these seeds were evaluated" in capsys.readouterr().err
    (curve,) = make_curves(read(first, write_run(tmp_path / "c", [(10, None), (20, None)])), BY_GROUP, 400)
    assert curve.last_score == 1.0
    assert capsys.readouterr().err == ""


def test_runs_are_grouped_by_values_of_their_configs(tmp_path: Path):
    folders = [
        write_run(tmp_path / f"{size}{rate}{seed}", [(10, size * rate)], seed=seed, size=size, rate=rate)
        for size in (1, 2) for rate in (3, 5) for seed in (0, 1)
    ]  # fmt: skip
    folders.append(write_run(tmp_path / "other", [(10, 0.5)], learner="other"))
    curves = make_curves(read(*folders), ["toy.size", "toy.rate"], 400)
    assert [curve.label for curve in curves] == [
        "size=2, rate=5 (toy), 2 seeds",
        "size=2, rate=3 (toy), 2 seeds",
        "size=1, rate=5 (toy), 2 seeds",
        "size=1, rate=3 (toy), 2 seeds",
        "size=null, rate=null (other), 1 seed",
    ]


def test_a_value_is_named_with_the_last_part_of_its_key_and_a_group_without():
    assert key_label("run.group", "a") == "a"
    assert key_label("ntuple.step_size.alpha", 0.1) == "alpha=0.1"
    assert key_label("ntuple.network", ["4x6", "5x6"]) == "network=[4x6,5x6]"
    assert key_label("ntuple.network", None) == "network=null"


def test_the_interquartile_mean_leaves_out_a_quarter_at_each_end():
    values = np.array([[1.0], [2.0], [4.0], [90.0]])
    y, low, high = interquartile_band(values)
    assert y == [3.0]
    assert 1 <= low[0] < 3 < high[0] <= 90
    np.testing.assert_array_equal(interquartile_band(np.full((5, 3), 7.0)), np.full((3, 3), 7.0))


def test_thinning_keeps_ends_and_extremes_and_what_a_logarithmic_axis_shows():
    rng = np.random.default_rng(0)
    y = rng.standard_normal(50_000)
    y[31_234], y[777] = 50.0, -60.0
    low, high = y - 1, y + 1
    low[20_001] = -99.0
    kept = shown_points(Band(y, low, high), 400)
    assert len(kept) <= 420
    assert {0, 49_999, 31_234, 777, 20_001} <= set(kept.tolist())
    assert np.all(np.diff(kept) > 0)
    for decade in (10, 100, 1000, 10_000):  # each fifth of a logarithmic axis has points
        assert np.count_nonzero((kept >= decade) & (kept < 10 * decade)) > 8
    np.testing.assert_array_equal(shown_points(Band(y[:300], None, None), 400), np.arange(300))


def test_values_and_first_reaches_are_interpolated():
    x = {"env_steps": np.array([0.0, 10.0, 20.0, 30.0])}
    series = Series(x, Band(np.array([0.0, 50.0, 40.0, 90.0]), None, np.array([1.0, 60.0, 50.0, 99.0])), None)
    assert value_at(series, "env_steps", 5.0) == (25.0, 25.0, 30.5)
    assert first_reach(series, "env_steps", 45.0) == pytest.approx(9.0)
    assert first_reach(series, "env_steps", 0.0) == 0.0
    assert first_reach(series, "env_steps", 91.0) is None


def test_runs_of_different_boards_are_not_seeds_of_one_curve(tmp_path: Path):
    for seed, (rows, score) in enumerate(((2, 1.0), (3, 5.0), (3, 7.0))):
        write_run(tmp_path / str(seed), [(1, score), (2, score)], seed=seed, rows=rows, columns=3)
    curves = make_curves(read(*(tmp_path / str(seed) for seed in range(3))), ["run.group"], 400)
    assert [(curve.label, curve.last_score) for curve in curves] == [
        ("g, 3x3 (toy), 2 seeds", 6.0),
        ("g, 2x3 (toy), 1 seed", 1.0),
    ]
