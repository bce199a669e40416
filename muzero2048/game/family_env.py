"""Any game of the family on the device, derived from its definition (ntuple/core/games/definition.py).

The words of the rows are those of env.py. In a game with a bag, or in which tiles are placed at few cells, a board has
one word more:

    bits 0..15    afterstates: bit 4 * row + column of each cell where the environment may place a tile; states: 0
    bits 16..18   hint, in a game with a bag
    bits 19..27   tiles of each kind left in the bag, three bits each

Spawn codes number the chance events: (cell * P + placed level) * T + next hint, with P levels that the game places, in
the order of `Game.placed_levels`, and T hints, in the order 1, 2, ..., bonus tile. In a game without a bag T = 1.

An observation has the N cells and, in a game with a bag, hint and counts of the bag. In an afterstate an empty cell
where a tile may be placed has the level `len(game.tiles)`.
"""

import functools
import itertools
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, UInt8, UInt32

from muzero2048.game.env import Board, BoardGame, Game2048, add_tile
from muzero2048.game.family_lines import merging, slide_family
from muzero2048.game.openings import COUNT_BITS, DRAW_BITS, make_openings
from muzero2048.game.packed_lines import look_up, mix, nth_set_bit, scale_word
from ntuple.core.games.definition import MOST_LEVELS, Bag, Game
from ntuple.core.games.event_codes import PlacedTile, event_code
from ntuple.core.games.game_2048 import GAME_2048
from ntuple.core.games.known import find_game

_PLACES = np.uint32(0xFFFF)
_DRAW_AT = np.uint32(16)
_COUNT = np.uint32((1 << COUNT_BITS) - 1)
_MOST_KINDS = DRAW_BITS // COUNT_BITS - 1


class Hints(NamedTuple):
    """The hints that can follow a placement."""

    counts: list[UInt32[Array, "*B"]]  # tiles of each kind in the bag
    total: UInt32[Array, "*B"]
    has_bonus: Bool[Array, "*B"]  # the next tile can be a bonus tile


