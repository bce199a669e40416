"""What a player's moves lose in exact endgames: probability to build the target of a table.

    loss of a move = max over a of p(a) - p(chosen)
    an endgame     = consecutive positions of a game that fit one table
    promise        = mean over endgames of max p at the first position: how often best play builds the target
    kept           = share of the endgames in which the player built it

Losses of a player who has another aim than the target are no mistakes: it may leave the pattern and live.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from launch.errors import UserError
from launch.evaluation.records.game_log import LoggedGame
from launch.evaluation.records.record import parse_record
from launch.progress import progress_line
from ntuple.core.games.game_2048 import GAME_2048
from ntuple.endgames.pattern import SIDE
from ntuple.endgames.table import EndgameTable
from ntuple.game.any_game import make_game_rules
from ntuple.game.rollout import states_of


class TableLosses(NamedTuple):
    """What the moves of some games lose in the endgames of one table."""

    table: str  # pattern and target
    moves: int  # at positions that fit
    endgames: int
    loss: float  # mean loss of a move; 0 if there are none
    promise: float  # mean over endgames; NaN if there are none
    kept: float

    def line(self) -> str:
        """Return the figures as a line of text."""
        if not self.endgames:
            return f"{self.table}: no position of these games fits"
        count = f"{self.moves:,} moves in {self.endgames:,} endgames lose {self.loss:.5f} each"
        return f"{self.table}: {count}; best play builds it in {self.promise:.3f}, the player did in {self.kept:.3f}"


class EndgameLosses(NamedTuple):
    """The losses by all tables."""

    tables: tuple[TableLosses, ...]

    def line(self) -> str:
        """Return a line for each table."""
        return "\n".join(losses.line() for losses in self.tables)

    def record(self) -> dict[str, Any]:
        """Return the figures as entries of a result file; None for figures that do not exist."""
        rows = [losses._asdict() for losses in self.tables]
        return {"endgames": [{key: None if value != value else value for key, value in row.items()} for row in rows]}


def load_table(path: Path) -> EndgameTable:
    """Load a table; UserError if that is not possible."""
    try:
        with progress_line("", f"checking {path.name} ..."):
            return EndgameTable.load(path)
    except ValueError as error:
        raise UserError(str(error)) from error


def losses_of(tables: Sequence[EndgameTable], games: Iterable[LoggedGame]) -> EndgameLosses:
    """Compute the losses of the moves of games on 4x4."""
    rules = make_game_rules(GAME_2048.name, SIDE, SIDE)
    found: list[list[NDArray[np.float64]]] = [[] for _ in tables]
    for game in games:
        played = parse_record(game.record)
        words = states_of(rules, played.opening, played.actions, played.spawns)
        for table, parts in zip(tables, found, strict=True):
            parts.append(_endgames(table.look_up(words), played.actions))
    return EndgameLosses(tuple(_losses(str(table.pattern), *parts) for table, parts in zip(tables, found, strict=True)))


def _endgames(values: NDArray[np.float64], actions: NDArray[np.int8]) -> NDArray[np.float64]:
    """Return the positions [P, 3] of a game that fit: best p, p of the move, and 1 where an endgame begins."""
    fits = np.isfinite(values[:, 0])
    begins = fits & ~np.concatenate([[False], fits[:-1]])
    chosen = values[np.arange(len(values)), actions]
    return np.stack([values.max(axis=1), chosen, begins], axis=1)[fits]


def _losses(table: str, *games: NDArray[np.float64]) -> TableLosses:
    best, chosen, begins = np.concatenate([np.zeros((0, 3)), *games]).T
    first = np.flatnonzero(begins)
    if not first.size:
        return TableLosses(table, 0, 0, 0.0, np.nan, np.nan)
    last = np.append(first[1:], best.size) - 1
    # The move that ends an endgame either builds the target, which is certain, or loses it.
    kept = float((chosen[last] == 1.0).mean())
    return TableLosses(table, best.size, first.size, float((best - chosen).mean()), float(best[first].mean()), kept)
