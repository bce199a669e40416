"""A hand-made evaluation of boards, for search without any training.

    V(board) = sum over rows and columns of  e empty + m merges - d min(rise, fall) - s sum

empty counts empty cells, merges pairs of equal neighbours (empty cells between them left out), and sum adds level^q
over the tiles, which is less for one large tile than for its two halves. rise adds a^p - b^p over neighbouring levels
a > b in one direction, fall in the other: a line that only rises or only falls costs nothing. (Horban 2022 names these
features: monotonicity, empty and mergeable tiles.)
"""

import itertools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntuple.expectimax.config import HeuristicConfig
from ntuple.game.bitboard import Board, Rules, index_word, transpose
from ntuple.game.jit import inline

ROW = np.uint64(0xFFFF)


class Heuristic(NamedTuple):
    """What a line is worth; made by `make_heuristic`."""

    rows: NDArray[np.float32]  # [65536] of a line of W cells, a nibble a cell
    columns: NDArray[np.float32]  # [65536] of a line of H cells


def make_heuristic(config: HeuristicConfig, rows: int, columns: int) -> Heuristic:
    """The tables of the lines of an H x W board; cells beyond a line count nothing."""
    return Heuristic(_line_values(config, columns), _line_values(config, rows))


@inline
def heuristic_value(rules: Rules, heuristic: Heuristic, board: Board) -> np.float32:
    """V of a board; tiles above 32768 count as 32768."""
    word = index_word(board)
    turned = transpose(word)
    total = np.float32(0)
    for line in range(rules.rows):
        total += heuristic.rows[(word >> np.uint64(16 * line)) & ROW]
    for line in range(rules.columns):
        total += heuristic.columns[(turned >> np.uint64(16 * line)) & ROW]
    return total


def _line_values(config: HeuristicConfig, length: int) -> NDArray[np.float32]:
    """The value of each line of so many cells."""
    lines = np.arange(65536)
    cells = [(lines >> 4 * i) & 15 for i in range(length)]
    empty = sum((cell == 0).astype(np.float64) for cell in cells)
    total = sum(cell.astype(np.float64) ** config.sum_power for cell in cells)
    merges, before = np.zeros(65536), np.zeros(65536, np.int64)
    for cell in cells:
        merges += (cell > 0) & (cell == before)
        before = np.where(cell > 0, cell, before)
    rise = fall = np.zeros(65536)
    for one, other in itertools.pairwise(cells):
        step = one**config.monotonicity_power - other**config.monotonicity_power
        fall, rise = fall + np.maximum(step, 0), rise + np.maximum(-step, 0)
    value = config.empty * empty + config.merges * merges
    value -= config.monotonicity * np.minimum(rise, fall) + config.sum * total
    return value.astype(np.float32)
