"""Exact values of 2584 and Threes!: Guei 2023, table 28, and figures of other solvers."""

import pytest

from ntuple.core.rules import DOWN, RIGHT, UP
from ntuple.exact.positions import rules_of
from ntuple.exact.solution import Answer, Solution
from ntuple.exact.solver import first_positions, solve
from tests.ntuple.exact.solutions import solution, threes_levels

# board, hint, last move, (expected, best, worst); None: unreachable
TABLE_28 = [
    ("0 1 0 / 0 0 2", 3, None, (455.97, 1092, 258)),
    ("3 2 1 / 48 6 0", 2, UP, (198.94, 837, 75)),
    ("1 12 3 / 1 2 6", 2, None, (326.66, 1053, 81)),
    ("0 0 3 / 3 6 12", 1, DOWN, (310.07, 1050, 0)),
    ("48 3 2 / 96 12 6", 1, None, (0.00, 0, 0)),
    ("96 12 6 / 0 6 2", 3, RIGHT, (3.00, 3, 3)),
    ("0 1 0 / 0 0 3", 1, None, None),
    ("96 192 12 / 0 1 3", 3, UP, None),
]


@pytest.mark.parametrize(
    ("game", "start"),
    [("2584", (1425.817561, 2740, 0)), ("2584-hard", (614.591441,)), ("threes", (455.965665, 1092, 258))],
)
def test_the_start_of_2x3(game: str, start: tuple[float, ...]) -> None:
    found = solution(2, 3, game=game).start()
    assert (round(found.expected, 6), found.best, found.worst)[: len(start)] == start
    assert sum(p for p, _, _ in first_positions(rules_of(game, 2, 3), game)) == pytest.approx(1)


@pytest.mark.parametrize(("text", "hint", "last", "values"), TABLE_28)
def test_table_28(text: str, hint: int, last: int | None, values: tuple[float, int, int] | None) -> None:
    answer = solution(2, 3, game="threes").look_up(threes_levels(text), hint, last)
    worth = answer.state if last is None else answer.afterstate
    if values is None:
        assert answer == Answer(None, None)
    else:
        assert worth is not None
        assert (round(worth.expected, 2), worth.best, worth.worst) == values


def test_games_that_cannot_be_solved_are_refused(tmp_path) -> None:
    with pytest.raises(ValueError, match="threes begins with 9 tiles in more ways than can be listed"):
        solve(4, 4, until=5, game="threes")
    with pytest.raises(ValueError, match="at most three rows; give 4x2 as 2x4"):
        solve(4, 2, game="threes")
    with pytest.raises(ValueError, match="there is no game 'three'"):
        solve(2, 2, game="three")
    solved = solution(2, 2, game="threes")
    solved.save(tmp_path / "threes.solution")
    assert Solution.load(tmp_path / "threes.solution").start() == solved.start()
