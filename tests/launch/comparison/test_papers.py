"""The results of papers: rows that can be read, and mistakes that are named."""

from pathlib import Path

import pytest

from launch.comparison.papers import read_papers
from launch.errors import UserError

ROW = (
    "{paper: A 2020, table: Table 5, player: p, search: s, board: 4x4, score_mean: 10, games: null, reach: {},"
    " budget: b}"
)


def test_the_rows_of_the_project_are_those_of_the_papers():
    """Figures typed again from the tables of the papers."""
    rows = {(row.paper, row.table, row.player.split(",")[0], row.search): row for row in read_papers()}
    best = rows["Guei 2023", "Table 10", "8x6-tuple network", "expectimax, 6 plies, tile-downgrading"]
    assert (best.score_mean, best.score_margin, best.games, best.reach) == (625_377, 40_936, None, {32768: 0.72})
    greedy = rows["Guei 2023", "Table 7", "8x6-tuple network", "1 ply"]
    assert (greedy.score_mean, greedy.reach) == (370_194, {8192: 0.9723, 16384: 0.853, 32768: 0.2218})
    fast = rows["Jaskowski 2017", "Table V", "42-33-22-4-3 network", "1 ply"]
    assert (fast.score_mean, fast.games, fast.moves_per_second) == (324_710, 1000, 258_371)
    muzero = rows["Guei 2023", "Table 20", "Gumbel + Stochastic MuZero", "50 simulations"]
    assert (muzero.score_mean, muzero.score_margin, muzero.budget) == (394_645, None, "10^10 states")


def test_other_keys_are_allowed(tmp_path: Path):
    file = tmp_path / "papers.yaml"
    file.write_text(f"- {ROW[:-1]}, env_steps: 100}}\n- {ROW}\n")
    first, second = read_papers(file)
    assert first == second
    assert (first.paper, first.board, first.score_mean, first.games, first.reach) == ("A 2020", "4x4", 10, None, {})


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: b", "papers.yaml is not a list of results"),
        ("- [", "cannot read papers.yaml: "),
        (f"- {ROW}\n- 3", "papers.yaml, row 2: not a mapping"),
        (f"- {ROW.replace('table: Table 5, ', '')}", "papers.yaml, row 1: table is missing"),
        (f"- {ROW.replace('score_mean: 10', 'score_mean: ten')}", "row 1: score_mean is 'ten'; give a positive number"),
        (f"- {ROW.replace('score_mean: 10', 'score_mean: .nan')}", "row 1: score_mean is nan; give a positive number"),
        (f"- {ROW.replace('null', '1.5')}", "row 1: games is 1.5; give a number"),
        (f"- {ROW.replace('player: p', 'player: 1')}", "row 1: player is 1; give a text"),
        (f"- {ROW.replace('{}', '{8192: 91}')}", "row 1: reach is {8192: 91}; give {tile: fraction}"),
        (f"- {ROW.replace('{}', '{8000: 0.9}')}", "row 1: reach is {8000: 0.9}; give {tile: fraction}"),
        (f"- {ROW.replace('4x4', '9x9')}", "row 1: cannot read the board '9x9'"),
        (f"- {ROW[:-1]}, score_margin: -1}}", "row 1: score_margin is -1; give a positive number"),
    ],
)
def test_a_mistake_is_named_with_its_row(text: str, line: str):
    Path("papers.yaml").write_text(text)
    with pytest.raises(UserError) as error:
        read_papers(Path("papers.yaml"))
    assert line in str(error.value)
    assert "\n" not in str(error.value)
