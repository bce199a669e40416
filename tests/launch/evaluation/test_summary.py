import numpy as np
import pytest

from launch.evaluation.summary import histograms, statistics_block, summarize, summary_line, value_metrics
from launch.experiment.metrics import REGISTRY
from ntuple.core.interfaces import Games, Marks

# Ten games, sorted by largest tile: 1024 x 2, 2048 x 5, 4096 x 3.
SCORES = [16000, 18000, 30000, 31000, 32000, 33000, 34000, 54000, 56000, 58000]
TILES = [1024, 1024, 2048, 2048, 2048, 2048, 2048, 4096, 4096, 4096]
MOVES = [1000, 1100, 1500, 1550, 1600, 1650, 1700, 2500, 2600, 2700]


def _games() -> Games:
    shuffle = [3, 9, 0, 5, 8, 1, 7, 2, 6, 4]  # the order of games has no effect
    arrays = (np.array(values, np.int64)[shuffle] for values in (SCORES, TILES, MOVES))
    return Games(*arrays, seconds=2.0)


def test_the_figures_of_a_summary():
    summary = summarize(_games())
    assert (summary.games, summary.score_max) == (10, 58000)
    assert summary.score_mean == 36200  # 362,000 / 10
    assert summary.score_median == 32500  # between 32,000 and 33,000
    assert summary.moves_mean == 1790  # 17,900 / 10
    assert summary.moves_per_second == 8950  # 17,900 / 2 s
    assert summary.reach == {2048: 0.8, 4096: 0.3, 8192: 0, 16384: 0, 32768: 0, 65536: 0, 131072: 0}


def test_values_are_compared_with_returns():
    value, gain = np.array([1.0, 2.0, 3.0, 4.0]), np.array([3.0, 1.0, 7.0, 5.0])
    found = value_metrics(_games()._replace(marks=Marks(value, gain)))
    assert set(found) <= set(REGISTRY)
    assert found["eval/value_bias"] == -1.5
    assert found["eval/value_return_mean"] == 4.0
    assert found["eval/value_correlation"] == pytest.approx(6 / np.sqrt(5 * 20))  # by hand, about the means 2.5 and 4
    assert value_metrics(_games()) == {}
    constant = value_metrics(_games()._replace(marks=Marks(0 * value, gain)))
    assert set(constant) == {"eval/value_bias", "eval/value_return_mean"}


def test_games_are_counted_by_score_and_largest_tile():
    found = histograms(_games())
    assert found["max_tiles"] == {"1024": 2, "2048": 5, "4096": 3}
    # 8 log2(score): 16000 111.7, 18000 113.1, 30000 to 34000 119.0, 119.4, 119.7, 120.1, 120.4, 54000 to 58000 125.8,
    # 126.2, 126.6
    assert found["score_bins"] == {"111": 1, "113": 1, "118": 1, "119": 2, "120": 2, "125": 1, "126": 2}
    ends = Games(*(np.array(values, np.int64) for values in ([0, 1, 2, 4], [2, 2, 4, 4], [9, 9, 9, 9])), seconds=1.0)
    assert histograms(ends)["score_bins"] == {"0": 2, "8": 1, "16": 1}


def test_the_interval_is_students():
    # Squared deviations from 36,200 sum to 2,021,600,000; s = 14,987.40; s / sqrt(10) = 4,739.43; t = 2.262157.
    summary = summarize(_games())
    assert summary.score_high - summary.score_mean == pytest.approx(2.262157 * 4739.43, rel=1e-5)
    assert summary.score_mean - summary.score_low == pytest.approx(2.262157 * 4739.43, rel=1e-5)


def test_the_metrics_of_a_summary():
    metrics = summarize(_games()).metrics()
    assert metrics["eval/score_mean"] == 36200
    assert metrics["eval/reach_4096"] == 0.3
    assert len(metrics) == 8 + 7


def test_the_block_stands_as_tdl2048_prints_it():
    # 17,000 = (16,000 + 18,000) / 2; 32,000 = 160,000 / 5; 56,000 = 168,000 / 3; moves 1,050, 1,600, 2,600.
    assert statistics_block(_games()) == "\n".join(
        [
            "summary 2000ms 8950.00ops",
            "total:  avg=36200 max=58000 tile=4096 win=80.00%",
            "tile     count   score    move     rate      win",
            "1024         2   17000    1050   20.00%  100.00%",
            "2048         5   32000    1600   50.00%   80.00%",
            "4096         3   56000    2600   30.00%   30.00%",
        ]
    )


def test_the_line_below_the_block():
    assert summary_line(summarize(_games())) == (
        "mean 36,200 (95% interval 25,479 to 46,921), median 32,500, 10 games, 8,950 moves/s"
    )
