"""The results of papers are those of configs/papers/, and mistakes in references are named."""

from pathlib import Path

import pytest

from launch.errors import UserError
from launch.report.published.papers import read_papers


def test_the_rows_of_the_project_are_those_of_the_papers():
    """Figures typed again from the tables of the papers."""
    papers = read_papers()
    rows = {(row.paper, row.table, row.player.split(",")[0], row.search): row for row in papers}
    assert len(papers) == len(rows) == 13
    best = rows["Guei 2023", "table 10", "8x6-tuple network", "expectimax, 6 plies, tile-downgrading"]
    assert (best.score_mean, best.score_margin, best.games, best.reach) == (625_377, 40_936, None, {"32768": 0.72})
    assert (best.budget, best.moves_per_second) == ("200M games", 2.5)  # two stages, 100M games each
    greedy = rows["Guei 2023", "table 7", "8x6-tuple network", "1 ply"]
    assert (greedy.score_mean, greedy.score_margin, greedy.games) == (370_194, 4366, 5_000_000)
    assert greedy.reach == pytest.approx({"8192": 0.9723, "16384": 0.853, "32768": 0.2218})
    fast = rows["Jaskowski 2017", "table 5", "42-33-22-4-3 network", "1 ply"]
    assert (fast.score_mean, fast.games, fast.moves_per_second, fast.budget) == (324_710, 1000, 258_371, "40G moves")
    assert ("Jaskowski 2017", "table 5", "42-33-22-4-3 network", "expectimax, 1000 ms a move") in rows
    muzero = rows["Guei 2023", "table 20", "Gumbel + Stochastic MuZero", "50 simulations"]
    assert (muzero.score_mean, muzero.score_margin, muzero.games, muzero.budget) == (394_645, None, None, "10G moves")
    player = "ST-MAX8 with PR-BOTH"
    found = [rows["Matsuzaki 2017", "table 3", player, search] for search in ("1 ply", "expectimax, 3 plies")]
    assert [(row.score_mean, row.games, row.reach) for row in found] == [(225_078, 50_000, {}), (453_776, 1500, {})]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: b", "papers.yaml: there is no key 'a'; its keys are references"),
        ("references: [", "papers.yaml: not YAML"),
        ("references: [{row: guei-table-7/8x6-1-ply, player: p, score: 3}]", "there is no key 'references[0].score'"),
        (
            "references: [{row: guei-table-7/none, player: p}]",
            "papers.yaml: guei-table-7 has no row none; its rows are 4x6-1-ply",
        ),
        ("references: [{row: guei-table-77/none, player: p}]", "papers.yaml: there is no table guei-table-77"),
        (
            "references: [{row: guei-table-7/8x6-1-ply, player: p, column: x}]",
            "papers.yaml: guei-table-7/8x6-1-ply has no mean score in a column x",
        ),
    ],
)
def test_a_mistake_is_named_with_its_row(text: str, line: str):
    Path("papers.yaml").write_text(text)
    with pytest.raises(UserError) as error:
        read_papers(Path("papers.yaml"))
    assert line in str(error.value)
    assert "\n" not in str(error.value)
