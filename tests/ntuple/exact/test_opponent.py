"""Exact values against an opponent that places the tiles, compared with plain Python over each game's definition."""

import functools
import random
from pathlib import Path

import numpy as np
import pytest
from reference import adversary as reference

from ntuple.core.games.definition import Afterstate, State
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


def levels(text: str) -> np.ndarray:
    return np.array([[LEVEL_OF[int(tile)] for tile in row.split()] for row in text.split("/")])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("game", GAMES)
def test_all_positions_of_2x2_are_those_of_plain_python(game: str, kind: str) -> None:
    """The probability of a tile too: its opponent plays for this probability alone."""
    rule, asked = find_game(game, 2, 2), solution(game, 2, kind, 4)
    known: dict[State, tuple[float, float]] = {}

    def value_of(state: State) -> tuple[float, float]:
        if state not in known:
            moves = [
                (move.points + after_value(move.after, 0), after_value(move.after, 1))
                for action in range(4)
                if (move := rule.move(state, action))
            ]
            value, reach = (max((move[i] for move in moves), default=0.0) for i in range(2))
            known[state] = value, 1.0 if max(map(max, state.board)) >= 4 else reach
        return known[state]

    @functools.cache
    def after_value(after: Afterstate, which: int) -> float:
        return reference.worst(rule, after, kind, lambda state: value_of(state)[which], counts_points=which == 0)

    for opening in rule.openings(2, 2):
        value_of(opening.state)
    assert len(known) > 300
    for state, (value, reach) in known.items():
        found = asked.look_up(np.array(state.board), state.hint).state
        assert found is not None
        assert (found.expected, found.reach) == (pytest.approx(value, rel=1e-12), pytest.approx(reach, rel=1e-12))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("count", [60, pytest.param(1700, marks=pytest.mark.slow)])
def test_values_of_2x3_follow_from_those_after_the_next_placement(game: str, kind: str, count: int) -> None:
    rule, asked = find_game(game, 2, 3), solution(game, 3, kind)
    words = asked.solved.states
    draw = random.Random(1)
    for place in draw.sample(range(len(words)), count):
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
