"""The positions of any game as 64-bit words, and the rules on them that the solver needs.

2048: the word is `lo` of the board. Other games: `lo`, with 15 in each cell where the environment may place a tile if
the game limits the places, and the draw (ntuple.game.family) in the top 12 bits if it has a bag. So tiles have levels
up to 15, or 14 in a game that limits the places, and a game with a bag needs a board of at most three rows.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntuple.core.games.known import find_game
from ntuple.game import family_events
from ntuple.game.any_game import AnyRules, make_game_rules
from ntuple.game.bitboard import ONE, U2, U15, ZERO, Board, Rules, flip, mirror, transposed
from ntuple.game.family import ANYWHERE, FIFTH, FamilyRules, by_game
from ntuple.game.jit import inline

LEVELS = 15  # the largest level that fits in a word
MOST_INITIAL = 2  # initial tiles of a game that is solved
DRAW_AT = np.uint64(52)  # first bit of the draw
CELLS = np.uint64((1 << 52) - 1)


def rules_of(game: str, rows: int, columns: int) -> AnyRules:
    """Return the rules of a game; ValueError if there is no such game or its words need more bits than there are."""
    found = find_game(game, rows, columns)
    if found.initial_tiles > MOST_INITIAL:
        first = f"{game} begins with {found.initial_tiles} tiles in more ways than can be listed"
        raise ValueError(f"{first}; give threes on a smaller board, such as 2x3")
    if found.bag and rows > 3:
        raise ValueError(f"{game} is solved on boards of at most three rows; give {rows}x{columns} as {columns}x{rows}")
    return make_game_rules(game, rows, columns)


@inline
def _word_of_lo(rules: Rules, board: Board) -> np.uint64:
    return board.lo


@inline
def _word_of_family(rules: FamilyRules, board: Board) -> np.uint64:
    word = board.lo
    if rules.placement != ANYWHERE:
        word |= ((board.hi >> ONE) & FIFTH) * U15
    return word | family_events.draw_of(board) << DRAW_AT if rules.kinds > 0 else word


@inline
def _board_of_lo(rules: Rules, word: np.uint64) -> Board:
    return Board(word, ZERO)


@inline
def _board_of_family(rules: FamilyRules, word: np.uint64) -> Board:
    hi = ZERO
    if rules.kinds > 0:
        hi = family_events.draw_bits(word >> DRAW_AT)
        word &= CELLS
    if rules.placement != ANYWHERE:
        pairs = word & (word >> ONE)
        places = pairs & (pairs >> U2) & FIFTH
        word ^= places * U15
        hi |= places << ONE
    return Board(word, hi)


def words_of_states(lo: NDArray[np.uint64], draws: NDArray[np.uint16]) -> NDArray[np.uint64]:
    """Return the words of states by `lo` of their boards [N] and their draws [N], 0 in a game without a bag."""
    return lo | draws.astype(np.uint64) << DRAW_AT


@inline
def _smallest_view(rules: Any, word: np.uint64) -> np.uint64:
    board = Board(word, ZERO)
    flipped = flip(rules, board)
    words = (word, mirror(rules, board).lo, flipped.lo, mirror(rules, flipped).lo)
    least = min(min(words[0], words[1]), min(words[2], words[3]))
    if rules.rows == rules.columns:
        for one in words:
            least = min(least, transposed(Board(one, ZERO)).lo)
    return least


@inline
def _smallest_view_with_draw(rules: FamilyRules, word: np.uint64) -> np.uint64:
    draw = word & ~CELLS if rules.kinds > 0 else ZERO
    return _smallest_view(rules, word ^ draw) | draw


@inline
def _half_sum(rules: Rules, board: Board) -> int:
    total, word = ZERO, board.lo
    while word:
        level = word & U15
        if level:
            total += ONE << (level - ONE)
        word >>= np.uint64(4)
    return int(total)


@inline
def _sum(rules: FamilyRules, board: Board) -> int:
    total, word = 0, board.lo
    while word:
        total += rules.tiles[word & U15]
        word >>= np.uint64(4)
    return total


@inline
def _half(rules: Rules, level: int) -> int:
    return 1 << (level - 1)


@inline
def _tile(rules: FamilyRules, level: int) -> int:
    return rules.tiles[level]


word_of = by_game(_word_of_lo, _word_of_family)  # (rules, board): the word of a position
board_of = by_game(_board_of_lo, _board_of_family)  # (rules, word): its board
canonical = by_game(_smallest_view, _smallest_view_with_draw)  # (rules, word): the smallest word of its views
layer_of = by_game(_half_sum, _sum)  # (rules, board): the sum of the tiles; half of it in 2048
layers_up = by_game(_half, _tile)  # (rules, level): what a placed tile adds to it
