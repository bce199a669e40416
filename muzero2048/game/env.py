"""What the games of the family share on the device, and 2048, for thousands of boards at once.

Actions: up, right, down, left = 0..3. A cell holds the level of its tile, in 2048 log2; 0 = empty. Cells are numbered
row by row from the top left. `S` = number of spawn codes, the chance events of the rules; in 2048 these are 2 H W
codes: 2 * cell + (1 if the tile is a 4 else 0). The other games: family_env.py.

A board is a tuple of H words uint32[*B], one word per row, one byte per cell (game/packed_lines.py). Moves are then
arithmetic on whole words. They need no tables, so tiles may be of any size, and XLA vectorises them over the batch.
Keep boards as separate words inside a jitted loop: with a stacked array [*B, H], XLA fuses and recomputes every row for
every cell (9x slower on a CPU).

In games whose positions have more than tiles, such as a hint of the next tile, a board has one more word. An
observation of a board is all of it in bytes, for networks and replay: `O` bytes, the N cells first.
"""

import functools
import itertools
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, UInt8, UInt32

from muzero2048.game.packed_lines import UNIT_BITS, mirror, nth_set_bit, occupied, scale_draw, slide, transpose
from ntuple.core.games.game_2048 import GAME_2048
from ntuple.core.rules import FOUR_SHARE

NUM_ACTIONS = 4
STEP_DRAWS = 2  # random draws per board in one step: the spawn, and the start of the next game

Board = tuple[UInt32[Array, "*B"], ...]

_FOUR_THRESHOLD = np.uint32(round(FOUR_SHARE * 2**UNIT_BITS))
_FOUR_RATIO = Fraction(FOUR_SHARE).limit_denominator(16)  # of openings; 16^2 units of UNIT_BITS fit in 32 bits


class Transition(NamedTuple):
    """What one step returns in addition to the next board."""

    reward: Int[Array, "*B"]  # points of the move and of the placed tile; in 2048 the sum of the merged tiles
    done: Bool[Array, "*B"]  # no legal move after the spawn; the next board then starts a new game
    spawn_code: Int[Array, "*B"]  # the chance event of the step, also if it ended the game


Slide = Callable[[UInt32[Array, "*B"], int], tuple[UInt32[Array, "*B"], UInt32[Array, "*B"]]]


class MovedLines(NamedTuple):
    """Boards after a move."""

    board: Board  # the rows
    points: Int[Array, "*B"]
    changed: list[Bool[Array, "*B"]]  # of each line along the move, from the top or the left


