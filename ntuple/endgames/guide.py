"""The choice of a move by a search and by tables of endgames.

Where a board fits a table, the table says with which probability each move leads to the target, and the search says how
many points it expects. The two have no common scale. So the table removes moves, and the search chooses among the rest:

    moves = { a : p(a) >= max p - tolerance }
    a     = argmax over the moves of r + V

The table has no say if max p < least. The first table in which the board fits counts.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntuple.core.interfaces import EndgameAdvice
from ntuple.endgames.config import EndgamesConfig
from ntuple.endgames.lookup import NONE, Endgame, look_up
from ntuple.endgames.pattern import SIDE
from ntuple.endgames.table import EndgameTable
from ntuple.game.any_game import AnyRules
from ntuple.game.bitboard import Board, Rules
from ntuple.game.jit import kernel


class Guide(NamedTuple):
    """Tables, and how they bind a search, for kernels."""

    tables: tuple[Endgame, ...]
    least: float  # probability of the best move from which on a table counts
    tolerance: float  # probability that a move may lose


class Endgames:
    """The tables that guide a search of 2048; there may be none."""

    def __init__(self, tables: Sequence[EndgameTable], least: float, tolerance: float) -> None:
        """Take tables; arguments as of `Guide`."""
        self.names = tuple(str(table.pattern) for table in tables)
        kernel_forms = tuple(table.kernel_form() for table in tables)
        self.guide = Guide(kernel_forms, least, tolerance) if kernel_forms else None

    def advise(
        self, rules: AnyRules, words: NDArray[np.uint64], values: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], EndgameAdvice | None]:
        """Return the values [B, 4] of a search without the moves that the tables remove, and what the tables say."""
        if self.guide is None:
            return values, None
        rest, number, probability = values.copy(), np.zeros(len(words), np.int64), np.zeros((len(words), 4))
        guide_boards(rules, self.guide, words, rest, number, probability)
        return rest, EndgameAdvice(self.names, number, probability)


def load_endgames(rules: AnyRules, config: EndgamesConfig) -> Endgames:
    """Load the tables of a search.

    Raises:
        ValueError: a file is missing, damaged or of another kind, or the tables are not of this game.
    """
    if config.endgames and not (isinstance(rules, Rules) and (rules.rows, rules.columns) == (SIDE, SIDE)):
        raise ValueError("tables of endgames are of 2048 on 4x4; leave out search.endgames")
    tables = [EndgameTable.load(Path(file)) for file in config.endgames]
    return Endgames(tables, config.endgame_least, config.endgame_tolerance)


@kernel
def guide_values(
    rules: AnyRules, guide: Guide, board: Board, values: NDArray[np.floating], probabilities: NDArray[np.float64]
) -> int:
    """Set the values of the moves that a table removes to -inf.

    Args:
        values: [4] of the moves, by a search.
        probabilities: [4] receives those of the table.

    Returns:
        The number of the table; NONE if none has a say.
    """
    number = look_up(rules, guide.tables, board, probabilities)
    if number == NONE:
        return NONE
    best = max(max(probabilities[0], probabilities[1]), max(probabilities[2], probabilities[3]))
    if best < guide.least:
        return NONE
    for action in range(4):
        if probabilities[action] < best - guide.tolerance:
            values[action] = -np.inf
    return number


@kernel
def guide_boards(
    rules: AnyRules,
    guide: Guide,
    words: NDArray[np.uint64],
    values: NDArray[np.float64],
    numbers: NDArray[np.int64],
    probabilities: NDArray[np.float64],
) -> None:
    """Call `guide_values` for boards [B, 2]; `numbers` [B] receives what it returns."""
    for i in range(words.shape[0]):
        board = Board(words[i, 0], words[i, 1])
        numbers[i] = guide_values(rules, guide, board, values[i], probabilities[i])
