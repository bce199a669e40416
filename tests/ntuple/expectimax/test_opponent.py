"""Searches against an opponent that places the tiles, compared with plain recursion over each game's definition."""

import random

import numpy as np
import pytest
from reference import adversary as reference

from ntuple.core.games.definition import Afterstate, Game, State
from ntuple.core.games.known import find_game
from ntuple.expectimax.config import ExpectimaxConfig
from ntuple.expectimax.opponent import least_value, worst_placement
from ntuple.expectimax.search import search_moves
from ntuple.expectimax.search_memory import Search, make_search
from ntuple.game.any_game import AnyRules, afterstate, count_placements, make_game_rules
from ntuple.game.family_events import decode_state, encode_state
from ntuple.tables.entries import make_lookup
from ntuple.tables.network import Network
from tests.ntuple.drivers import back, random_network, value_of

# game, board, network, plies, positions
SEARCHES = [("2048", (3, 3), "01,034,0124", 2, 12), ("threes", (3, 3), "01,034,0124", 3, 8)]
BONUS = ("threes-far-side", (4, 4), "0123,4567,0145", 2, 2)
OTHERS = [("2584", (3, 3), "01,034,0124", 2, 12), (*BONUS[:4], 6)]
# Boards that are not square, whose networks have four views: kernels of their own.
WIDE = [("2048", (2, 3), "012,0134", 3, 8), ("2584", (2, 3), "012,0134", 3, 8), ("threes", (2, 3), "012,0134", 3, 12)]


def positions(game: Game, rows: int, columns: int, count: int, least: int = 0) -> list[State]:
    """Return states of random games in which a move is legal and a tile has at least a level."""
    draw, found = random.Random(1), []
    while len(found) < 8 * count:
        state, _ = game.draw_opening(rows, columns, draw.random)
        while moves := [move for action in range(4) if (move := game.move(state, action))]:
            if max(map(max, state.board)) >= least:
                found.append(state)
            state, _ = game.draw(draw.choice(moves).after, draw.random)
    return draw.sample(found, count)


class Case:
    """A game with a network, in kernels and in plain Python."""

    def __init__(self, name: str, shape: tuple[int, int], patterns: str) -> None:
        self.game, self.shape = find_game(name, *shape), shape
        self.rules: AnyRules = make_game_rules(name, *shape)
        hints = {"game": name, "levels": 16, "hints": self.game.num_hints} if name != "2048" else {}
        self.network: Network = random_network(*shape, patterns, **hints)
        self._lookup = make_lookup(self.network, 1)

    def search(self, kind: str, plies: int = 1) -> Search:
        return make_search(self.rules, self.network, ExpectimaxConfig(plies=plies, opponent=kind, leaf_bits=8))

    def leaf(self, after: Afterstate) -> float:
        board = encode_state(State(after.board, after.hint, after.bag))
        return float(value_of(self.rules, self.network, board, self._lookup))


@pytest.mark.parametrize("kind", ["minimax", "expectiminimax"])
@pytest.mark.parametrize(
    ("name", "shape", "patterns", "plies", "count"),
    [*SEARCHES, BONUS, *(pytest.param(*one, marks=pytest.mark.slow) for one in OTHERS + WIDE)],
)
def test_equals_plain_recursion(
    name: str, shape: tuple[int, int], patterns: str, plies: int, count: int, kind: str
) -> None:
    """In Threes! some positions allow a bonus tile, which a minimax opponent never announces."""
    case, values = Case(name, shape, patterns), np.zeros(4, np.float32)
    least = 7 if name == "threes-far-side" else 0  # level of a 48
    search = case.search(kind, plies)
    for state in positions(case.game, *shape, count, least):
        expected = reference.moves(case.game, state, plies, kind, case.leaf)
        search_moves(search, encode_state(state), values)
        np.testing.assert_allclose(values, expected, rtol=1e-5, atol=2e-3)


@pytest.mark.parametrize(("name", "kind"), [("2048", "minimax"), ("2584", "expectiminimax")])
def test_a_bound_is_not_remembered_as_a_value(name: str, kind: str) -> None:
    """With a high alpha the search of an afterstate ends early; a later search of it finds its value."""
    case = Case(name, (3, 3), "01,034,0124")
    search = case.search(kind)
    for state in positions(case.game, *case.shape, 10):
        move = next(move for action in range(4) if (move := case.game.move(state, action)))
        after = encode_state(State(move.after.board))
        expected = reference.least(case.game, move.after, 2, kind, case.leaf)
        for above in (1e6, expected + 1, expected + 0.01):
            assert least_value(search, after, 2, np.float32(above)) <= np.float32(above)
        for above in (expected - 0.01, -np.inf):
            found = least_value(search, after, 2, np.float32(above))
            assert found == pytest.approx(expected, rel=1e-5, abs=2e-3)


@pytest.mark.parametrize("kind", ["minimax", "expectiminimax"])
@pytest.mark.parametrize("one", [*SEARCHES, pytest.param(OTHERS[0], marks=pytest.mark.slow)], ids=lambda one: one[0])
def test_the_opponent_places_the_tile_where_the_best_reply_is_worst(one: tuple, kind: str) -> None:
    """It chooses among all placements, or among the cells for the tile that was drawn."""
    case = Case(*one[:3])
    search = case.search(kind)
    for number, state in enumerate(positions(case.game, *case.shape, 12)):
        move = next(move for action in range(4) if (move := case.game.move(state, action)))
        action = next(action for action in range(4) if case.game.move(state, action))
        after, _ = afterstate(case.rules, encode_state(state), action)
        drawn = number % int(count_placements(case.rules, back(after)))
        worst, level = worst_placement(search, back(after), drawn)
        values: dict[tuple, list[float]] = {}
        chosen: tuple = ()
        for event in case.game.events(move.after):
            cell, placed = reference.placed(move.after, event)
            key = (cell, placed, event.state.hint if kind == "minimax" else 0)
            best = max(reference.moves(case.game, event.state, 1, kind, case.leaf))
            share = 1.0 if kind == "minimax" else float(event.chance)  # all cells have equal chances
            values.setdefault(key, []).append(share * (event.points + (best if best > -np.inf else 0.0)))
            if event.state == decode_state(case.rules, worst):
                chosen = key
        assert chosen[1] == level
        rivals = [sum(found) for key, found in values.items() if kind == "minimax" or key[1] == level]
        assert sum(values[chosen]) == pytest.approx(min(rivals), rel=1e-5, abs=2e-3)