class BoardGame:
    """Rules and dynamics on boards of `rows` x `columns` cells, 2 to 4 each. All methods are pure and jittable.

    A subclass is a frozen dataclass.
    """

    rows: int  # H
    columns: int  # W

    def __post_init__(self) -> None:
        if not (2 <= self.rows <= 4 and 2 <= self.columns <= 4):
            raise ValueError(f"board {self.rows}x{self.columns}: rows and columns must be between 2 and 4")

    @property
    def num_cells(self) -> int:
        """N = H * W."""
        return self.rows * self.columns

    @property
    def num_spawn_codes(self) -> int:
        """S."""
        raise NotImplementedError

    @property
    def tiles(self) -> tuple[int, ...]:
        """The tile of each level; 0 for the empty cell."""
        raise NotImplementedError

    @property
    def goals(self) -> tuple[int, ...]:
        """Tiles of which the shares of games that reach them are reported."""
        raise NotImplementedError

    @property
    def largest_level(self) -> int:
        """The level of the largest tile of boards that players analyse."""
        return len(self.tiles) - 1

    @property
    def hints(self) -> int:
        """How many hints there are; 0: the game tells none."""
        return 0

    @property
    def observation_size(self) -> int:
        """O, the bytes of an observation."""
        return self.num_cells

    @property
    def event_codes(self) -> np.ndarray:
        """The number in records and analyses of each spawn code, int16[S] (ntuple/core/games/event_codes.py)."""
        return np.arange(self.num_spawn_codes, dtype=np.int16)

    def from_cells(self, cells: UInt8[Array, "*B H W"]) -> Board:
        """Pack cells into words."""
        padded = jnp.pad(cells, [(0, 0)] * (cells.ndim - 1) + [(0, 4 - self.columns)])
        words = jax.lax.bitcast_convert_type(padded, jnp.uint32)
        return tuple(words[..., row] for row in range(self.rows))

    def to_cells(self, board: Board) -> UInt8[Array, "*B H W"]:
        """Unpack words into cells."""
        cells = jax.lax.bitcast_convert_type(jnp.stack(board[: self.rows], axis=-1), jnp.uint8)
        return cells[..., : self.columns]

    def flat_cells(self, board: Board) -> UInt8[Array, "*B N"]:
        """Unpack words into cells, row by row on one axis."""
        return self.to_cells(board).reshape(*board[0].shape, self.num_cells)

    def list_cells(self, board: Board) -> list[UInt32[Array, "*B"]]:
        """Unpack words into cells, row by row, one array each."""
        pairs = itertools.product(board[: self.rows], range(self.columns))
        return [(word >> np.uint32(8 * column)) & np.uint32(0xFF) for word, column in pairs]

    def observe(self, board: Board) -> UInt8[Array, "*B O"]:
        """Return all of a state or an afterstate in bytes, the cells first."""
        return self.flat_cells(board)

    def from_observation(self, observation: UInt8[Array, "*B O"]) -> Board:
        """Return the board of an observation: the inverse of `observe`."""
        return self.from_cells(observation.reshape(*observation.shape[:-1], self.rows, self.columns))

    def empty(self, batch_shape: Sequence[int]) -> Board:
        """Return boards without a tile."""
        return (jnp.zeros(tuple(batch_shape), jnp.uint32),) * self.rows

    def init(self, key: PRNGKeyArray, batch_shape: Sequence[int] = ()) -> Board:
        """Return boards at the start of a game."""
        return self.init_from_bits(jax.random.bits(key, tuple(batch_shape), jnp.uint32))

    def opening_points(self, board: Board) -> Int[Array, "*B"]:
        """Return the points that the first tiles of a game earn; 0 in most games."""
        return jnp.zeros(board[0].shape, jnp.int32)

    def legal_actions(self, board: Board) -> Bool[Array, "*B 4"]:
        """Return which moves change the board."""
        return jnp.stack(self._legal(board), axis=-1)

    def is_over(self, board: Board) -> Bool[Array, "*B"]:
        """Return whether no move changes the board."""
        return ~functools.reduce(operator.or_, self._legal(board))

    def random_action(self, key: PRNGKeyArray, board: Board) -> Int[Array, "*B"]:
        """Draw a legal action uniformly; the board must have one."""
        return self.random_action_from_bits(jax.random.bits(key, board[0].shape, jnp.uint32), board)

    def afterstate(self, board: Board, action: Int[Array, "*B"] | int) -> tuple[Board, Int[Array, "*B"]]:
        """Return the board after the move and before the spawn, and the points of the move.

        An illegal move leaves the board unchanged and earns 0.
        """
        raise NotImplementedError

    def all_afterstates(self, board: Board) -> tuple[tuple[UInt32[Array, "*B A"], ...], Int[Array, "*B A"]]:
        """Return afterstates and points of the four moves, legal or not."""
        boards = tuple(jnp.broadcast_to(word[..., None], (*word.shape, NUM_ACTIONS)) for word in board)
        actions = jnp.broadcast_to(jnp.arange(NUM_ACTIONS), boards[0].shape)
        return self.afterstate(boards, actions)

    def expected_reward(self, afterstate: Board, points: Int[Array, "*B"]) -> Float[Array, "*B"]:
        """Return the expected points of a step: those of the move, and of the tile that will be placed."""
        return points.astype(jnp.float32)

    def chance_probabilities(self, afterstate: Board) -> Float[Array, "*B S"]:
        """Return the probability of each spawn code; all are 0 if no tile can be placed."""
        raise NotImplementedError

    def spawn(self, key: PRNGKeyArray, afterstate: Board) -> tuple[Board, Int[Array, "*B"]]:
        """Make a random chance event; return the board and the spawn code."""
        return self.spawn_from_bits(jax.random.bits(key, afterstate[0].shape, jnp.uint32), afterstate)

    def place(self, afterstate: Board, spawn_code: Int[Array, "*B"]) -> Board:
        """Return the board after the chance event `spawn_code`; its cell must be empty."""
        raise NotImplementedError

    def placed_points(self, spawn_code: Int[Array, "*B"]) -> Int[Array, "*B"]:
        """Return the points of the tile that a chance event places; 0 in most games."""
        return jnp.zeros_like(spawn_code)

    def step(self, key: PRNGKeyArray, board: Board, action: Int[Array, "*B"]) -> tuple[Board, Transition]:
        """Move, spawn, and start a new game where this one ended (auto-reset).

        `action` is legal on each board, and no game is over.
        """
        return self.step_from_bits(jax.random.bits(key, (STEP_DRAWS, *board[0].shape), jnp.uint32), board, action)

    # The methods below take their random bits as an argument, 32 bits per board and draw. A loop can then make all
    # draws of a step in one call, which saves the ten small kernels of every other threefry call (2x faster at 64
    # boards on a CPU).

    def init_from_bits(self, bits: UInt32[Array, "*B"]) -> Board:
        """`init` from one draw per board."""
        raise NotImplementedError

    def random_action_from_bits(self, bits: UInt32[Array, "*B"], board: Board) -> Int[Array, "*B"]:
        """`random_action` from one draw per board."""
        flags = self._legal(board)
        legal = functools.reduce(operator.or_, [flag.astype(jnp.uint32) << i for i, flag in enumerate(flags)])
        choice, _ = scale_draw(bits, jax.lax.population_count(legal))
        return nth_set_bit(legal, choice).astype(jnp.int32)

    def spawn_from_bits(self, bits: UInt32[Array, "*B"], afterstate: Board) -> tuple[Board, Int[Array, "*B"]]:
        """`spawn` from one draw per board."""
        raise NotImplementedError

    def step_from_bits(
        self, bits: UInt32[Array, "draws *B"], board: Board, action: Int[Array, "*B"]
    ) -> tuple[Board, Transition]:
        """`step` from given draws.

        `bits` are STEP_DRAWS draws per board.
        """
        after, reward = self.afterstate(board, action)
        moved, spawn_code = self.spawn_from_bits(bits[0], after)
        done = self.is_over(moved)
        reward = reward + self.placed_points(spawn_code)
        return where(done, self.init_from_bits(bits[1]), moved), Transition(reward, done, spawn_code)

    def _slide_lines(self, board: Board, action: Int[Array, "*B"] | int, slide: Slide) -> MovedLines:
        """Slide the lines of boards; the last word of a board that is no row is not read."""
        action = jnp.asarray(action, jnp.int32)
        vertical = action % 2 == 0
        backward = (action == 1) | (action == 2)

        def orient(line: UInt32[Array, "*B"]) -> UInt32[Array, "*B"]:
            # A move to the right is a move to the left of the mirrored line. A column has H cells, a row W.
            mirrored = jnp.where(vertical, mirror(line, self.rows), mirror(line, self.columns))
            return jnp.where(backward, mirrored, line)

        rows = board[: self.rows]
        columns = transpose(rows, self.columns)
        pairs = itertools.zip_longest(columns, rows, fillvalue=jnp.zeros_like(board[0]))
        lines = [orient(jnp.where(vertical, column, row)) for column, row in pairs]
        slid, points = zip(*(slide(line, max(self.rows, self.columns)) for line in lines), strict=True)
        changed = [after != line for after, line in zip(slid, lines, strict=True)]
        slid = tuple(orient(line) for line in slid)
        turned_back = transpose(slid[: self.columns], self.rows)
        after = tuple(
            jnp.where(vertical, column, row) for column, row in zip(turned_back, slid[: self.rows], strict=True)
        )
        return MovedLines(after, functools.reduce(operator.add, points).astype(jnp.int32), changed)

    def _empty_mask(self, board: Board) -> UInt32[Array, "*B"]:
        """Set bit 4 * row + column where the cell is empty."""
        real = np.uint32(sum(0x80 << (8 * column) for column in range(self.columns)))

        def nibble(word: UInt32[Array, "*B"]) -> UInt32[Array, "*B"]:
            # Gather bits 0, 8, 16, 24 into one nibble: the product moves bit 8i to bit 24 + i, without carries.
            return (((~occupied(word) & real) >> 7) * np.uint32(0x01020408)) >> 24

        rows = board[: self.rows]
        return functools.reduce(operator.or_, [nibble(word) << np.uint32(4 * row) for row, word in enumerate(rows)])

    def _mergeable(self, one: UInt32[Array, "*B"], other: UInt32[Array, "*B"]) -> UInt32[Array, "*B"]:
        """Set the top bit of each byte where two tiles merge; it is arbitrary where `one` is empty."""
        raise NotImplementedError

    def _legal(self, board: Board) -> tuple[Bool[Array, "*B"], ...]:
        """Return the legal moves as four flags.

        A move is legal iff some pair of neighbours along it merges, or is (empty, tile) seen from the wall.
        """
        pairs = np.uint32(sum(0x80 << (8 * column) for column in range(self.columns - 1)))
        rows = board[: self.rows]
        tiles_of = [occupied(word) for word in rows]
        up, right, down, left = [], [], [], []
        for word, tiles in zip(rows, tiles_of, strict=True):
            neighbour = tiles >> np.uint32(8)
            merges = self._mergeable(word, word >> np.uint32(8)) & tiles
            left.append(((~tiles & neighbour) | merges) & pairs)
            right.append(((tiles & ~neighbour) | merges) & pairs)
        for row in range(self.rows - 1):
            upper, lower = tiles_of[row], tiles_of[row + 1]
            merges = self._mergeable(rows[row], rows[row + 1]) & upper
            up.append((~upper & lower) | merges)
            down.append((upper & ~lower) | merges)
        return tuple(functools.reduce(operator.or_, flags) != 0 for flags in (up, right, down, left))


