"""Exact values, also against an opponent that places the tiles, compared with plain Python over the definitions."""

import functools
import random
import sys
from pathlib import Path

import numpy as np
import pytest
from reference import adversary as reference

from ntuple.core.games.definition import Afterstate, Game, State
from ntuple.core.games.known import find_game
from ntuple.exact.solution import Solution
from ntuple.exact.solver import solve
from tests.ntuple.exact.solutions import solution, state_of, threes_levels

GAMES = ("2048", "2584", "threes")
KINDS = ("minimax", "expectiminimax")


def recursion(rule: Game, kind: str, tile: int | None = None) -> tuple[reference.ValueOf, dict[State, float]]:
    """Return the value of a state by plain recursion, and the values that it has found so far.

    Args:
        tile: the value is then the probability of a tile of this level.
    """
    known: dict[State, float] = {}

    def value_of(state: State) -> float:
        if state not in known:
            moves = [move for action in range(4) if (move := rule.move(state, action))]
            best = max((after_value(move.after) + (move.points if tile is None else 0) for move in moves), default=0.0)
            known[state] = 1.0 if tile is not None and max(map(max, state.board)) >= tile else best
        return known[state]

    @functools.cache
    def after_value(after: Afterstate) -> float:
        return reference.worst(rule, after, kind, value_of, counts_points=tile is None)

    return value_of, known


@pytest.mark.parametrize("kind", ["chance", *KINDS])
@pytest.mark.parametrize("game", GAMES)
def test_all_positions_of_2x2_are_those_of_plain_python(game: str, kind: str) -> None:
    """The probability of a tile too: its opponent plays for this probability alone."""
    rule, asked = find_game(game, 2, 2), solution(2, 2, tile=4, game=game, opponent=kind)
    value_of, known = recursion(rule, kind)
    reach_of, _ = recursion(rule, kind, tile=4)
    for opening in rule.openings(2, 2):
        value_of(opening.state)
    assert len(known) > 300
    words, expected = [], []
    for state, value in known.items():
        found = asked.look_up(np.array(state.board), state.hint).state
        assert found is not None
        assert (found.expected, found.reach) == (
            pytest.approx(value, rel=1e-12),
            pytest.approx(reach_of(state), rel=1e-12),
        )
        words.append(asked.state_word(np.array(state.board), state.hint))
        expected.append(found.expected)
        assert state_of(asked, words[-1]) == state
    best = asked.move_values(np.array(words)).max(axis=1)
    np.testing.assert_array_equal(np.where(best == -np.inf, 0, best), expected)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("game", GAMES)
def test_all_positions_of_2x3_are_those_of_plain_python(game: str, kind: str) -> None:
    asked = solution(2, 3, game=game, opponent=kind)
    value_of, _ = recursion(find_game(game, 2, 3), kind)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(100_000)  # as deep as the longest game
    try:
        for word, expected in zip(asked.solved.states, asked.solved.values.expected, strict=True):
            assert expected == pytest.approx(value_of(state_of(asked, word)), rel=1e-12)
    finally:
        sys.setrecursionlimit(limit)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("game", GAMES)
def test_values_of_2x3_follow_from_those_after_the_next_placement(game: str, kind: str) -> None:
    """A sample; the slow test above compares all of them."""
    rule, asked = find_game(game, 2, 3), solution(2, 3, game=game, opponent=kind)
    words = asked.solved.states
    draw = random.Random(1)
    for place in draw.sample(range(len(words)), 60):
        state = state_of(asked, words[place])

        def value_of(state: State) -> float:
            found = asked.look_up(np.array(state.board), state.hint).state
            assert found is not None
            return found.expected

        moves = [
            move.points + reference.worst(rule, move.after, kind, value_of)
            for action in range(4)
            if (move := rule.move(state, action))
        ]
        assert asked.solved.values.expected[place] == pytest.approx(max(moves, default=0.0), rel=1e-12)


@pytest.mark.parametrize(
    ("text", "hint", "last", "value"),
    [("0 1 0 / 0 0 2", 3, None, 276), ("3 2 1 / 48 6 0", 2, 0, 81), ("1 12 3 / 1 2 6", 2, None, 99)],
)
def test_minimax_of_threes_has_known_values(text: str, hint: int, last: int | None, value: float) -> None:
    """The greatest points that are sure on positions of table 28 of Guei 2023, found by another program."""
    answer = solution(2, 3, game="threes", opponent="minimax").look_up(threes_levels(text), hint, last)
    worth = answer.state if last is None else answer.afterstate
    assert worth is not None
    assert worth.expected == value


def test_a_saved_solution_keeps_its_opponent(tmp_path: Path) -> None:
    solved = solution(2, 2, opponent="minimax")
    solved.save(tmp_path / "one.solution")
    assert Solution.load(tmp_path / "one.solution").opponent == "minimax"
    assert Solution.load(tmp_path / "one.solution").start() == solved.start()
    assert solved.start().expected < solution(2, 2, opponent="expectiminimax").start().expected
    with pytest.raises(ValueError, match="there is no opponent 'nobody'; give one of: chance, minimax, expectiminimax"):
        solve(2, 2, opponent="nobody")
