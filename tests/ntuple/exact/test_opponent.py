"""Exact values against an opponent that places the tiles, compared with plain Python over each game's definition."""

import functools
import random
import sys
from pathlib import Path

import numpy as np
import pytest
from reference import adversary as reference

from ntuple.core.games.definition import Afterstate, Game, State
from ntuple.core.games.known import find_game
from ntuple.core.games.threes import LEVEL_OF
from ntuple.exact.positions import LEVELS, board_of
from ntuple.exact.solution import Solution
from ntuple.exact.solver import solve
from ntuple.game.bitboard import Board
from ntuple.game.family_events import decode_state

GAMES = ("2048", "2584", "threes")
KINDS = ("minimax", "expectiminimax")
NO_TILE = LEVELS + 1


@functools.cache
def solution(game: str, columns: int, kind: str, tile: int = NO_TILE) -> Solution:
    solved = solve(2, columns, tile=tile, game=game, opponent=kind)
    return Solution(2, columns, NO_TILE, tile, solved, game, kind)


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


def levels(text: str) -> np.ndarray:
    return np.array([[LEVEL_OF[int(tile)] for tile in row.split()] for row in text.split("/")])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("game", GAMES)
def test_all_positions_of_2x2_are_those_of_plain_python(game: str, kind: str) -> None:
    """The probability of a tile too: its opponent plays for this probability alone."""
    rule, asked = find_game(game, 2, 2), solution(game, 2, kind, 4)
    value_of, known = recursion(rule, kind)
    reach_of, _ = recursion(rule, kind, tile=4)
    for opening in rule.openings(2, 2):
        value_of(opening.state)
    assert len(known) > 300
    for state, value in known.items():
        found = asked.look_up(np.array(state.board), state.hint).state
        assert found is not None
        assert (found.expected, found.reach) == (
            pytest.approx(value, rel=1e-12),
            pytest.approx(reach_of(state), rel=1e-12),
        )


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("game", GAMES)
def test_all_positions_of_2x3_are_those_of_plain_python(game: str, kind: str) -> None:
    asked = solution(game, 3, kind)
    value_of, _ = recursion(find_game(game, 2, 3), kind)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(100_000)  # as deep as the longest game
    try:
        for word, expected in zip(asked.solved.states, asked.solved.values.expected, strict=True):
            state = decode_state(asked.rules, Board(*map(np.uint64, board_of(asked.rules, word))))
            assert expected == pytest.approx(value_of(state), rel=1e-12)
    finally:
        sys.setrecursionlimit(limit)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("game", GAMES)
def test_values_of_2x3_follow_from_those_after_the_next_placement(game: str, kind: str) -> None:
    """A sample; the slow test above compares all of them."""
    rule, asked = find_game(game, 2, 3), solution(game, 3, kind)
    words = asked.solved.states
    draw = random.Random(1)
    for place in draw.sample(range(len(words)), 60):
        state = decode_state(asked.rules, Board(*map(np.uint64, board_of(asked.rules, words[place]))))

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
    answer = solution("threes", 3, "minimax").look_up(levels(text), hint, last)
    worth = answer.state if last is None else answer.afterstate
    assert worth is not None
    assert worth.expected == value


def test_a_saved_solution_keeps_its_opponent(tmp_path: Path) -> None:
    solved = solution("2048", 2, "minimax")
    solved.save(tmp_path / "one.solution")
    assert Solution.load(tmp_path / "one.solution").opponent == "minimax"
    assert Solution.load(tmp_path / "one.solution").start() == solved.start()
    assert solved.start().expected < solution("2048", 2, "expectiminimax").start().expected
    with pytest.raises(ValueError, match="there is no opponent 'nobody'; give one of: chance, minimax, expectiminimax"):
        solve(2, 2, opponent="nobody")
