"""What the player and the judge say of the positions of a replay, in parts, with progress on the terminal.

Shapes: `N` positions, `H, W` board.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from launch.evaluation.loading import LoadedPlayer
from launch.quantities import LINE_SECONDS, clock
from ntuple.core.interfaces import Analysis, EndgameAdvice
from ntuple.exact.positions import words_of_states
from ntuple.exact.solution import Solution
from ntuple.game.bitboard import encode

FIRST_PART = 16  # positions of the first call of a player
GROWTH = 16  # few sizes of calls, because a player on the device compiles each
PART_SECONDS = 2.0  # longest expected call of a larger part: the progress and Ctrl-C wait for it
EXACT = "points"  # unit of a solution, which has no search


class View(NamedTuple):
    """What a player says of N positions."""

    name: str
    unit: str  # of the effort: ply, visits; EXACT: none
    action: NDArray[np.int8]  # [N] the move that it would make, -1 if none is legal or it was not asked
    value: NDArray[np.float64]  # [N, 4] points expected from here, the reward included; -inf: illegal, NaN: unknown
    effort: NDArray[np.int64]  # [N, 4]
    endgames: EndgameAdvice | None = None  # None: the player has no tables


class Positions(NamedTuple):
    """N positions before a move."""

    boards: NDArray[np.uint8]  # [N, H, W] levels
    draws: NDArray[np.uint16]  # [N] hint and bag, 0 in a game without


def view_of(loaded: LoadedPlayer, positions: Positions, what: str) -> View:
    """Ask a player about positions, with the seed 0, as `muzero2048 moves` does; ValueError if its values are NaN.

    `what` is a word for the progress line, such as "judged".
    """

    def ask(part: slice) -> Analysis:
        boards = positions.boards[part]
        return loaded.player.analyse(boards, np.zeros(len(boards), np.uint32), positions.draws[part])

    parts = in_parts(ask, len(positions.boards), what)
    names = ("action", "value", "effort")
    action, value, effort = (_joined(parts, name) for name in names)
    said = [part.endgames for part in parts if part.endgames is not None]
    endgames = None
    if said:
        endgames = EndgameAdvice(said[0].names, _joined(said, "number"), _joined(said, "probability"))
    return View(loaded.name, loaded.player.effort_unit, action, value, effort, endgames)


def exact_view(solution: Solution, name: str, positions: Positions) -> View:
    """Look up positions in an exact solution, which the page names so; ValueError if play cannot reach one."""
    words = np.array([encode(levels).lo for levels in positions.boards], np.uint64)
    value = solution.move_values(words_of_states(words, positions.draws))
    action = np.where(np.isfinite(value).any(axis=1), value.argmax(axis=1), -1).astype(np.int8)
    return View(name, EXACT, action, value, np.zeros(value.shape, np.int64))


def in_parts(ask: Callable[[slice], Analysis], count: int, what: str) -> list[Analysis]:
    """Ask about `count` positions in parts, small ones at first, larger ones if they are quick; print progress.

    Returns the answers in the order of the positions; one of no positions if there are none.
    """
    printed = time.monotonic()
    began = printed  # of the second part: the first one compiles
    parts: list[Analysis] = []
    done, size = 0, FIRST_PART
    while not parts or done < count:
        asked = time.monotonic()
        parts.append(ask(slice(done, done + size)))
        now = time.monotonic()
        done = min(done + size, count)
        if len(parts) == 1:
            began = now
        elif now - printed > LINE_SECONDS:
            left = clock((now - began) / (done - FIRST_PART) * (count - done))
            print(f"{what} {done:,} of {count:,} positions  {left} left", flush=True)
            printed = now
        if GROWTH * (now - asked) < PART_SECONDS:
            size *= GROWTH
    return parts


def spread(view: View, places: NDArray[np.int64], count: int) -> View:
    """Return the view of `places` as one of `count` positions, with action -1, value NaN and no table at the others."""
    action, value = np.full(count, -1, np.int8), np.full((count, 4), np.nan)
    effort, endgames = np.zeros((count, 4), np.int64), None
    action[places], value[places], effort[places] = view.action, view.value, view.effort
    if view.endgames is not None:
        number, probability = np.full(count, -1, np.int64), np.full((count, 4), -1.0)
        number[places], probability[places] = view.endgames.number, view.endgames.probability
        endgames = view.endgames._replace(number=number, probability=probability)
    return view._replace(action=action, value=value, effort=effort, endgames=endgames)


def losses(value: NDArray[np.float64], made: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return what moves lose in points, [N]: max over a of V(a), minus V(made).

    `value` is that of a view; `made` [N] are the moves that were made, -1: none. The loss is NaN where no move was made
    or its value is unknown.
    """
    known = np.where(np.isnan(value), -np.inf, value)
    of_made = np.where(made >= 0, value[np.arange(len(value)), made], np.nan)
    return np.where(np.isnan(of_made), np.nan, known.max(axis=1, initial=-np.inf) - of_made)


def _joined(parts: Sequence[NamedTuple], name: str) -> NDArray[Any]:
    return np.concatenate([getattr(part, name) for part in parts])
