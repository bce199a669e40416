"""Minimax and expectiminimax by plain recursion over the definition of a game (Guei 2023, sec. 5.2.2 and 5.4.5).

chance           the game places the tiles
minimax          the opponent chooses the cell, the tile and the next hint, but announces no bonus tile
expectiminimax   the tile is drawn, the opponent chooses the cell, the next hint is drawn
"""

from collections import defaultdict
from collections.abc import Callable
from typing import Any

from ntuple.core.games.definition import Afterstate, Event, Game, State

ValueOf = Callable[[State], float]


def worst(game: Game, after: Afterstate, kind: str, value_of: ValueOf, counts_points: bool = True) -> float:
    """Return the least value of an afterstate, from the values of the states after it.

    Args:
        counts_points: whether the points of a placed tile are added.
    """

    def value(event: Event) -> float:
        return event.points * counts_points + value_of(event.state)

    if kind == "chance":
        return sum(float(event.chance) * value(event) for event in game.events(after))
    if kind == "minimax":
        allowed = (event for event in game.events(after) if not _is_bonus(game, event))
        return min(map(value, allowed))
    drawn: dict[int, dict[Any, list[Event]]] = defaultdict(lambda: defaultdict(list))
    for event in game.events(after):
        cell, level = placed(after, event)
        drawn[level][cell].append(event)
    total = 0.0
    for cells in drawn.values():
        chances = {cell: float(sum(event.chance for event in events)) for cell, events in cells.items()}
        means = [
            sum(float(event.chance) * value(event) for event in events) / chances[cell]
            for cell, events in cells.items()
        ]
        total += sum(chances.values()) * min(means)
    return total


def placed(after: Afterstate, event: Event) -> tuple[tuple[int, int], int]:
    """Return the cell and the level of a placed tile."""
    ((cell, level),) = (
        ((row, column), level)
        for row, line in enumerate(event.state.board)
        for column, level in enumerate(line)
        if level != after.board[row][column]
    )
    return cell, level


def _is_bonus(game: Game, event: Event) -> bool:
    return game.bag is not None and event.state.hint == game.bonus_hint


def moves(game: Game, state: State, plies: int, kind: str, leaf: Callable[[Afterstate], float]) -> list[float]:
    """Return r + Vmin(as, plies - 1) of the four actions, -inf for an illegal one."""
    found = []
    for action in range(4):
        move = game.move(state, action)
        found.append(float("-inf") if move is None else move.points + least(game, move.after, plies - 1, kind, leaf))
    return found


def least(game: Game, after: Afterstate, plies: int, kind: str, leaf: Callable[[Afterstate], float]) -> float:
    """Return Vmin of an afterstate with `plies` layers of afterstates below it."""

    def value_of(state: State) -> float:
        best = max(moves(game, state, plies, kind, leaf))
        return best if best > float("-inf") else 0.0

    return leaf(after) if plies == 0 else worst(game, after, kind, value_of)
