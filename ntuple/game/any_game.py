"""The rules of all games under one name each: of 2048 (bitboard.py), or of its family (family.py, family_events.py).

All functions take the rules first, and their type decides. numba chooses when it compiles, so a kernel for 2048 has the
machine code of 2048 alone.
"""

import functools
from typing import Any

import numpy as np

from ntuple.core.games.game_2048 import GAME_2048
from ntuple.core.games.known import find_game
from ntuple.core.rules import FOUR_SHARE
from ntuple.game import bitboard, family, family_events
from ntuple.game.bitboard import FOUR_BELOW, LOW_32, U15, ZERO, Board, Rules, index_word, is_same, make_rules
from ntuple.game.family import FIFTH, FamilyRules, by_game, make_family_rules
from ntuple.game.family_events import HINT
from ntuple.game.jit import inline, kernel
from ntuple.game.rng import mix, step

AnyRules = Rules | FamilyRules


@functools.cache
def make_game_rules(game: str, rows: int, columns: int) -> AnyRules:
    """Return the rules of a game by its name; ValueError if there is none, or the board is too large."""
    found = find_game(game, rows, columns)
    return make_rules(rows, columns) if found is GAME_2048 else make_family_rules(found, rows, columns)


def goals_of(rules: AnyRules) -> tuple[int, ...]:
    """Return the tiles of which the shares of games that reach them are reported."""
    return tuple(rules.goals.tolist()) if isinstance(rules, FamilyRules) else GAME_2048.goals


def largest_level(rules: AnyRules) -> int:
    """Return the level of the largest tile of boards that players analyse."""
    return int(rules.tiles.argmax()) if isinstance(rules, FamilyRules) else GAME_2048.largest_level


def count_all_hints(rules: AnyRules) -> int:
    """Return how many hints the game has; 0: it tells none."""
    return rules.kinds + (rules.bonus_share > 0) if isinstance(rules, FamilyRules) else 0


def most_events(rules: AnyRules) -> int:
    """Return the largest number of chance events of an afterstate, which has one tile at least."""
    cells = rules.rows * rules.columns - 1
    if not isinstance(rules, FamilyRules):
        return 2 * cells
    if rules.kinds == 0:
        return cells * rules.spawn_levels.size
    largest, (_, least, below) = np.count_nonzero(rules.tiles), rules.bonus
    bonus_tiles = int(largest - below - least + 1) if rules.bonus_share > 0 else 1
    places = cells if rules.placement == family.ANYWHERE else max(rules.rows, rules.columns)
    return places * (rules.kinds + (rules.bonus_share > 0)) * bonus_tiles


@inline
def _spawn(rules: Rules, after: Board, bits: np.uint64) -> tuple[Board, np.uint64]:
    return bitboard.spawn(rules, after, bits), ZERO


@inline
def _opening(rules: Rules, rng: np.uint64) -> tuple[Board, np.uint64, np.uint64]:
    first = step(rng)
    second = step(first)
    board = bitboard.spawn(rules, bitboard.spawn(rules, Board(ZERO, ZERO), mix(first)), mix(second))
    return board, second, ZERO


@inline
def _two_spawns(rules: Rules, after: Board) -> int:
    return 2


@inline
def _either_spawn(rules: Rules, after: Board, cell: np.uint64, number: int) -> tuple[Board, float, int]:
    return Board(after.lo | cell << np.uint64(number), after.hi), FOUR_SHARE if number else 1 - FOUR_SHARE, 1 + number


@inline
def _either_number(rules: Rules, after: Board, bits: np.uint64) -> int:
    return int((bits & LOW_32) < FOUR_BELOW)


@inline
def _hint(rules: FamilyRules, board: Board) -> np.uint64:
    return family_events.draw_of(board) & HINT


@inline
def _any_tile(rules: Rules, state: Board) -> bool:
    return True


@inline
def _no_bonus(rules: FamilyRules, state: Board) -> bool:
    return bool(np.int64(_hint(rules, state)) <= rules.kinds)


@inline
def _no_points(rules: Rules, level: int) -> int:
    return 0


@inline
def _points(rules: FamilyRules, level: int) -> int:
    return rules.place_points[level]