@dataclass(frozen=True)
class Game2048(BoardGame):
    """2048."""

    rows: int = 4
    columns: int = 4

    @property
    def largest_level(self) -> int:
        """That of 131072."""
        return GAME_2048.largest_level

    @property
    def num_spawn_codes(self) -> int:
        """S = 2 * H * W."""
        return 2 * self.num_cells

    @property
    def tiles(self) -> tuple[int, ...]:
        """0, 2, 4, 8, ...; boards have no largest tile, the list ends where int32 does."""
        return (0, *(1 << level for level in range(1, 31)))

    @property
    def goals(self) -> tuple[int, ...]:
        """2048, 4096, 8192, ..."""
        return GAME_2048.goals

    def afterstate(self, board: Board, action: Int[Array, "*B"] | int) -> tuple[Board, Int[Array, "*B"]]:
        """Slide and merge; the points are the sum of the merged tiles."""
        moved = self._slide_lines(board, action, slide)
        return moved.board, moved.points

    def chance_probabilities(self, afterstate: Board) -> Float[Array, "*B S"]:
        """Return the probability of each spawn code; all are 0 if the board is full.

        The cell is uniform over the empty cells; the tile is a 4 with probability FOUR_SHARE, else a 2.
        """
        empty = (self.flat_cells(afterstate) == 0).astype(jnp.float32)
        uniform = empty / jnp.maximum(empty.sum(-1, keepdims=True), 1.0)
        tiles = jnp.array([1.0 - FOUR_SHARE, FOUR_SHARE], jnp.float32)
        return jnp.multiply.outer(uniform, tiles).reshape(*uniform.shape[:-1], self.num_spawn_codes)

    def place(self, afterstate: Board, spawn_code: Int[Array, "*B"]) -> Board:
        """Return the board after the chance event `spawn_code`; its cell must be empty."""
        code = spawn_code.astype(jnp.uint32)
        cell, tile = code >> 1, (code & 1) + 1
        row, column = cell // self.columns, cell % self.columns
        return add_tile(afterstate, row, column, tile)

    def init_from_bits(self, bits: UInt32[Array, "*B"]) -> Board:
        """Place two tiles: the integer part of the draw selects two cells, its fraction the tiles."""
        pair, fraction = scale_draw(bits, np.uint32(self.num_cells * (self.num_cells - 1)))
        first, second = pair // (self.num_cells - 1), pair % (self.num_cells - 1)
        second = second + (second >= first)
        fours, base = (np.uint32(number) for number in _FOUR_RATIO.as_integer_ratio())
        digits = jnp.divmod((fraction * base**2) >> np.uint32(UNIT_BITS), base)
        board = self.empty(bits.shape)
        for cell, digit in zip((first, second), digits, strict=True):
            tile = (digit < fours).astype(jnp.uint32) + 1
            board = add_tile(board, cell // self.columns, cell % self.columns, tile)
        return board

    def spawn_from_bits(self, bits: UInt32[Array, "*B"], afterstate: Board) -> tuple[Board, Int[Array, "*B"]]:
        """Place a tile: the integer part of the draw selects an empty cell, its fraction the tile."""
        empty = self._empty_mask(afterstate)
        choice, fraction = scale_draw(bits, jax.lax.population_count(empty))
        slot = nth_set_bit(empty, choice)  # 4 * row + column for every width
        tile = (fraction < _FOUR_THRESHOLD).astype(jnp.uint32) + 1
        row, column = slot >> np.uint32(2), slot & np.uint32(3)
        cell = row * np.uint32(self.columns) + column
        return add_tile(afterstate, row, column, tile), (2 * cell + tile - 1).astype(jnp.int32)

    def _mergeable(self, one: UInt32[Array, "*B"], other: UInt32[Array, "*B"]) -> UInt32[Array, "*B"]:
        """Equal tiles merge."""
        return ~occupied(one ^ other)


def where(condition: Bool[Array, "*B"], chosen: Board, other: Board) -> Board:
    """Select between two boards for each element of the batch."""
    return tuple(jnp.where(condition, a, b) for a, b in zip(chosen, other, strict=True))


def add_tile(board: Board, row: UInt32[Array, "*B"], column: UInt32[Array, "*B"], tile: UInt32[Array, "*B"]) -> Board:
    """Return the board with a tile on an empty cell."""
    addend = tile << (column * np.uint32(8))
    return tuple(word + jnp.where(row == np.uint32(i), addend, np.uint32(0)) for i, word in enumerate(board))
