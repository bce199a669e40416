import numpy as np

from launch.report.budgets import search_curves


def _evaluations(run: str, searches: dict[str, tuple[float, float]]):
    """Return one evaluation for each search: mean score, moves/s."""
    return [
        {"run": run, "search": name, "score_mean": score, "score_low": score - 1, "score_high": score + 2}
        | {"moves_per_second": speed, "folder": f"runs/{run}"}
        for name, (score, speed) in searches.items()
    ]


def test_searches_are_curves_over_the_time_of_a_move():
    mcts = {"mcts-n4": (5.0, 1e5), "mcts-n140": (9.0, 1e3), "mcts-n20": (7.0, 1e4)}
    mean = {f"mcts-n{n}-c=0.5-backup=mean": (float(n), 1e6 / n) for n in (1, 2, 3)}
    plies = {f"expectimax-p{p}": (10.0 * p, 10.0**-p) for p in (1, 2, 3)}
    others = {"1ply": (3.0, 1e6), "gumbel-n4": (1.0, 1e3), "gumbel-n16": (2.0, 1e2)}
    curves = search_curves(_evaluations("a", mcts | mean | plies | others))
    assert [curve.label for curve in curves] == ["expectimax", "mcts", "mcts-c=0.5-backup=mean"]
    np.testing.assert_allclose(curves[1].x, [10, 100, 1000])
    np.testing.assert_allclose(curves[1].y, [5, 7, 9])
    np.testing.assert_allclose(curves[1].low, [4, 6, 8])
    np.testing.assert_allclose(curves[1].high, [7, 9, 11])
    two = [*_evaluations("a", mcts), *_evaluations("b", mcts)]
    labels = [(curve.label, curve.folder) for curve in search_curves(two)]
    assert labels == [("a, mcts", "runs/a"), ("b, mcts", "runs/b")]
