"""The definitions of the games against rules that are written in tiles, and examples of the dissertation."""

import itertools
import random
from collections import Counter
from fractions import Fraction

import pytest
from reference import family, rules

from ntuple.core.games.definition import Afterstate, State
from ntuple.core.games.game_2048 import GAME_2048
from ntuple.core.games.game_2584 import GAME_2584
from ntuple.core.games.known import GAMES, find_game
from ntuple.core.games.threes import LEVEL_OF, THREES, THREES_EASY, THREES_SMALL
from ntuple.core.rules import DOWN, LEFT, RIGHT, UP

FULL = (4, 4, 4)


def board(text: str) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(LEVEL_OF[int(tile)] for tile in row.split()) for row in text.split("/"))


@pytest.mark.parametrize(
    ("game", "slide", "levels"),
    [(GAME_2584, family.slide_2584, range(12)), (THREES, family.slide_threes, range(15))],
    ids=["2584", "threes"],
)
def test_every_line_slides_as_the_rules_say(game, slide, levels) -> None:
    for line in itertools.product(levels, repeat=4):
        slid, points = game.slide(line)
        assert (tuple(game.tiles[level] for level in slid), points) == slide(tuple(game.tiles[level] for level in line))


def test_the_end_of_the_series() -> None:
    """2178309 is the largest tile that fits: it merges with nothing. 6144 does not merge either."""
    assert GAME_2584.tiles[-3:] == (832040, 1346269, 2178309)
    assert GAME_2584.slide((29, 30, 30, 31)) == ((31, 30, 31, 0), 2178309)
    assert THREES.slide((14, 14, 0, 0)) == ((14, 14, 0, 0), 0)


def test_2048_is_one_of_the_family() -> None:
    for line in itertools.product(range(6), repeat=4):
        assert GAME_2048.slide(line) == rules.slide(line)
    state = State(((1, 1, 2), (0, 3, 2)))
    for action in range(4):
        move, (after, reward) = GAME_2048.move(state, action), rules.afterstate(state.board, action)
        assert move is not None
        assert (move.after.board, move.points) == (after, reward)
        assert Counter({event.state.board: event.chance for event in GAME_2048.events(move.after)}) == Counter(
            {rules.spawn(after, code): p for code, p in rules.chance_probabilities(after).items()}
        )


def test_threes_places_a_tile_on_the_far_side_of_lines_that_changed() -> None:
    """Figure 33: the last slide was to the right and left the upper two rows as they were: cells 8 and 12 only."""
    before = State(board("0 3 1 6/0 0 0 2/0 3 0 0/6 0 2 0"), hint=1, bag=FULL)
    move = THREES.move(before, RIGHT)
    assert move is not None
    assert move.after.places == ((2, 0), (3, 0))
    easy = THREES_EASY.move(before, RIGHT)
    assert easy is not None
    assert easy.after.places == ((0, 0), (1, 0), (2, 0), (3, 0))
    far = {
        UP: {(3, 0), (3, 1), (3, 2), (3, 3)},
        DOWN: {(0, 0), (0, 1), (0, 2), (0, 3)},
        LEFT: {(0, 3), (1, 3), (2, 3), (3, 3)},
    }
    for action, side in far.items():
        move = THREES.move(State(board("0 0 0 0/0 1 1 0/0 1 1 0/0 0 0 0"), hint=1, bag=FULL), action)
        assert move is not None
        assert set(move.after.places) < side


def test_the_hint_is_placed_and_the_next_one_is_drawn() -> None:
    after = Afterstate(board("3 3 0 0/0 0 0 0/0 0 0 0/0 0 0 0"), ((3, 0), (3, 1)), hint=2, bag=(1, 0, 1))
    events = list(THREES.events(after))
    assert sum(event.chance for event in events) == 1
    assert {event.chance for event in events} == {Fraction(1, 4)}
    assert {(event.state.hint, event.state.bag) for event in events} == {(1, (0, 0, 1)), (3, (1, 0, 0))}
    assert all(2 in event.state.board[3][:2] for event in events)
    (last,) = {event.state.bag for event in THREES.events(after._replace(bag=(0, 1, 0)))}
    assert last == FULL  # an empty bag is filled again


@pytest.mark.parametrize(("largest", "bonus"), [(48, [6]), (96, [6, 12]), (384, [6, 12, 24, 48])])
def test_bonus_tiles_are_up_to_an_eighth_of_the_largest_tile(largest: int, bonus: list[int]) -> None:
    after = Afterstate(board(f"{largest} 0 0 0/0 0 0 0/0 0 0 0/0 0 0 0"), ((3, 3),), THREES.bonus_hint, FULL)
    placed: Counter[int] = Counter()
    for event in THREES.events(after):
        placed[THREES.tiles[event.state.board[3][3]]] += event.chance
        assert event.points == family.score_of_threes(THREES.tiles[event.state.board[3][3]])
    assert placed == dict.fromkeys(bonus, Fraction(1, len(bonus)))
    hints = Counter[int]()
    for event in THREES.events(after):
        hints[event.state.hint] += event.chance
    assert hints[THREES.bonus_hint] == Fraction(1, 21)
    below = after._replace(board=board("24 0 0 0/0 0 0 0/0 0 0 0/0 0 0 0"), hint=1)
    assert all(event.state.hint != THREES.bonus_hint for event in THREES.events(below))


@pytest.mark.parametrize("name", ["threes-easy", "threes-small"])
def test_the_bag_follows_from_the_tiles_if_no_bonus_tile_came(name: str) -> None:
    rng, game = random.Random(1), GAMES[name]
    for _ in range(20):
        hint = rng.randint(1, 3)
        state = State(((0, 0, 0),) * 3, hint, tuple(int(kind != hint) for kind in (1, 2, 3)))
        afters = [Afterstate(state.board, ((0, 0), (1, 1)), *state[1:])]
        while afters:
            state = rng.choice(list(game.events(rng.choice(afters)))).state
            assert game.bag_of(state.board, state.hint) == state.bag
            assert not game.fault_of(state)
            afters = [move.after for action in range(4) if (move := game.move(state, action))]


def test_a_doubtful_bag_is_a_full_one_less_the_hint() -> None:
    assert THREES.bag_of(((1, 2), (3, 0)), 2) == (4, 3, 4)
    assert THREES.bag_of(((8, 2), (3, 0)), THREES.bonus_hint) == (4, 4, 4)


def test_openings() -> None:
    small = list(THREES_SMALL.openings(2, 3))
    assert sum(event.chance for event in small) == 1
    assert {event.state.bag for event in small} == {(1, 0, 0), (0, 1, 0), (0, 0, 1)}
    assert {(event.state.board[0][0], event.points) for event in small} == {(0, 0), (0, 3), (1, 0), (2, 0), (3, 3)}
    assert sum(event.chance for event in GAME_2584.openings(2, 2)) == pytest.approx(1)


def test_names() -> None:
    assert all(find_game(name).name == name for name in GAMES)
    assert find_game("threes", 2, 3) == THREES_SMALL
    with pytest.raises(ValueError, match=r"there is no game 'three'; give one of: 2048, 2584"):
        find_game("three")
    with pytest.raises(ValueError, match="threes-far-side begins with 9 tiles, too many for a board of 3x3"):
        find_game("threes-far-side", 3, 3)
