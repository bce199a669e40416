"""A hand-made evaluation of boards, for search without training.

    V(board) = sum over rows and columns of  e empty + m merges - d min(rise, fall) - s sum

- empty: number of empty cells.
- merges: number of pairs of equal neighbours, ignoring empty cells between them.
- sum: sum of level^q over the tiles, which is less for one large tile than for its two halves.
- rise, fall: sum of a^p - b^p over neighbouring levels a > b, rise in one direction and fall in the other. A line that
  only rises or only falls costs nothing.

Horban 2022 names these features: monotonicity, empty and mergeable tiles.
"""

import itertools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntuple.expectimax.config import HeuristicConfig
from ntuple.game.any_game import AnyRules, nibbles_of
from ntuple.game.bitboard import Board, transpose
from ntuple.game.jit import inline

ROW = np.uint64(0xFFFF)


class Heuristic(NamedTuple):
    """Values of lines; made by `make_heuristic`."""

    rows: NDArray[np.float32]  # [65536] values of a line of W cells, one nibble a cell
    columns: NDArray[np.float32]  # [65536] values of a line of H cells


def make_heuristic(config: HeuristicConfig, rows: int, columns: int) -> Heuristic:
    """Return the tables of the lines of an H x W board; nibbles beyond the end of a line have no effect."""
    return Heuristic(_line_values(config, columns), _line_values(config, rows))


@inline
def heuristic_value(rules: AnyRules, heuristic: Heuristic, board: Board) -> np.float32:
    """Return V of a board; tiles above 32768 count as 32768."""
    word = nibbles_of(rules, board)
    turned = transpose(word)
    total = np.float32(0)
    for line in range(rules.rows):
        total += heuristic.rows[(word >> np.uint64(16 * line)) & ROW]
    for line in range(rules.columns):
        total += heuristic.columns[(turned >> np.uint64(16 * line)) & ROW]
    return total


def _line_values(config: HeuristicConfig, length: int) -> NDArray[np.float32]:
    """Return the value of each line of `length` cells."""
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
