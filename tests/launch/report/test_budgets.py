from pathlib import Path

import numpy as np
import pytest

from launch.report.budgets import costs, round_levels, search_curves, standings
from launch.report.curves import differing_keys, make_curves
from launch.report.page.tables import cost_table, standing_table
from tests.launch.report.made_runs import read, write_run
from tests.launch.report.made_tables import cells_of


@pytest.fixture
def curves(tmp_path: Path):
    slow = write_run(tmp_path / "slow", [(0, 0.0), (100, 100.0), (200, 300.0)], group="slow", size=1, rate=5)
    fast = write_run(tmp_path / "fast", [(0, 0.0), (100, 150.0)], group="fast", size=2, rate=5)
    return make_curves(read(slow, fast), ["run.group"], 400)


def test_curves_are_compared_at_the_last_place_that_all_reached(curves):
    moves, games, hours = standings(curves)
    assert (moves.axis, moves.at, games.at, hours.at) == ("env_steps", 100, 10, 1)
    labels = [label for label, _ in moves.scores]
    assert labels == ["fast (toy), 1 seed", "slow (toy), 1 seed"]
    assert [tuple(score) for _, score in moves.scores] == [(150, 149, 152), (100, 99, 102)]


def test_a_score_costs_what_its_curve_had_spent(curves):
    found = {(cost.label.split()[0], cost.level): cost.spent for cost in costs(curves)}
    assert found["slow", 50] == pytest.approx({"env_steps": 50, "games": 5, "wall_hours": 0.5})
    assert found["slow", 200] == pytest.approx({"env_steps": 150, "games": 15, "wall_hours": 1.5})
    assert found["fast", 150]["env_steps"] == pytest.approx(100)
    assert ("fast", 200) not in found


def test_equal_runs_stand_equal_also_if_one_has_more_points(tmp_path: Path):
    """The figures leave points out, each curve others; the tables take all points."""
    points = [(float(i), 100.0 * (i % 7) + i) for i in range(3000)]
    long, short = (
        write_run(tmp_path / "long", points, group="long"),
        write_run(tmp_path / "short", points[:1000], group="short"),
    )
    found = make_curves(read(long, short), ["run.group"], 50)
    assert all(len(curve.series["eval/score_mean"].mean.y) < 200 for curve in found)
    for standing in standings(found):
        (_, one), (_, other) = standing.scores
        assert one == other
    spent: dict[float, list[dict[str, float]]] = {}
    for cost in costs(found):
        spent.setdefault(cost.level, []).append(cost.spent)
    assert any(len(both) == 2 for both in spent.values())
    assert all(both[0] == both[-1] for both in spent.values())


def test_boards_are_not_ranked_together(tmp_path: Path):
    points = {"a": [(0, 0.0), (100, 150.0)], "b": [(0, 0.0), (50, 100.0)], "c": [(0, 0.0), (10, 9000.0)]}
    rows = {"a": 4, "b": 4, "c": 3}
    runs = [write_run(tmp_path / name, points[name], group=name, rows=rows[name], columns=4) for name in points]
    found = make_curves(read(*runs), ["run.group"], 400)
    assert {(standing.board, standing.axis, standing.at) for standing in standings(found)} == {
        ("4x4", "env_steps", 50), ("4x4", "games", 5), ("4x4", "wall_hours", 0.5)
    }  # fmt: skip
    assert all("3x4" not in label for standing in standings(found) for label, _ in standing.scores)
    spent = {(cost.board, cost.label[0]): cost.level for cost in costs(found)}
    assert spent == {("4x4", "a"): 150, ("4x4", "b"): 100, ("3x4", "c"): 8000}
    tables = cost_table(costs(found)) + standing_table(found, standings(found))
    assert [(name, len(cells_of(tables, name))) for name in ("costs", "costs1", "standings", "standings1")] == [
        ("costs", 1), ("costs1", 2), ("standings", 2), ("standings1", 0)
    ]  # fmt: skip


def test_levels_are_round():
    assert round_levels(0.0, 300.0) == [50, 100, 150, 200, 250, 300]
    assert round_levels(61_000.0, 112_000.0) == [70_000, 80_000, 90_000, 100_000, 110_000]
    assert round_levels(10.0, 10.0) == []


def test_one_curve_has_nothing_to_be_compared_with(tmp_path: Path):
    assert standings(make_curves(read(write_run(tmp_path / "a", [(1, 1.0)])), ["run.group"], 400)) == []


def test_only_keys_with_several_values_differ(curves):
    assert differing_keys(curves) == {"toy.size": ["1", "2"]}  # the curve with the highest last score is first
    curves[0].runs[0].config["toy.network"] = ["5x6"]
    curves[1].runs[0].config["toy.network"] = None
    assert differing_keys(curves)["toy.network"] == ["5x6", "null"]
    del curves[1].runs[0].config["toy.network"]
    assert differing_keys(curves)["toy.network"] == ["5x6", "-"]
    assert [curve.label.split()[0] for curve in curves] == ["slow", "fast"]


def _evaluations(run: str, searches: dict[str, tuple[float, float]], env_steps: int = 100):
    """Return one evaluation for each search: mean score, moves/s."""
    return [
        {
            "run": run,
            "search": name,
            "env_steps": env_steps,
            "score_mean": score,
            "score_low": score - 1,
            "score_high": score + 2,
        }
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


def test_a_curve_of_searches_has_one_network_and_no_adversary():
    mcts = {f"mcts-n{n}": (float(n), 1e5 / n) for n in (4, 20, 140)}
    later = _evaluations("a", {"mcts-n200": (1.0, 1.0), "mcts-n300": (1.0, 1.0)}, env_steps=200)
    against = _evaluations("a", {f"1ply-against-minimax-p{p}-of-a": (9.0, 1.0) for p in (1, 2, 3)})
    (curve,) = search_curves([*_evaluations("a", mcts), *later, *({**one, "against": {}} for one in against)])
    assert (curve.label, len(curve.x)) == ("mcts", 3)
    both = search_curves([*_evaluations("a", mcts), *_evaluations("a", mcts, env_steps=2000)])
    assert [curve.label for curve in both] == ["mcts, 100 moves", "mcts, 2,000 moves"]
