"""The game of 2048 for thousands of boards at once.

Glossary of shapes in this package: `*B` any leading batch axes, `H, W` board, `A` = 4 actions,
`S` = 2*H*W spawn codes. Actions: up, right, down, left = 0..3. A cell holds log2 of its tile, 0 = empty.
A spawn is coded 2 * cell + (1 if the tile is a 4 else 0), cells numbered row by row from the top left.

A board is a tuple of H words uint32[*B], one word a row, one byte a cell, the leftmost cell in the lowest byte;
rows shorter than four cells leave the high bytes zero. Sliding is then arithmetic on whole words, without
tables, so no tile is too large, and XLA vectorises it over the batch. Keep boards as separate words inside a
jitted loop: a stacked array [*B, H] makes XLA fuse, and recompute, every row for every cell (9x slower on a CPU).
"""

import functools
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, UInt8, UInt32

NUM_ACTIONS = 4
FOUR_PROBABILITY = 0.1
STEP_DRAWS = 2  # random draws a board in one step: the spawn, and the start of the next game

Board = tuple[UInt32[Array, "*B"], ...]

_CELL = np.uint32(0xFF)
_TOP_BITS = np.uint32(0x80808080)
_LOW_BITS = np.uint32(0x7F7F7F7F)
# A draw is scaled by the number of choices in 24 bits: n choices are biased by less than n / 2^24 of their share,
# 2^-20 for a cell, 2^-16 for the pair of cells of an opening.
_UNIT_BITS = 24
_FOUR_THRESHOLD = np.uint32(round(FOUR_PROBABILITY * 2**_UNIT_BITS))


class Transition(NamedTuple):
    """What one step returns beside the next board."""

    reward: Int[Array, "*B"]  # sum of the merged tiles
    done: Bool[Array, "*B"]  # the spawn left no legal move; the next board then starts a new game
    spawn_code: Int[Array, "*B"]  # the chance event, also of a step that ended the game


