"""Exact values of small boards, up to six cells: the truth for searches, and perfect leaf values.

    V(s)  = max over legal a of r(s, a) + V(as),  0 if the game is over
    V(as) = sum over spawns c of p(c) V(as + c)

in points, without discount (Guei 2023, eq. 20-22, to the end of the game). Every board has a place in a dense table,
its number in base L with the cells as digits. Moves keep the sum of the tiles and spawns add to it, so one pass over
the sums in falling order fills the table.
"""

import functools
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from muzero2048.game.env import FOUR_PROBABILITY, NUM_ACTIONS, Board, Game2048

MOST_CELLS = 6  # 2x3: 8^6 boards


class Solution(NamedTuple):
    """All boards of one size, by their number."""

    game: Game2048
    states: Float[np.ndarray, "boards"]  # V(s), of no meaning where out of reach
    afterstates: Float[np.ndarray, "boards"]  # V(as)
    reachable: Bool[np.ndarray, "boards"]  # play can bring the player here, to move or at the end of the game

    def number(self, board: Board) -> Int[Array, "*B"]:
        """Places of boards in the tables."""
        digits = self.game.to_cells(board).reshape(*board[0].shape, self.game.num_cells).astype(jnp.int32)
        return digits @ (_base(self.game) ** jnp.arange(self.game.num_cells))

    def board(self, numbers: Int[np.ndarray, "B"]) -> Board:
        """The boards of these numbers."""
        return _boards(self.game, numbers)


def _base(game: Game2048) -> int:
    """L, one more than the level of the largest tile that play can reach, 2^(cells + 1)."""
    return game.num_cells + 2


def _digits(game: Game2048, numbers: Int[np.ndarray, "B"]) -> Int[np.ndarray, "B cells"]:
    base = _base(game)
    return (numbers[:, None] // base ** np.arange(game.num_cells)) % base


def _boards(game: Game2048, numbers: Int[np.ndarray, "B"]) -> Board:
    cells = _digits(game, numbers).reshape(-1, game.rows, game.columns)
    return game.from_cells(jnp.asarray(cells, jnp.uint8))


@functools.cache
def solve(game: Game2048) -> Solution:
    """Solve a board.

    Raises:
        ValueError: the board has more than six cells.
    """
    if game.num_cells > MOST_CELLS:
        raise ValueError(f"board {game.rows}x{game.columns}: exact values are tabled for up to {MOST_CELLS} cells")
    base = _base(game)
    numbers = np.arange(base**game.num_cells)
    cells, board = _digits(game, numbers), _boards(game, numbers)
    blank = np.zeros(len(numbers))
    solution = Solution(game, blank, blank.copy(), np.zeros(len(numbers), bool))
    moves = [game.afterstate(board, action) for action in range(NUM_ACTIONS)]
    rewards = np.array([reward for _, reward in moves], np.float64)
    after = np.array([solution.number(words) for words, _ in moves])
    # A merge of two largest tiles leaves the table; no play comes to it.
    inside = np.array([game.to_cells(words).max(axis=(-2, -1)) < base for words, _ in moves])
    legal = np.array(game.legal_actions(board)).T & inside
    after = np.where(legal, after, 0)

    def spawns(layer: Int[np.ndarray, "n"]) -> list[tuple[Bool[np.ndarray, "n"], Int[np.ndarray, "n"], float]]:
        """(possible, board behind, probability times the number of empty cells) of every spawn code."""
        return [
            (cells[layer, cell] == 0, layer + tile * base**cell, probability)
            for cell in range(game.num_cells)
            for tile, probability in ((1, 1 - FOUR_PROBABILITY), (2, FOUR_PROBABILITY))
        ]

    layers = _by_sum(tile_sums(cells))
    for layer in layers:
        total = np.zeros(len(layer))
        for free, behind, probability in spawns(layer):
            total[free] += probability * solution.states[behind[free]]
        solution.afterstates[layer] = total / np.maximum((cells[layer] == 0).sum(axis=1), 1)
        q_values = rewards[:, layer] + solution.afterstates[after[:, layer]]
        solution.states[layer] = np.max(np.where(legal[:, layer], q_values, 0.0), axis=0)
    solution.reachable[_openings(game)] = True
    for layer in reversed(layers):
        here = layer[solution.reachable[layer]]
        left = np.unique(after[:, here][legal[:, here]])
        for free, behind, _ in spawns(left):
            solution.reachable[behind[free]] = True
    return solution


def tile_sums(cells: Int[np.ndarray, "B cells"]) -> Int[np.ndarray, "B"]:
    """What is on the tiles of each board together."""
    return np.where(cells > 0, 2**cells, 0).sum(axis=1)


def _openings(game: Game2048) -> Int[np.ndarray, "n"]:
    tiles = [tile * _base(game) ** cell for cell in range(game.num_cells) for tile in (1, 2)]
    return np.array([a + b for i, a in enumerate(tiles) for j, b in enumerate(tiles) if i // 2 < j // 2])


def _by_sum(sums: Int[np.ndarray, "boards"]) -> list[Int[np.ndarray, "layer"]]:
    """Numbers of the boards of each sum of tiles, the largest sum first."""
    order = np.argsort(-sums, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(sums[order])) + 1)
