"""What the player and the judge say of the positions of a replay, in parts, with progress on the terminal.

Shapes: `N` positions, `H, W` board; boards are uint8[N, H, W].
"""

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from launch.evaluation.loading import LoadedPlayer
from launch.quantities import LINE_SECONDS, clock
from ntuple.core.interfaces import Analysis
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


def view_of(loaded: LoadedPlayer, boards: NDArray[np.uint8], what: str) -> View:
    """Ask a player about positions, with the seed 0, as `muzero2048 moves` does; ValueError if its values are NaN.

    `what` is a word for the progress line, such as "judged".
    """

    def ask(part: NDArray[np.uint8]) -> Analysis:
        return loaded.player.analyse(part, np.zeros(len(part), np.uint32))

    parts = in_parts(ask, boards, what)
    names = ("action", "value", "effort")
    action, value, effort = (np.concatenate([getattr(part, name) for part in parts]) for name in names)
    return View(loaded.name, loaded.player.effort_unit, action, value, effort)


def exact_view(solution: Solution, name: str, boards: NDArray[np.uint8]) -> View:
    """Look up positions in an exact solution, which the page names so; ValueError if play cannot reach one."""
    value = solution.move_values(np.array([encode(levels).lo for levels in boards], np.uint64))
    action = np.where(np.isfinite(value).any(axis=1), value.argmax(axis=1), -1).astype(np.int8)
    return View(name, EXACT, action, value, np.zeros(value.shape, np.int64))


def in_parts(ask: Callable[[NDArray[np.uint8]], Analysis], boards: NDArray[np.uint8], what: str) -> list[Analysis]:
    """Ask about positions in parts, small ones at first, larger ones if they are quick; print progress.

    Returns the answers in the order of the boards; one of no boards if there are none.
    """
    printed = time.monotonic()
    began = printed  # of the second part: the first one compiles
    parts: list[Analysis] = []
    done, size = 0, FIRST_PART
    while not parts or done < len(boards):
        asked = time.monotonic()
        parts.append(ask(boards[done : done + size]))
        now = time.monotonic()
        done = min(done + size, len(boards))
        if len(parts) == 1:
            began = now
        elif now - printed > LINE_SECONDS:
            left = clock((now - began) / (done - FIRST_PART) * (len(boards) - done))
            print(f"{what} {done:,} of {len(boards):,} positions  {left} left", flush=True)
            printed = now
        if GROWTH * (now - asked) < PART_SECONDS:
            size *= GROWTH
    return parts


def spread(view: View, places: NDArray[np.int64], count: int) -> View:
    """Return the view of `places` as one of `count` positions, with action -1 and value NaN at the others."""
    action, value = np.full(count, -1, np.int8), np.full((count, 4), np.nan)
    effort = np.zeros((count, 4), np.int64)
    action[places], value[places], effort[places] = view.action, view.value, view.effort
    return view._replace(action=action, value=value, effort=effort)


def losses(value: NDArray[np.float64], made: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return what moves lose in points, [N]: max over a of V(a), minus V(made).

    `value` is that of a view; `made` [N] are the moves that were made, -1: none. The loss is NaN where no move was made
    or its value is unknown.
    """
    known = np.where(np.isnan(value), -np.inf, value)
    of_made = np.where(made >= 0, value[np.arange(len(value)), made], np.nan)
    return np.where(np.isnan(of_made), np.nan, known.max(axis=1, initial=-np.inf) - of_made)
