"""Properties of any board, pattern and index, checked on generated examples."""

import functools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import ntuple as reference
from reference import rules

from ntuple.game.bitboard import Rules, encode, flip, make_rules, mirror, transposed, turned_afterstate
from ntuple.tables.layout import scramble, smaller_index, unscramble
from ntuple.tables.network import Network, make_network
from tests.ntuple.drivers import entries, positions, to_board, to_reference

TILES = st.integers(0, 17)
WORDS = st.integers(0, 2**32 - 1)


@st.composite
def boards(draw: st.DrawFn) -> rules.Board:
    """Draw a board of any size, with tiles up to 131072."""
    rows, columns = draw(st.sampled_from([(4, 4), (3, 3), (2, 3), (3, 2), (2, 2), (1, 4), (4, 1)]))
    return tuple(tuple(draw(TILES) for _ in range(columns)) for _ in range(rows))


@functools.cache
def _rules(rows: int, columns: int) -> Rules:
    return make_rules(rows, columns)


@functools.cache
def _network(text: str) -> Network:
    return make_network(text, 4, 4, 0.0)


@given(boards())
def test_boards_turn_as_the_reference_says(board: rules.Board) -> None:
    game = _rules(len(board), len(board[0]))
    word = to_board(board)
    assert to_reference(game, word) == board
    assert to_reference(game, mirror(game, word)) == rules.mirror(board)
    assert to_reference(game, flip(game, word)) == board[::-1]
    assert transposed(word) == encode(np.array(rules.transpose(board)))


@given(boards(), st.sampled_from(rules.ACTIONS))
def test_a_turned_move_is_the_move_up_to_symmetry(board: rules.Board, action: int) -> None:
    game = _rules(len(board), len(board[0]))
    after, reward = rules.afterstate(board, action)
    source, turned, points = turned_afterstate(game, to_board(board), action)
    source, turned = to_reference(game, source), to_reference(game, turned)
    views = zip(rules.symmetries(board), rules.symmetries(after), strict=True)
    assert (source, turned) in list(views)  # the same view of the board and of the afterstate
    assert points == reward


@given(st.permutations(range(16)), st.integers(1, 4), st.lists(TILES, min_size=16, max_size=16))
@settings(max_examples=30)
def test_any_pattern_finds_the_entries_of_the_reference(order: list[int], size: int, tiles: list[int]) -> None:
    pattern = tuple(order[:size])
    board = tuple(tuple(tiles[row : row + 4]) for row in range(0, 16, 4))
    network = _network("".join(f"{cell:x}" for cell in pattern))
    found = positions(network, entries(_rules(4, 4), network, board).entries)
    assert found == [reference.index(pattern, view) for view in rules.symmetries(board)]


@given(WORDS, WORDS)
def test_places_are_found_back_and_halved(index: int, salt: int) -> None:
    """`unscramble` inverts `scramble`, which keeps the low 4 bits; `smaller_index` halves all tiles of an index."""
    salt = np.uint32(salt & ~15)
    place = scramble(np.uint32(index), salt)
    assert unscramble(np.uint32(place), salt) == index
    assert place % 16 == index % 16
    assert smaller_index(np.uint32(index)) == reference.halved(index)
