"""Values against returns: what a player says that positions are worth, and the points that the games then gave.

    V(s_t) = Q of the move that the player makes, in points
    G_t    = r_t + gamma r_{t+1} + gamma^2 r_{t+2} + ... to the end of the game

The positions are grouped in three ways:

| table | known when V is asked | a right value |
|---|---|---|
| sum of the tiles | yes | V = G in each group, within the interval |
| V | yes | the same |
| tenth of the game | no, only when the game is over | V below G at first, and far above G in the last tenth |

The exact values of 2x3 are 5% below G in the first tenth and 2.7 times G in the last one. So the third table shows
whether a value knows that games end, but no value can make both rows of it equal (docs/diagnostics.md).

Shapes: `N` positions of `G` games, before each move, game after game; `K` groups.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from launch.evaluation.boards.views import Positions, exact_view, view_of
from launch.evaluation.intervals import Z
from launch.evaluation.loading import LoadedPlayer
from launch.evaluation.records.played import Game, gather, play_games
from ntuple.exact.solution import Solution

GROUPS = 10  # K

Floats = NDArray[np.float64]


class Group(NamedTuple):
    """Means over the positions of a group, in points."""

    key: float  # of what the table is grouped by
    value: float  # V
    gain: float  # G
    interval: float  # half the 95% interval of the mean of G - V; the positions of a game are not independent
    exact: float  # exact value; nan: no solution was given


@dataclass(frozen=True, eq=False)
class ValuedPositions:
    """N positions of whole games with the values of a player."""

    lengths: NDArray[np.int64]  # [G] moves of each game
    scores: NDArray[np.int64]  # [G]
    tile_sum: NDArray[np.int64]  # [N]
    value: Floats  # [N]
    gain: Floats  # [N]
    exact: Floats | None  # [N] exact values, which have no discount

    def tables(self) -> dict[str, list[Group]]:
        """Return the groups of each table, in the order of their keys."""
        tenth = np.concatenate([np.arange(moves) * GROUPS // moves for moves in self.lengths])
        by_sum, by_value = (np.array_split(np.argsort(x, kind="stable"), GROUPS) for x in (self.tile_sum, self.value))
        return {
            "sum of tiles": self._groups(self.tile_sum, by_sum),
            "V": self._groups(self.value, by_value),
            "tenth": self._groups(tenth + 1, [np.flatnonzero(tenth == k) for k in range(GROUPS)]),
        }

    def correlation(self, value: Floats) -> float:
        """Return the correlation of values [N] with G at one random position of each game; nan if one is constant."""
        weight = np.repeat(1.0 / self.lengths, self.lengths) / len(self.lengths)
        x, y = (z - np.sum(weight * z) for z in (value, self.gain))
        scale = np.sqrt(np.sum(weight * x**2) * np.sum(weight * y**2))
        return float(np.sum(weight * x * y) / scale) if scale > 0 else float("nan")

    def _groups(self, key: NDArray[np.generic], members: list[NDArray[np.int64]]) -> list[Group]:
        return [self._group(key, positions) for positions in members if len(positions)]

    def _group(self, key: NDArray[np.generic], positions: NDArray[np.int64]) -> Group:
        value, gain = self.value[positions], self.gain[positions]
        error = gain - value
        game = np.repeat(np.arange(len(self.lengths)), self.lengths)[positions]
        by_game = np.bincount(game, error - error.mean())  # the sum of each game: games are independent
        return Group(
            key=float(key[positions].mean()),
            value=float(value.mean()),
            gain=float(gain.mean()),
            interval=float(Z * np.sqrt(np.sum(by_game**2)) / len(positions)),
            exact=float("nan") if self.exact is None else float(self.exact[positions].mean()),
        )


def value_positions(
    loaded: LoadedPlayer, games: int, seed: int, discount: float, solution: Solution | None
) -> ValuedPositions:
    """Play games, and ask the player for the value of every position; progress is shown.

    Raises:
        ValueError: the player's values are NaN, or a position is not in the solution.
    """
    played = play_games(loaded, games, seed)
    boards, draws = (gather(played, read) for read in (lambda game: game.boards[:-1], lambda game: game.draws[:-1]))
    view = view_of(loaded, Positions(boards, draws), "valued")
    exact = None if solution is None else exact_view(solution, "exact", Positions(boards, draws)).value.max(axis=1)
    return ValuedPositions(
        lengths=np.array([game.moves for game in played]),
        scores=np.array([game.score for game in played]),
        tile_sum=np.array(loaded.definition.tiles, np.int64)[boards].sum(axis=(1, 2)),
        value=view.value[np.arange(len(boards)), view.action],
        gain=gather(played, lambda game: returns(game, discount)),
        exact=exact,
    )


def returns(game: Game, discount: float) -> Floats:
    """Return G of each move, [T]."""
    gain, after = np.zeros(game.moves), 0.0
    for t in range(game.moves - 1, -1, -1):
        gain[t] = after = game.points[t] + discount * after
    return gain


def report_values(found: ValuedPositions, discount: float) -> dict[str, object]:
    """Print the tables in 80 columns; return them as an entry of JSON. Exact figures are NaN without a solution."""
    tables, correlation = found.tables(), found.correlation(found.value)
    of_exact = float("nan") if found.exact is None else found.correlation(found.exact)
    print(f"values of {len(found.lengths)} games, mean score {found.scores.mean():,.0f}, discount {discount:g}")
    print("V: value of the move made, G: return, +-: half the 95% interval of G - V")
    for name, groups in tables.items():
        ends = " (known only at the end: V cannot be G here)" if name == "tenth" else ""
        print(f"by {name}{ends}")
        for heading, field in (("", "key"), ("V", "value"), ("G", "gain"), ("+-", "interval"), ("exact", "exact")):
            numbers = [getattr(group, field) for group in groups]
            if not np.isnan(numbers).all():
                print(f"{heading:>6}" + "".join(f"{number:>7.0f}" for number in numbers))
    exact = "" if found.exact is None else f"; of the exact value and G {of_exact:.2f}"
    print(f"correlation at one position of each game: of V and G {correlation:.2f}{exact}")
    return {
        "games": len(found.lengths),
        "score_mean": float(found.scores.mean()),
        "discount": discount,
        "correlation": correlation,
        "exact_correlation": of_exact,
        "tables": {name: [group._asdict() for group in groups] for name, groups in tables.items()},
    }