@inline
def _as_it_is(rules: Rules, state: Board, cells: Board) -> Board:
    return cells


@inline
def _with_draw(rules: FamilyRules, state: Board, cells: Board) -> Board:
    return family_events.free_afterstate(rules, cells, family_events.draw_of(state))


@inline
def _power(rules: Rules, level: np.int64) -> np.int64:
    return np.int64(1) << level


@inline
def _tile(rules: FamilyRules, level: np.int64) -> np.int64:
    return rules.tiles[level]


@inline
def _goal(rules: Rules, number: int) -> int:
    return 2048 << number


@inline
def _goal_of_family(rules: FamilyRules, number: int) -> int:
    return rules.goals[number]


@inline
def _word(rules: Rules, board: Board) -> np.uint64:
    return index_word(board)


@inline
def _word_of_family(rules: FamilyRules, board: Board) -> np.uint64:
    return board.lo | (board.hi & FIFTH) * U15


@inline
def _words(rules: Rules, board: Board) -> tuple[np.uint64, np.uint64]:
    return index_word(board), ZERO


@inline
def _words_of_family(rules: FamilyRules, board: Board) -> tuple[np.uint64, np.uint64]:
    return board.lo, board.hi & FIFTH


@inline
def _nothing(rules: Rules, board: Board) -> np.uint64:
    return ZERO


@inline
def _marks(rules: FamilyRules, board: Board) -> np.uint64:
    return family_events.places(rules, board) * U15


# (board, action): the afterstate, and the points
afterstate: Any = by_game(bitboard.afterstate, family.afterstate)
# (board, action): board and afterstate turned in the same way, and the points; see bitboard.py
turned_afterstate: Any = by_game(bitboard.turned_afterstate, family.turned_afterstate)
# (after): bit 0 of each cell where a tile may be placed
places: Any = by_game(bitboard.empty_cells, family_events.places)
# (after): in how many ways a tile can be placed on one cell
count_placements: Any = by_game(_two_spawns, family_events.count_placements)
# (after): how many tiles can be placed on one cell; `count_placements` is this number times that of the next hints
count_tiles: Any = by_game(_two_spawns, family_events.count_tiles)
# (state): whether an opponent may choose its last placement: the next tile is none that the game gives as a bonus
may_choose: Any = by_game(_any_tile, _no_bonus)
# (after, cell, number): the state after one of these ways, its probability among them, the level of the placed tile
placement: Any = by_game(_either_spawn, family_events.placement)
# (after, bits): the number of one of these ways, drawn with the low 32 of 64 random bits
drawn_placement: Any = by_game(_either_number, family_events.drawn_placement)
# (level): points of a placed tile
place_points: Any = by_game(_no_points, _points)
# (after, bits): a state drawn with 64 random bits, and the points of the placed tile
spawn: Any = by_game(_spawn, family_events.spawn)
# (rng): the board at the start of a game, the state of the random stream after it, and the points of the first tiles
opening: Any = by_game(_opening, family_events.opening)
# (state, cells): a made-up afterstate with these cells, the hint and the bag of the state, and every place allowed
free_afterstate: Any = by_game(_as_it_is, _with_draw)
# (level): the tile
tile_of: Any = by_game(_power, _tile)
# (number): a goal of the game
goal: Any = by_game(_goal, _goal_of_family)
# (board): one nibble for each cell; levels above 15 count as 15
nibbles_of: Any = by_game(_word, _word_of_family)
# (board): low four bits of each level, one nibble for each cell, and its fifth bit; in 2048 `nibbles_of` and 0
level_words: Any = by_game(_words, _words_of_family)
# (board): hint, 0 in a game without hints
hint_of: Any = by_game(_nothing, _hint)
# (after): 15 in the nibble of each cell where a tile may be placed; 0 in 2048
place_marks: Any = by_game(_nothing, _marks)


@kernel
def has_move(rules: AnyRules, board: Board) -> bool:
    """Return whether any move is legal on a board."""
    for action in range(4):
        after, _ = afterstate(rules, board, action)
        if not is_same(after, board):
            return True
    return False
