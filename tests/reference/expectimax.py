"""Expectimax by plain recursion, without a transposition table (Guei 2023, eq. 20-22 and 39-41)."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from reference import rules
from reference.rules import Board

ILLEGAL = float("-inf")


@dataclass(frozen=True)
class Expectimax:
    """A search with the options of ExpectimaxConfig.

    `most_plies` limits the plies below an afterstate by its number of empty cells; the ply of its move counts too.
    """

    value: Callable[[Board], float]  # V of an afterstate, at the leaves
    rectified: bool = False
    most_plies: dict[int, int] = field(default_factory=dict)  # limits of plies, by empty cells
    least_probability: float = 0.0  # a chance node below this cumulative probability is a leaf

    def moves(self, board: Board, plies: int) -> list[float]:
        """Return r + Vchance(as, plies - 1) of each action, -inf for an illegal one."""
        return self._moves(board, plies, 1.0)

    def _moves(self, board: Board, plies: int, probability: float) -> list[float]:
        found = []
        for action in rules.ACTIONS:
            after, reward = rules.afterstate(board, action)
            found.append(ILLEGAL if after == board else reward + self._chance(after, plies - 1, probability))
        return found

    def _state(self, board: Board, plies: int, probability: float) -> float:
        best = max(self._moves(board, plies, probability))
        if best == ILLEGAL:
            return 0.0
        return best + 1.0 if self.rectified else best

    def _chance(self, after: Board, plies: int, probability: float) -> float:
        empty = rules.cells(after).count(0)
        plies = min(plies, self.most_plies.get(empty, 99) - 1)
        if plies == 0 or probability < self.least_probability:
            value = self.value(after)
            return max(value, 0.0) if self.rectified else value
        spawns = rules.chance_probabilities(after).items()
        return sum(
            float(p) * self._state(rules.spawn(after, code), plies, probability * float(p)) for code, p in spawns
        )


def downgraded(board: Board, threshold: int, exception: Collection[int] = ()) -> Board:
    """Halve the tiles above the largest missing one, if the distinct tiles sum to the threshold or more.

    Not if all tiles of `exception` (levels) are there and none is larger than the largest of them. Source: Guei 2023,
    eq. 33.
    """
    present = {cell for cell in rules.cells(board) if cell}
    missing = [level for level in range(1, max(present)) if level not in present]
    if sum(2**level for level in present) < threshold or not missing:
        return board
    if exception and present >= {*exception} and max(present) == max(exception):
        return board
    return tuple(tuple(cell - (cell > max(missing)) for cell in row) for row in board)


class World(NamedTuple):
    """Any model of the game; states and afterstates are values of any type."""

    # (state, action) -> afterstate, reward, value of the afterstate, probability of each possible code
    move: Callable[[Any, int], tuple[Any, float, float, dict[int, float]]]
    spawn: Callable[[Any, int], Any]  # (afterstate, code) -> state
    moves: Callable[[Any], list[int]]  # state -> the moves that a maximum is over


def search_plies(world: World, state: Any, plies: int, discount: float) -> list[float]:
    """Return Q of the four actions by expectimax of `plies` layers of afterstates."""
    found = []
    for action in rules.ACTIONS:
        after, reward, value, probabilities = world.move(state, action)
        if plies > 1:
            value = 0.0
            for code, probability in probabilities.items():
                behind = world.spawn(after, code)
                q = search_plies(world, behind, plies - 1, discount)
                value += probability * max((q[a] for a in world.moves(behind)), default=0.0)
        found.append(reward + discount * value)
    return found
