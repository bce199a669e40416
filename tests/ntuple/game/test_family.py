"""The kernels of the family against the definitions: every line, and every chance event of random games."""

import itertools
import random

import numpy as np
import pytest

from ntuple.core.games.definition import Game, State
from ntuple.core.games.known import GAMES
from ntuple.game import family, family_events
from tests.ntuple.drivers import back

SHAPES = [(4, 4), (2, 3), (3, 2)]


@pytest.mark.parametrize("game", GAMES.values(), ids=GAMES)
def test_every_line_slides_as_defined(game: Game) -> None:
    table = family.make_family_rules(game, 4, 4).slide
    most = min(len(game.tiles), 13)
    for line in [
        *itertools.product(range(most), repeat=4),
        *itertools.permutations(range(len(game.tiles) - 5, len(game.tiles)), 4),
    ]:
        lo = sum((level & 15) << 4 * i for i, level in enumerate(line))
        fifth = sum((level >> 4) << i for i, level in enumerate(line))
        entry = int(table[lo | fifth << 16])
        slid = tuple((entry >> 4 * i & 15) | (entry >> 16 + 4 * i & 1) << 4 for i in range(4))
        assert (slid, entry >> 32) == game.slide(line)


@pytest.mark.parametrize("shape", SHAPES, ids=["4x4", "2x3", "3x2"])
@pytest.mark.parametrize("game", GAMES.values(), ids=GAMES)
def test_a_random_game_has_the_moves_and_events_of_the_definition(game: Game, shape: tuple[int, int]) -> None:
    rules, draw = family.make_family_rules(game, *shape), random.Random(1)
    outside = ~(rules.cells * np.uint64(15)) & ~family.DRAW
    cells = list(itertools.product(range(shape[0]), range(shape[1])))
    state = State(((0,) * shape[1],) * shape[0], *((2, (1, 0, 1)) if game.bag else ()))
    for row, column in draw.sample(cells, 2):  # two tiles, and one that lets bonus tiles come
        levels = [list(line) for line in state.board]
        levels[row][column] = draw.choice((1, 2, 8))
        state = state._replace(board=tuple(map(tuple, levels)))
    for _ in range(60):
        board = family_events.encode_state(state)
        assert family_events.decode_state(rules, board) == state
        moves = [game.move(state, action) for action in range(4)]
        for action, move in enumerate(moves):
            after, points = family.afterstate(rules, board, action)
            after = back(after)
            if move is None:
                assert after == board
                continue
            assert points == move.points
            assert not (after.lo | after.hi) & outside
            assert family_events.decode_state(rules, after) == State(move.after.board, move.after.hint, move.after.bag)
            word = int(family_events.places(rules, after))
            bits = {(row, column): 1 << 4 * (4 * row + column) for row, column in move.after.places}
            assert word == sum(bits.values())
            found: dict[State, float] = {}
            for bit, number in itertools.product(bits.values(), range(family_events.count_placements(rules, after))):
                placed, chance, _ = family_events.placement(rules, after, np.uint64(bit), number)
                key = family_events.decode_state(rules, placed)
                found[key] = found.get(key, 0) + chance / len(bits)
            known: dict[State, float] = {}
            for event in game.events(move.after):
                known[event.state] = known.get(event.state, 0) + float(event.chance)
            assert found == pytest.approx(known, rel=1e-12)
        legal = [move for move in moves if move]
        if not legal:
            break
        events = list(game.events(draw.choice(legal).after))
        state = draw.choices(events, [float(event.chance) for event in events])[0].state


@pytest.mark.parametrize("shape", SHAPES, ids=["4x4", "2x3", "3x2"])
def test_turns_keep_the_draw(shape: tuple[int, int]) -> None:
    rules = family.make_family_rules(GAMES["threes"], *shape)
    levels = np.arange(shape[0] * shape[1]).reshape(shape) % 15
    state = State(tuple(map(tuple, levels.tolist())), 4, (4, 3, 2))
    board = family_events.encode_state(state)
    for turn, turned in ((family.mirror, levels[:, ::-1]), (family.flip, levels[::-1])):
        found = family_events.decode_state(rules, turn(rules, board))
        assert found == state._replace(board=tuple(map(tuple, turned.tolist())))
