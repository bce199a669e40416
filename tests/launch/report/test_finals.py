from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from launch.report.differences import differences
from launch.report.finals import final_evaluations, make_groups
from tests.launch.report.made_runs import read, write_evaluation, write_run

KEYS = ["run.group"]


def _groups(folder: Path, means: dict[str, list[float]], margin: float = 3.0):
    runs = []
    for group, scores in means.items():
        for seed, mean in enumerate(scores):
            runs.append(write_run(folder / f"{group}{seed}", [(1, mean)], group=group, seed=seed))
            write_evaluation(runs[-1], mean, margin, seed=len(runs))
    return make_groups(final_evaluations(read(*runs)), KEYS)


def test_the_last_evaluation_counts_and_of_several_the_one_with_the_most_games(tmp_path: Path):
    run = write_run(tmp_path / "a", [(1, 1.0)])
    write_evaluation(run, 10, 1, env_steps=50, games=900, seed=1)
    write_evaluation(run, 20, 1, env_steps=100, games=10, seed=2)
    write_evaluation(run, 30, 1, env_steps=100, games=20, seed=3)
    write_evaluation(run, 40, 1, env_steps=50, search="expectimax-p2", seed=4)
    found = final_evaluations(read(run))
    assert [(result["search"], result["score_mean"]) for result in found] == [("expectimax-p2", 40), ("1ply", 30)]


def test_groups_of_several_seeds_are_compared_by_welch(tmp_path: Path):
    a, b = [10.0, 12.0, 17.0], [8.0, 9.0, 13.0, 9.5]
    groups = _groups(tmp_path, {"a": a, "b": b})
    assert [(group.label, group.seeds, group.games) for group in groups] == [("a", 3, 300), ("b", 4, 400)]
    (pair,) = differences(groups)
    expected = stats.ttest_ind(a, b, equal_var=False)
    assert pair.p == pytest.approx(expected.pvalue)
    np.testing.assert_allclose(pair.difference[1:], expected.confidence_interval(0.95))
    assert pair.difference.value == pytest.approx(13 - 9.875)
    assert pair.improvement is not None
    # Of the 12 pairs of seeds, a is higher in 10: all but 10 and 12 against 13.
    assert pair.improvement.value == pytest.approx(10 / 12)
    assert 0 <= pair.improvement.low < 10 / 12 < pair.improvement.high <= 1
    assert pair.scope == "over 3 and 4 seeds"


def test_single_runs_are_compared_by_their_games(tmp_path: Path):
    (pair,) = differences(_groups(tmp_path, {"a": [100.0], "b": [90.0]}))
    deviation = 3.0 / stats.t.ppf(0.975, 99) * 10  # of 100 games
    expected = stats.ttest_ind_from_stats(100, deviation, 100, 90, deviation, 100, equal_var=False)
    assert pair.p == pytest.approx(expected.pvalue)
    assert pair.improvement is None
    assert pair.scope == "of the games of these networks alone"


def test_seeds_that_share_their_games_cost_a_warning(tmp_path: Path, capsys):
    for seed in (1, 2):
        write_evaluation(write_run(tmp_path / f"a{seed}", [(1, 1.0)], seed=seed), 5.0 * seed, 1.0, seed=7)
    make_groups(final_evaluations(read(tmp_path / "a1", tmp_path / "a2")), KEYS)
    assert capsys.readouterr().err == (
        "warning: seeds of g (1ply) were evaluated on the same games, whose luck their interval leaves out;"
        " evaluate them again without --seed\n"
    )


def test_two_seeds_have_no_probability_of_improvement(tmp_path: Path):
    """Resampling them gives 100%, 100% to 100%."""
    (pair,) = differences(_groups(tmp_path, {"a": [100.0, 101.0], "b": [90.0, 91.0]}))
    assert pair.improvement is None
    assert pair.scope == "over 2 and 2 seeds"


def test_equal_scores_without_variance_do_not_differ(tmp_path: Path):
    (pair,) = differences(_groups(tmp_path, {"a": [10.0] * 3, "b": [10.0] * 3}))
    assert pair.p == 1
    assert pair.difference == (0, 0, 0)
    assert pair.improvement == (0.5, 0.5, 0.5)


def test_groups_that_differ_in_their_moves_alone_have_other_names(tmp_path: Path):
    for name, moves in (("a1", 100), ("a2", 2000)):
        write_evaluation(write_run(tmp_path / name, [(1, 1.0)]), 10.0, 1, env_steps=moves)
    groups = make_groups(final_evaluations(read(tmp_path / "a1", tmp_path / "a2")), KEYS)
    assert {group.label for group in groups} == {"g, 100 moves", "g, 2,000 moves"}


def test_evaluations_on_different_boards_are_neither_averaged_nor_tested(tmp_path: Path):
    boards = ["4x4", "4x4", "2x3", "2x3"]
    runs = [write_run(tmp_path / f"a{seed}", [(1, 1.0)], seed=seed) for seed in range(4)]
    for seed, (run, board) in enumerate(zip(runs, boards, strict=True)):
        write_evaluation(run, 10.0 * len(boards) - seed, 1, seed=seed, board=board)
    groups = make_groups(final_evaluations(read(*runs)), KEYS)
    assert [(group.label, group.seeds, group.score.value) for group in groups] == [
        ("g, 4x4", 2, 39.5),
        ("g, 2x3", 2, 37.5),
    ]
    assert differences(groups) == []