@dataclass(frozen=True)
class Game2048:
    """Rules and dynamics on boards of `rows` x `columns` cells, 2 to 4 each. All methods are pure and jittable."""

    rows: int = 4  # H
    columns: int = 4  # W

    def __post_init__(self) -> None:
        if not (2 <= self.rows <= 4 and 2 <= self.columns <= 4):
            raise ValueError(f"board {self.rows}x{self.columns}: rows and columns must be between 2 and 4")

    @property
    def num_cells(self) -> int:
        """H * W."""
        return self.rows * self.columns

    @property
    def num_spawn_codes(self) -> int:
        """S = 2 * H * W."""
        return 2 * self.num_cells

    def from_cells(self, cells: UInt8[Array, "*B H W"]) -> Board:
        """Pack cells into words."""
        padded = jnp.pad(cells, [(0, 0)] * (cells.ndim - 1) + [(0, 4 - self.columns)])
        words = jax.lax.bitcast_convert_type(padded, jnp.uint32)
        return tuple(words[..., row] for row in range(self.rows))

    def to_cells(self, board: Board) -> UInt8[Array, "*B H W"]:
        """Unpack words into cells."""
        cells = jax.lax.bitcast_convert_type(jnp.stack(board, axis=-1), jnp.uint8)
        return cells[..., : self.columns]

    def empty(self, batch_shape: Sequence[int]) -> Board:
        """Boards without a tile."""
        return (jnp.zeros(tuple(batch_shape), jnp.uint32),) * self.rows

    def init(self, key: PRNGKeyArray, batch_shape: Sequence[int] = ()) -> Board:
        """Boards at the start of a game: two spawns on an empty board."""
        return self.init_from_bits(jax.random.bits(key, tuple(batch_shape), jnp.uint32))

    def legal_actions(self, board: Board) -> Bool[Array, "*B 4"]:
        """Which moves change the board."""
        return jnp.stack(self._legal(board), axis=-1)

    def is_over(self, board: Board) -> Bool[Array, "*B"]:
        """No move changes the board."""
        return ~functools.reduce(operator.or_, self._legal(board))

    def random_action(self, key: PRNGKeyArray, board: Board) -> Int[Array, "*B"]:
        """A legal action drawn uniformly; the board must have one."""
        return self.random_action_from_bits(jax.random.bits(key, board[0].shape, jnp.uint32), board)

    def afterstate(self, board: Board, action: Int[Array, "*B"] | int) -> tuple[Board, Int[Array, "*B"]]:
        """The board after the move and before the spawn, with the reward (sum of the merged tiles).

        An illegal move leaves the board as it is and earns 0.
        """
        action = jnp.asarray(action, jnp.int32)
        vertical = action % 2 == 0
        backward = (action == 1) | (action == 2)

        def orient(line: UInt32[Array, "*B"]) -> UInt32[Array, "*B"]:
            # A move to the right is a move to the left of the mirrored line. A column has H cells, a row W.
            mirrored = jnp.where(vertical, _mirror(line, self.rows), _mirror(line, self.columns))
            return jnp.where(backward, mirrored, line)

        columns = _transpose(board, self.columns)
        num_lines = max(self.rows, self.columns)
        blank = jnp.zeros_like(board[0])
        lines = [
            orient(jnp.where(vertical, column, row))
            for column, row in zip(_pad(columns, num_lines, blank), _pad(board, num_lines, blank), strict=True)
        ]
        slid, rewards = zip(*(_slide(line, max(self.rows, self.columns)) for line in lines), strict=True)
        slid = tuple(orient(line) for line in slid)
        turned_back = _transpose(slid[: self.columns], self.rows)
        after = tuple(
            jnp.where(vertical, column, row) for column, row in zip(turned_back, slid[: self.rows], strict=True)
        )
        return after, functools.reduce(operator.add, rewards).astype(jnp.int32)

    def chance_probabilities(self, afterstate: Board) -> Float[Array, "*B S"]:
        """Probability of each spawn code: uniform over the empty cells, a 2 with 0.9 and a 4 with 0.1; 0 if full."""
        cells = self.to_cells(afterstate).reshape(*afterstate[0].shape, self.num_cells)
        empty = (cells == 0).astype(jnp.float32)
        uniform = empty / jnp.maximum(empty.sum(-1, keepdims=True), 1.0)
        tiles = jnp.array([1.0 - FOUR_PROBABILITY, FOUR_PROBABILITY], jnp.float32)
        return jnp.multiply.outer(uniform, tiles).reshape(*uniform.shape[:-1], self.num_spawn_codes)

    def spawn(self, key: PRNGKeyArray, afterstate: Board) -> tuple[Board, Int[Array, "*B"]]:
        """Place a random tile on an empty cell; returns the board and the spawn code."""
        return self.spawn_from_bits(jax.random.bits(key, afterstate[0].shape, jnp.uint32), afterstate)

    def place(self, afterstate: Board, spawn_code: Int[Array, "*B"]) -> Board:
        """The board after the chance event `spawn_code`; its cell must be empty."""
        code = spawn_code.astype(jnp.uint32)
        cell, tile = code >> 1, (code & 1) + 1
        row, column = cell // self.columns, cell % self.columns
        return _add_tile(afterstate, row, column, tile)

    def step(self, key: PRNGKeyArray, board: Board, action: Int[Array, "*B"]) -> tuple[Board, Transition]:
        """Move, spawn, and where that ends the game start a new one (auto-reset). The action must be legal."""
        return self.step_from_bits(jax.random.bits(key, (STEP_DRAWS, *board[0].shape), jnp.uint32), board, action)

    # The same with the random bits given, 32 a board and a draw: a loop that makes all its draws of a step in one call
    # saves threefry's ten small kernels a call (2x faster at 64 boards on a CPU).

    def init_from_bits(self, bits: UInt32[Array, "*B"]) -> Board:
        """`init`, from one draw a board: its integer part picks two cells, its fraction the two tiles."""
        pair, fraction = _scale(bits, np.uint32(self.num_cells * (self.num_cells - 1)))
        first, second = pair // (self.num_cells - 1), pair % (self.num_cells - 1)
        second = second + (second >= first)
        tens, ones = jnp.divmod((fraction * np.uint32(100)) >> np.uint32(_UNIT_BITS), np.uint32(10))
        board = self.empty(bits.shape)
        for cell, digit in ((first, tens), (second, ones)):
            tile = (digit == 0).astype(jnp.uint32) + 1  # one digit of ten: a 4 with probability 0.1
            board = _add_tile(board, cell // self.columns, cell % self.columns, tile)
        return board

    def random_action_from_bits(self, bits: UInt32[Array, "*B"], board: Board) -> Int[Array, "*B"]:
        """`random_action`, from one draw a board."""
        flags = self._legal(board)
        legal = functools.reduce(operator.or_, [flag.astype(jnp.uint32) << i for i, flag in enumerate(flags)])
        choice, _ = _scale(bits, jax.lax.population_count(legal))
        return _nth_set_bit(legal, choice).astype(jnp.int32)

    def spawn_from_bits(self, bits: UInt32[Array, "*B"], afterstate: Board) -> tuple[Board, Int[Array, "*B"]]:
        """`spawn`, from one draw a board: the integer part of the scaled draw picks the cell, its fraction the tile."""
        empty = self._empty_mask(afterstate)
        choice, fraction = _scale(bits, jax.lax.population_count(empty))
        slot = _nth_set_bit(empty, choice)  # 4 * row + column, whatever the width
        tile = (fraction < _FOUR_THRESHOLD).astype(jnp.uint32) + 1
        row, column = slot >> np.uint32(2), slot & np.uint32(3)
        cell = row * np.uint32(self.columns) + column
        return _add_tile(afterstate, row, column, tile), (2 * cell + tile - 1).astype(jnp.int32)

    def step_from_bits(
        self, bits: UInt32[Array, "draws *B"], board: Board, action: Int[Array, "*B"]
    ) -> tuple[Board, Transition]:
        """`step`, from STEP_DRAWS draws a board."""
        after, reward = self.afterstate(board, action)
        moved, spawn_code = self.spawn_from_bits(bits[0], after)
        done = self.is_over(moved)
        return where(done, self.init_from_bits(bits[1]), moved), Transition(reward, done, spawn_code)

    def _empty_mask(self, board: Board) -> UInt32[Array, "*B"]:
        """Bit 4 * row + column is set where the cell is empty."""
        real = np.uint32(sum(0x80 << (8 * column) for column in range(self.columns)))

        def nibble(word: UInt32[Array, "*B"]) -> UInt32[Array, "*B"]:
            # Bits 0, 8, 16, 24 into one nibble: the product lands bit 8i on bit 24 + i, without carries.
            return (((~_occupied(word) & real) >> 7) * np.uint32(0x01020408)) >> 24

        return functools.reduce(operator.or_, [nibble(word) << np.uint32(4 * row) for row, word in enumerate(board)])

    def _legal(self, board: Board) -> tuple[Bool[Array, "*B"], ...]:
        """A move is legal iff some pair of neighbours along it is (empty, tile) seen from the wall, or equal."""
        pairs = np.uint32(sum(0x80 << (8 * column) for column in range(self.columns - 1)))
        occupied = [_occupied(word) for word in board]
        up, right, down, left = [], [], [], []
        for word, tiles in zip(board, occupied, strict=True):
            neighbour = tiles >> np.uint32(8)
            equal = ~_occupied(word ^ (word >> np.uint32(8))) & tiles
            left.append(((~tiles & neighbour) | equal) & pairs)
            right.append(((tiles & ~neighbour) | equal) & pairs)
        for row in range(self.rows - 1):
            upper, lower = occupied[row], occupied[row + 1]
            equal = ~_occupied(board[row] ^ board[row + 1]) & upper
            up.append((~upper & lower) | equal)
            down.append((upper & ~lower) | equal)
        return tuple(functools.reduce(operator.or_, found) != 0 for found in (up, right, down, left))


def where(condition: Bool[Array, "*B"], chosen: Board, other: Board) -> Board:
    """Boards taken from `chosen` where the condition holds."""
    return tuple(jnp.where(condition, a, b) for a, b in zip(chosen, other, strict=True))


def _pad(words: Sequence[UInt32[Array, "*B"]], length: int, blank: UInt32[Array, "*B"]) -> list[UInt32[Array, "*B"]]:
    return [*words, *[blank] * (length - len(words))]


def _mirror(word: UInt32[Array, "*B"], length: int) -> UInt32[Array, "*B"]:
    """The line of `length` cells read backwards: the bytes swapped, then shifted over the 4 - length unused ones."""
    odd = np.uint32(0x00FF00FF)
    word = ((word & odd) << np.uint32(8)) | ((word >> np.uint32(8)) & odd)
    return ((word << np.uint32(16)) | (word >> np.uint32(16))) >> np.uint32(8 * (4 - length))


def _transpose(lines: Sequence[UInt32[Array, "*B"]], length: int) -> list[UInt32[Array, "*B"]]:
    """Words of the transposed board; `length` is the number of cells in each given line."""
    return [
        functools.reduce(
            operator.or_,
            [((line >> np.uint32(8 * i)) & _CELL) << np.uint32(8 * j) for j, line in enumerate(lines)],
        )
        for i in range(length)
    ]


def _occupied(word: UInt32[Array, "*B"]) -> UInt32[Array, "*B"]:
    """The top bit of each byte is set where the byte is not zero (bytes below 128)."""
    return (word + _LOW_BITS) & _TOP_BITS


def _slide(line: UInt32[Array, "*B"], length: int) -> tuple[UInt32[Array, "*B"], UInt32[Array, "*B"]]:
    """Slide the cells of a word towards its lowest byte, with the sum of the merged tiles."""
    for i in reversed(range(length - 1)):  # close the gaps, the far ones first
        below = np.uint32((1 << (8 * i)) - 1)
        hole = ((line >> np.uint32(8 * i)) & _CELL) == 0
        line = jnp.where(hole, (line & below) | ((line >> np.uint32(8)) & ~below), line)
    reward = jnp.zeros_like(line)
    for i in range(length - 1):  # merge, the pair nearest the wall first; a merged tile has its successor moved up
        cell = (line >> np.uint32(8 * i)) & _CELL
        merges = (cell == (line >> np.uint32(8 * i + 8)) & _CELL) & (cell != 0)
        kept = np.uint32((1 << (8 * i + 8)) - 1)
        merged = ((line & kept) + np.uint32(1 << (8 * i))) | ((line >> np.uint32(8)) & ~kept)
        line = jnp.where(merges, merged, line)
        reward = reward + jnp.where(merges, np.uint32(2) << cell, np.uint32(0))
    return line, reward


def _scale(
    bits: UInt32[Array, "*B"], count: UInt32[Array, "*B"] | np.uint32
) -> tuple[UInt32[Array, "*B"], UInt32[Array, "*B"]]:
    """Integer and 24-bit fraction of count * u, u uniform in [0, 1); count at most 256."""
    product = (bits >> np.uint32(32 - _UNIT_BITS)) * count
    return product >> np.uint32(_UNIT_BITS), product & np.uint32(2**_UNIT_BITS - 1)


def _nth_set_bit(mask: UInt32[Array, "*B"], n: UInt32[Array, "*B"]) -> UInt32[Array, "*B"]:
    """Position of the n-th (from 0) set bit among the low 16, by halving."""
    position = jnp.zeros_like(mask)
    for width in (8, 4, 2, 1):
        count = jax.lax.population_count((mask >> position) & np.uint32((1 << width) - 1))
        above = n >= count
        n = jnp.where(above, n - count, n)
        position = jnp.where(above, position + np.uint32(width), position)
    return position


def _add_tile(board: Board, row: UInt32[Array, "*B"], column: UInt32[Array, "*B"], tile: UInt32[Array, "*B"]) -> Board:
    addend = tile << (column * np.uint32(8))
    return tuple(word + jnp.where(row == np.uint32(i), addend, np.uint32(0)) for i, word in enumerate(board))