@dataclass(frozen=True)
class FamilyGame(BoardGame):
    """A game of the family on a board of `rows` x `columns`."""

    game: Game
    rows: int = 4
    columns: int = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.game.tiles) > MOST_LEVELS:
            raise ValueError(f"{self.game.name}: at most {MOST_LEVELS} levels")
        if self.kinds > _MOST_KINDS or (self.game.bag and self.game.bag.each > _COUNT):
            raise ValueError(f"{self.game.name}: a bag of at most {_MOST_KINDS} kinds and {_COUNT} tiles of each")

    @property
    def kinds(self) -> int:
        """Levels in the bag; 0 = no bag."""
        return self.game.bag.kinds if self.game.bag else 0

    @property
    def limits_places(self) -> bool:
        """Whether the environment may not place a tile at every empty cell."""
        return self.game.placement != "anywhere"

    @property
    def num_spawn_codes(self) -> int:
        """S = N * P * T."""
        return self.num_cells * len(self.game.placed_levels) * self.game.num_hints

    @property
    def tiles(self) -> tuple[int, ...]:
        """The tile of each level."""
        return self.game.tiles

    @property
    def goals(self) -> tuple[int, ...]:
        """Those of the game."""
        return self.game.goals

    @property
    def hints(self) -> int:
        """T in a game with a bag, else 0."""
        return self.game.num_hints if self.kinds else 0

    @property
    def observation_size(self) -> int:
        """The cells, and in a game with a bag hint and counts."""
        return self.num_cells + (1 + self.kinds if self.kinds else 0)

    @property
    def event_codes(self) -> np.ndarray:
        """Those of the chance events in the order of the spawn codes."""
        hints = range(1, self.game.num_hints + 1) if self.kinds else (0,)
        events = itertools.product(range(self.num_cells), self.game.placed_levels, hints)
        return np.array([event_code(self.game, PlacedTile(*event)) for event in events], np.int16)

    def observe(self, board: Board) -> UInt8[Array, "*B O"]:
        """Return the bytes of a state or an afterstate."""
        cells = self.flat_cells(board)
        if self.limits_places:
            cells = jnp.where(self._in_mask(board[-1]), jnp.uint8(len(self.game.tiles)), cells)
        if not self.kinds:
            return cells
        drawn = jnp.stack([self._hint(board), *self._counts(board)], axis=-1).astype(jnp.uint8)
        return jnp.concatenate([cells, drawn], axis=-1)

    def from_observation(self, observation: UInt8[Array, "*B O"]) -> Board:
        """Return the board of an observation."""
        flat = observation[..., : self.num_cells]
        is_place = flat == len(self.game.tiles)
        cells = jnp.where(is_place, jnp.uint8(0), flat).reshape(*flat.shape[:-1], self.rows, self.columns)
        rows = self.from_cells(cells)
        if not self._more_words:
            return rows
        bits = [is_place[..., cell].astype(jnp.uint32) << slot for cell, slot in enumerate(self._slots)]
        word = functools.reduce(operator.or_, bits)
        if self.kinds:
            hint, *counts = jnp.moveaxis(observation[..., self.num_cells :].astype(jnp.uint32), -1, 0)
            word |= self._draw_word(hint, counts)
        return (*rows, word)

    def empty(self, batch_shape: Sequence[int]) -> Board:
        """Return boards without a tile."""
        return (jnp.zeros(tuple(batch_shape), jnp.uint32),) * (self.rows + self._more_words)

    def opening_points(self, board: Board) -> Int[Array, "*B"]:
        """Return the points of all tiles on the board, if tiles earn their points when they are placed."""
        if not self.game.worth:
            return super().opening_points(board)
        return jnp.asarray(self.game.worth, jnp.int32)[self.flat_cells(board)].sum(axis=-1)

    def afterstate(self, board: Board, action: Int[Array, "*B"] | int) -> tuple[Board, Int[Array, "*B"]]:
        """Slide and merge, and find the places of the next tile."""
        rows, points, changed = self._slide_lines(board, action, functools.partial(slide_family, self.game))
        if not self._more_words:
            return rows, points
        word = board[-1] & ~_PLACES
        if self.limits_places:
            actions = jnp.broadcast_to(jnp.asarray(action, jnp.int32), word.shape)
            word |= self._far_side(actions, changed) & self._empty_mask(rows)
        return (*rows, word), points

    def _far_side(self, action: Int[Array, "*B"], changed: list[Bool[Array, "*B"]]) -> UInt32[Array, "*B"]:
        """Return the cells that are opposite to the wall of a move, of all lines or of those that changed."""
        flags = changed
        if self.game.placement == "far side":  # no line, if the move is not legal
            flags = [functools.reduce(operator.or_, changed)] * len(changed)
        numbers = [flag.astype(jnp.uint32) for flag in flags]
        in_row = functools.reduce(operator.or_, [x << np.uint32(i) for i, x in enumerate(numbers[: self.columns])])
        in_column = functools.reduce(operator.or_, [x << np.uint32(4 * i) for i, x in enumerate(numbers[: self.rows])])
        up, down, left = action == 0, action == 2, action == 3
        bottom, right = np.uint32(4 * (self.rows - 1)), np.uint32(self.columns - 1)
        horizontal = jnp.where(left, in_column << right, in_column)
        return jnp.where(up, in_row << bottom, jnp.where(down, in_row, horizontal))

    def expected_reward(self, afterstate: Board, points: Int[Array, "*B"]) -> Float[Array, "*B"]:
        """Add the expected points of the next tile, which the hint tells."""
        if not self.game.worth:
            return super().expected_reward(afterstate, points)
        worth = jnp.asarray([self.game.worth[level] for level in self.game.placed_levels], jnp.float32)
        expected = jnp.sum(self._level_chances(afterstate) * worth.reshape((1,) * points.ndim + (-1,)), axis=-1)
        can_place = self._places(afterstate) != 0
        return points.astype(jnp.float32) + jnp.where(can_place, expected, 0.0)

    def chance_probabilities(self, afterstate: Board) -> Float[Array, "*B S"]:
        """Return the probability of each spawn code (`Game.events`); all are 0 if no tile can be placed."""
        places = self._places(afterstate)
        cells = self._in_mask(places).astype(jnp.float32)
        cells = cells / jnp.maximum(cells.sum(axis=-1, keepdims=True), 1.0)
        levels = self._level_chances(afterstate)
        joint = cells[..., :, None, None] * levels[..., None, :, None] * self._hint_chances(afterstate)[..., None, :, :]
        return joint.reshape(*places.shape, self.num_spawn_codes)

    def _level_chances(self, afterstate: Board) -> Float[Array, "*B P"]:
        """Return the probability of each level that can be placed."""
        levels = self.game.placed_levels
        if self.game.bag is None:
            chances = jnp.asarray([float(share) for _, share in self.game.exact_spawns], jnp.float32)
            return jnp.broadcast_to(chances, (*afterstate[0].shape, len(levels)))
        hint, bonus = self._hint(afterstate), self._bonus_levels(afterstate, self.game.bag)
        by_level = []
        for level in levels:
            is_bonus = (level >= self.game.bag.bonus_least) & (level < self.game.bag.bonus_least + bonus)
            bonus_share = jnp.where(is_bonus, 1.0 / jnp.maximum(bonus, 1), 0.0)
            told = (hint == np.uint32(level)).astype(jnp.float32)
            by_level.append(jnp.where(hint == np.uint32(self.game.bonus_hint), bonus_share, told))
        return jnp.stack(by_level, axis=-1)

    def _hint_chances(self, afterstate: Board) -> Float[Array, "*B P T"]:
        """Return the probability of each hint after each level that can be placed."""
        shape = (*afterstate[0].shape, len(self.game.placed_levels), self.game.num_hints)
        if self.game.bag is None:
            return jnp.ones(shape)
        largest, rows = self._largest(afterstate), []
        for level in self.game.placed_levels:
            hints = self._hints(afterstate, jnp.maximum(largest, np.uint32(level)), self.game.bag)
            share = jnp.where(hints.has_bonus, float(self.game.bag.bonus_share), 0.0)
            total = jnp.maximum(hints.total, 1).astype(jnp.float32)
            kinds = [(1.0 - share) * count.astype(jnp.float32) / total for count in hints.counts]
            rows.append(jnp.stack([*kinds, share][: self.game.num_hints], axis=-1))
        return jnp.stack(rows, axis=-2)

    def place(self, afterstate: Board, spawn_code: Int[Array, "*B"]) -> Board:
        """Return the board after the chance event `spawn_code`, which must be possible."""
        code = spawn_code.astype(jnp.uint32)
        hint = code % np.uint32(self.game.num_hints) + np.uint32(1)
        placed = code // np.uint32(self.game.num_hints)
        levels = self.game.placed_levels
        level = look_up(levels, placed % np.uint32(len(levels)))
        cell = placed // np.uint32(len(levels))
        slot = np.uint32(4) * (cell // np.uint32(self.columns)) + cell % np.uint32(self.columns)
        return self._after_placement(afterstate, slot, level, hint)

    def placed_points(self, spawn_code: Int[Array, "*B"]) -> Int[Array, "*B"]:
        """Return the points of the tile that a chance event places."""
        if not self.game.worth:
            return super().placed_points(spawn_code)
        points = [self.game.place_points(level) for level in self.game.placed_levels]
        number = spawn_code.astype(jnp.uint32) // np.uint32(self.game.num_hints) % np.uint32(len(points))
        return look_up(points, number).astype(jnp.int32)

    def init_from_bits(self, bits: UInt32[Array, "*B"]) -> Board:
        """Draw the cells of the first tiles, and these tiles with hint and bag, each from a table (openings.py)."""
        openings = make_openings(self.game, self.rows, self.columns)
        chosen, _ = scale_word(bits, np.uint32(len(openings.cells)))
        entry, _ = scale_word(mix(bits), np.uint32(len(openings.tiles)))
        # XLA on a CPU reads an entry that has several uses in a loop of its own. Fused into a loop of arithmetic, one
        # reading would keep the whole loop from being vectorised (a step 2.4x slower).
        cells, tiles = _gather(openings.cells, chosen), _gather(openings.tiles, entry)
        rows = []
        for row in range(self.rows):
            word = jnp.zeros_like(bits)
            before = jax.lax.population_count(cells & np.uint32((1 << 4 * row) - 1))
            left = tiles >> (before * np.uint32(openings.tile_bits))
            for column in range(self.columns):
                has_tile = (cells >> np.uint32(4 * row + column)) & np.uint32(1)
                level = left & np.uint32((1 << openings.tile_bits) - 1)
                word |= (level * has_tile) << np.uint32(8 * column)
                left >>= has_tile * np.uint32(openings.tile_bits)
            rows.append(word)
        draw = tiles >> np.uint32(openings.draw_at)
        return (*rows, *(draw << _DRAW_AT,) * self._more_words)

    def spawn_from_bits(self, bits: UInt32[Array, "*B"], afterstate: Board) -> tuple[Board, Int[Array, "*B"]]:
        """Draw the cell, the tile where the hint does not tell it, and the next hint, one after the other."""
        places = self._places(afterstate)
        choice, bits = scale_word(bits, jax.lax.population_count(places))
        slot = nth_set_bit(places, choice)
        level, placed, bits = self._draw_level(bits, afterstate)
        hint = self._draw_hint(bits, afterstate, level)
        cell = (slot >> np.uint32(2)) * np.uint32(self.columns) + (slot & np.uint32(3))
        code = (cell * np.uint32(len(self.game.placed_levels)) + placed) * np.uint32(self.game.num_hints)
        code = code + (hint - np.uint32(1) if self.kinds else hint)
        return self._after_placement(afterstate, slot, level, hint), code.astype(jnp.int32)

    def _draw_level(
        self, bits: UInt32[Array, "*B"], afterstate: Board
    ) -> tuple[UInt32[Array, "*B"], UInt32[Array, "*B"], UInt32[Array, "*B"]]:
        """Return the level of the placed tile, its number among those that can be placed, and the next draw."""
        if self.game.bag is None:
            number, below = jnp.zeros_like(bits), Fraction(0)
            levels = self.game.placed_levels
            level = jnp.full_like(bits, np.uint32(levels[0]))
            for i, (_, share) in enumerate(self.game.exact_spawns[:-1]):
                below += share
                is_later = bits >= np.uint32(round(below * 2**32))
                number = jnp.where(is_later, np.uint32(i + 1), number)
                level = jnp.where(is_later, np.uint32(levels[i + 1]), level)
            return level, number, bits
        hint, bag = self._hint(afterstate), self.game.bag
        if not bag.bonus_share:
            return hint, hint - np.uint32(1), bits
        is_bonus = hint == np.uint32(self.game.bonus_hint)
        which, rest = scale_word(bits, self._bonus_levels(afterstate, bag))
        level = jnp.where(is_bonus, which + np.uint32(bag.bonus_least), hint)
        number = jnp.where(is_bonus, which + np.uint32(bag.kinds), hint - np.uint32(1))
        return level, number, jnp.where(is_bonus, rest, bits)

    def _draw_hint(
        self, bits: UInt32[Array, "*B"], afterstate: Board, level: UInt32[Array, "*B"]
    ) -> UInt32[Array, "*B"]:
        """Return the hint after the placement of a level; 0 in a game without a bag."""
        if self.game.bag is None:
            return jnp.zeros_like(bits)
        bag = self.game.bag
        hints = self._hints(afterstate, jnp.maximum(self._largest(afterstate), level), bag)
        is_bonus = jnp.zeros(bits.shape, bool)
        if bag.bonus_share:
            digit, rest = scale_word(bits, np.uint32(bag.bonus_share.denominator))
            is_bonus = hints.has_bonus & (digit < np.uint32(bag.bonus_share.numerator))
            # The digits of a bag tile are equally probable, so the fraction is uniform whatever the digit was.
            bits = jnp.where(hints.has_bonus, rest, bits)
        number, _ = scale_word(bits, hints.total)
        hint, below = jnp.ones_like(bits), jnp.zeros_like(bits)
        for count in hints.counts[:-1]:
            below = below + count
            hint = hint + (number >= below)
        return jnp.where(is_bonus, np.uint32(self.game.bonus_hint), hint)

    def _after_placement(
        self, afterstate: Board, slot: UInt32[Array, "*B"], level: UInt32[Array, "*B"], hint: UInt32[Array, "*B"]
    ) -> Board:
        """Return the state after a tile of this level was placed and this hint drawn from the bag."""
        rows = add_tile(afterstate[: self.rows], slot >> np.uint32(2), slot & np.uint32(3), level)
        if self.game.bag is None:
            return (*rows, *(jnp.zeros_like(rows[0]),) * self._more_words)
        kinds = range(1, self.kinds + 1)
        pairs = zip(kinds, self._counts(afterstate), strict=True)
        counts = [count - (hint == np.uint32(kind)) for kind, count in pairs]
        is_empty = functools.reduce(operator.or_, counts) == 0
        counts = [jnp.where(is_empty, np.uint32(self.game.bag.each), count) for count in counts]
        return (*rows, self._draw_word(hint, counts))

    def _mergeable(self, one: UInt32[Array, "*B"], other: UInt32[Array, "*B"]) -> UInt32[Array, "*B"]:
        return functools.reduce(operator.or_, merging(self.game, one, other))

    @property
    def _more_words(self) -> int:
        """Words of a board in addition to its rows."""
        return int(self.kinds > 0 or self.limits_places)

    def _places(self, afterstate: Board) -> UInt32[Array, "*B"]:
        """Return bit 4 * row + column of each cell where a tile may be placed."""
        return afterstate[-1] & _PLACES if self.limits_places else self._empty_mask(afterstate)

    @property
    def _slots(self) -> list[np.uint32]:
        """The bit 4 * row + column of each cell."""
        return [np.uint32(4 * row + column) for row in range(self.rows) for column in range(self.columns)]

    def _in_mask(self, mask: UInt32[Array, "*B"]) -> Bool[Array, "*B N"]:
        """Return which cells have their bit in a mask."""
        return jnp.stack([(mask >> slot) & np.uint32(1) for slot in self._slots], axis=-1) != 0

    def _hint(self, board: Board) -> UInt32[Array, "*B"]:
        return (board[-1] >> _DRAW_AT) & _COUNT

    def _counts(self, board: Board) -> list[UInt32[Array, "*B"]]:
        """Return how many tiles of each kind are in the bag."""
        shifts = [_DRAW_AT + np.uint32(COUNT_BITS * kind) for kind in range(1, self.kinds + 1)]
        return [(board[-1] >> shift) & _COUNT for shift in shifts]

    def _draw_word(self, hint: UInt32[Array, "*B"], counts: Sequence[UInt32[Array, "*B"]]) -> UInt32[Array, "*B"]:
        """Return the bits of hint and bag."""
        numbers = [number << np.uint32(COUNT_BITS * place) for place, number in enumerate((hint, *counts))]
        return functools.reduce(operator.or_, numbers) << _DRAW_AT

    def _hints(self, afterstate: Board, largest: UInt32[Array, "*B"], bag: Bag) -> Hints:
        """Return the hints that can follow, if the largest tile has this level after the placement."""
        counts = self._counts(afterstate)
        has_bonus = largest >= np.uint32(bag.bonus_from if bag.bonus_share else MOST_LEVELS)
        return Hints(counts, functools.reduce(operator.add, counts), has_bonus)

    def _bonus_levels(self, afterstate: Board, bag: Bag) -> UInt32[Array, "*B"]:
        """Return how many levels a bonus tile can have; 0 if the largest tile is too small, or if there is none."""
        if not bag.bonus_share:
            return jnp.zeros_like(afterstate[0])
        least = np.uint32(bag.bonus_least + bag.bonus_below - 1)
        return jnp.maximum(self._largest(afterstate), least) - least

    def _largest(self, board: Board) -> UInt32[Array, "*B"]:
        """Return the largest level of a board."""
        return functools.reduce(jnp.maximum, self.list_cells(board))


def make_board_game(name: str, rows: int, columns: int) -> BoardGame:
    """Return the game of a name; 2048 has an environment of its own, which is faster. ValueError if there is none."""
    game = find_game(name, rows, columns)
    return Game2048(rows, columns) if game is GAME_2048 else FamilyGame(game, rows, columns)


def _gather(table: np.ndarray, index: UInt32[Array, "*B"]) -> UInt32[Array, "*B"]:
    return jnp.asarray(table).at[index].get(mode="promise_in_bounds")
