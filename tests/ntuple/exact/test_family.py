"""Exact values of 2584 and Threes!: Guei 2023, table 28, and figures of other solvers; all positions of small games."""

import functools

import numpy as np
import pytest

from ntuple.core.games.definition import DOWN, RIGHT, UP, Afterstate, State
from ntuple.core.games.known import find_game
from ntuple.core.games.threes import LEVEL_OF
from ntuple.exact.positions import LEVELS, board_of, rules_of
from ntuple.exact.solution import Answer, Solution, Worth
from ntuple.exact.solver import first_positions, solve
from ntuple.game.bitboard import Board
from ntuple.game.family_events import decode_state

NO_TILE = LEVELS + 1
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


@functools.cache
def solution(game: str, rows: int = 2, columns: int = 3) -> Solution:
    return Solution(rows, columns, NO_TILE, NO_TILE, solve(rows, columns, game=game), game)


@pytest.mark.parametrize(
    ("game", "start"),
    [("2584", (1425.817561, 2740, 0)), ("2584-hard", (614.591441, None, None)), ("threes", (455.965665, 1092, 258))],
)
def test_the_start_of_2x3(game: str, start: tuple[float, int | None, int | None]) -> None:
    found = solution(game).start()
    assert (round(found.expected, 6), found.best, found.worst)[: 1 if start[1] is None else 3] == tuple(
        value for value in start if value is not None
    )
    assert sum(p for p, _, _ in first_positions(rules_of(game, 2, 3), game)) == pytest.approx(1)


@pytest.mark.parametrize(("text", "hint", "last", "values"), TABLE_28)
def test_table_28(text: str, hint: int, last: int | None, values: tuple[float, int, int] | None) -> None:
    levels = np.array([[LEVEL_OF[int(tile)] for tile in row.split()] for row in text.split("/")])
    answer = solution("threes").look_up(levels, hint, last)
    worth = answer.state if last is None else answer.afterstate
    if values is None:
        assert answer == Answer(None, None)
    else:
        assert worth is not None
        assert (round(worth.expected, 2), worth.best, worth.worst) == values


@pytest.mark.parametrize("game", ["2584", "threes"])
def test_all_positions_of_2x2_are_those_of_plain_python(game: str) -> None:
    rule, known, asked = find_game(game, 2, 2), {}, solution(game, 2, 2)

    def value_of(state: State) -> Worth:
        if state not in known:
            moves = [(move.points, value_of_after(move.after)) for a in range(4) if (move := rule.move(state, a))]
            points, after = max(moves, key=lambda move: move[0] + move[1].expected, default=(0, Worth(0, 0, 0, 0)))
            known[state] = Worth(points + after.expected, points + after.best, points + after.worst, 0)
        return known[state]

    def value_of_after(after: Afterstate) -> Worth:
        found = [(float(event.chance), event.points, value_of(event.state)) for event in rule.events(after)]
        return Worth(
            sum(p * (points + worth.expected) for p, points, worth in found),
            max(points + worth.best for _, points, worth in found),
            min(points + worth.worst for _, points, worth in found),
            0,
        )

    for opening in rule.openings(2, 2):
        value_of(opening.state)
    for state, worth in known.items():
        found = asked.look_up(np.array(state.board), state.hint).state
        assert found is not None
        assert found.expected == pytest.approx(worth.expected, rel=1e-12)
        word = asked.state_word(np.array(state.board), state.hint)
        board = Board(*map(np.uint64, board_of(asked.rules, word)))
        assert decode_state(asked.rules, board) == state
        best = asked.move_values(np.array([word]))[0].max()
        assert best == found.expected or (best == -np.inf and found.expected == 0)


def test_games_that_cannot_be_solved_are_refused(tmp_path) -> None:
    with pytest.raises(ValueError, match="threes begins with 9 tiles in more ways than can be listed"):
        solve(4, 4, until=5, game="threes")
    with pytest.raises(ValueError, match="at most three rows; give 4x2 as 2x4"):
        solve(4, 2, game="threes")
    with pytest.raises(ValueError, match="there is no game 'three'"):
        solve(2, 2, game="three")
    solution("threes", 2, 2).save(tmp_path / "threes.solution")
    assert Solution.load(tmp_path / "threes.solution").start() == solution("threes", 2, 2).start()
