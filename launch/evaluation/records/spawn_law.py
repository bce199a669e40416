"""Do the tiles of recorded games fall by the law of the game? A sequential test, for `muzero2048 judge`.

The law of 2048: after a move each empty cell is equally likely, and the tile is a 4 with the probability 0.1, whatever
happened before. A program whose spawns are wrong can have any score, so its results mean nothing.

Each test divides what a spawn can be into classes, and bets against the law: before each spawn it gives a class c,
which the law expects with the probability p_c, the probability

    q_c = w_c p_c / sum_j w_j p_j,   w_c = (seen_c + PRIOR) / (expected_c + PRIOR)

by the spawns so far, and multiplies its stake, 1 at first, by q_c / p_c of the class that came. If the law holds, the
stake stays 1 on average, whatever the player does, so by Ville's inequality it ever exceeds 1 / alpha with a
probability of at most alpha (Shafer 2021, "Testing by betting"). K tests together have alpha / K each. No distribution
is approximated, and games may be added until the result is clear. The two spawns of an opening are not tested.

Shapes: `T` spawns, `N` cells, `C` classes.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Int64, UInt8

from launch.evaluation.records.record import ACTIONS, HEX, Spawned

PRIOR = 10.0  # spawns of each class that are taken as seen and expected at first
TILE_LAW = np.array([0.9, 0.1])  # probabilities of a 2 and of a 4
FAR = 3  # the largest distance that is told apart from larger ones


class Outcomes(NamedTuple):
    """Spawns in the classes of a test."""

    expected: Float64[np.ndarray, "T C"]  # p_c
    seen: Int64[np.ndarray, " T"]  # the class that came


class Test(NamedTuple):
    """A test of the law."""

    name: str
    classes: tuple[str, ...]
    divide: Callable[[Spawned, int], Outcomes]  # (spawns, columns of the board)


class Finding(NamedTuple):
    """The result of a test."""

    name: str
    broken: bool
    stake: float  # log10 of the largest stake
    unlikely: str  # the class that deviates most
    seen: float  # its share of the spawns
    expected: float  # by the law
    smallest: float  # relative bias of a class that so many spawns would reveal, nearly


@dataclass(eq=False)
class SpawnLaw:
    """The tests of the law, over all games so far."""

    rows: int
    columns: int
    alpha: float  # chance of a false alarm, of all tests together
    spawns: int = 0
    _tallies: "list[_Tally]" = field(default_factory=list)

    def __post_init__(self) -> None:
        self._tallies = [_Tally(test) for test in _tests(self.rows, self.columns)]

    def add(self, spawned: Spawned) -> None:
        """Bet on the spawns of one more game."""
        self.spawns += len(spawned.codes)
        for tally in self._tallies:
            tally.add(tally.test.divide(spawned, self.columns))

    def findings(self) -> list[Finding]:
        """Return the result of each test."""
        limit = math.log(len(self._tallies) / self.alpha)
        return [tally.finding(limit) for tally in self._tallies]


class _Tally:
    """The stake of a test, and its counts."""

    def __init__(self, test: Test):
        self.test = test
        self.seen, self.expected, self.information = (np.zeros(len(test.classes)) for _ in range(3))
        self.stake = self.largest = 0.0  # natural logarithms

    def add(self, outcomes: Outcomes) -> None:
        p, t = outcomes.expected, np.arange(len(outcomes.seen))
        if not len(t):
            return
        came = np.zeros_like(p)
        came[t, outcomes.seen] = 1.0
        before = [total + np.cumsum(x, axis=0) - x for total, x in ((self.seen, came), (self.expected, p))]
        q = p * (before[0] + PRIOR) / (before[1] + PRIOR)
        gains = np.log(q[t, outcomes.seen] / q.sum(axis=1) / p[t, outcomes.seen])
        stakes = self.stake + np.cumsum(gains)
        self.stake, self.largest = float(stakes[-1]), max(self.largest, float(stakes.max()))
        self.seen += came.sum(axis=0)
        self.expected += p.sum(axis=0)
        self.information += (p * (1.0 - p)).sum(axis=0)

    def finding(self, limit: float) -> Finding:
        deviation = np.abs(self.seen - self.expected) / np.sqrt(np.maximum(self.information, 1.0))
        spawns = max(1.0, self.seen.sum())
        # A class and its complement deviate by as much; the rarer of them is named.
        worst = int(np.where(deviation >= 0.999 * deviation.max(), -self.expected, -np.inf).argmax())
        # A bias d of class c brings a bettor who knows it d^2 p (1 - p) / 2 a spawn; learning it costs log(spawns) / 2.
        needed = limit + 0.5 * math.log(spawns)
        smallest = math.sqrt(2.0 * needed / max(1e-9, self.information.max()))
        return Finding(
            name=self.test.name,
            broken=self.largest >= limit,
            stake=self.largest / math.log(10),
            unlikely=self.test.classes[worst],
            seen=self.seen[worst] / spawns,
            expected=self.expected[worst] / spawns,
            smallest=smallest,
        )


def _by_cell(classes: UInt8[np.ndarray, "T N"], count: int, spawned: Spawned) -> Outcomes:
    """Divide the empty cells into classes: the law expects each by its share of them."""
    empty = spawned.afterstates == 0
    expected = np.stack([(empty & (classes == c)).sum(axis=1) for c in range(count)], axis=1) / empty.sum(1)[:, None]
    return Outcomes(expected, classes[np.arange(len(classes)), spawned.codes >> 1].astype(np.int64))


def _by_tile(groups: Int64[np.ndarray, " T"], count: int, spawned: Spawned) -> Outcomes:
    """Divide the tiles by what happened before: in each group the law expects a 4 with the probability 0.1."""
    expected = np.zeros((len(groups), count, 2))
    expected[np.arange(len(groups)), groups] = TILE_LAW
    return Outcomes(expected.reshape(len(groups), -1), 2 * groups + (spawned.codes & 1))


@cache
def _distances(rows: int, columns: int) -> Int64[np.ndarray, "N N"]:
    """Return the steps from each cell to each other one, along rows and columns."""
    row, column = np.divmod(np.arange(rows * columns), columns)
    return np.abs(row[:, None] - row) + np.abs(column[:, None] - column)


def _shape(spawned: Spawned, columns: int) -> tuple[int, int]:
    return spawned.afterstates.shape[1] // columns, columns


def _cell(spawned: Spawned, columns: int) -> Outcomes:
    boards = spawned.afterstates
    return _by_cell(np.broadcast_to(np.arange(boards.shape[1], dtype=np.uint8), boards.shape), boards.shape[1], spawned)


def _from_last(spawned: Spawned, columns: int) -> Outcomes:
    steps = np.minimum(_distances(*_shape(spawned, columns))[spawned.last >> 1], FAR)
    return _by_cell(steps.astype(np.uint8), FAR + 1, spawned)


def _from_largest(spawned: Spawned, columns: int) -> Outcomes:
    boards, steps = spawned.afterstates, _distances(*_shape(spawned, columns))
    largest = boards == boards.max(axis=1, keepdims=True)
    nearest = np.where(largest[:, :, None], steps[None], steps.max()).min(axis=1)
    return _by_cell(np.minimum(nearest, FAR).astype(np.uint8), FAR + 1, spawned)


def _from_wall(spawned: Spawned, columns: int) -> Outcomes:
    """Count the cells from the wall towards which the move went."""
    rows, columns = _shape(spawned, columns)
    row, column = np.divmod(np.arange(rows * columns), columns)
    towards = {"U": row, "R": columns - 1 - column, "D": rows - 1 - row, "L": column}
    places = np.stack([towards[letter] for letter in ACTIONS])[spawned.actions]
    return _by_cell(places.astype(np.uint8), max(rows, columns), spawned)


def _between(spawned: Spawned, columns: int) -> Outcomes:
    """Count the tiles beside an empty cell."""
    beside = (_distances(*_shape(spawned, columns)) == 1).astype(np.float64)
    tiles = (spawned.afterstates > 0) @ beside
    return _by_cell(tiles.astype(np.uint8), 5, spawned)


def _tile(spawned: Spawned, columns: int) -> Outcomes:
    return _by_tile(np.zeros(len(spawned.codes), np.int64), 1, spawned)


def _tile_after_tile(spawned: Spawned, columns: int) -> Outcomes:
    return _by_tile((spawned.last & 1).astype(np.int64), 2, spawned)


def _tile_after_move(spawned: Spawned, columns: int) -> Outcomes:
    return _by_tile(spawned.actions.astype(np.int64), 4, spawned)


def _tile_by_empty(spawned: Spawned, columns: int) -> Outcomes:
    empty = (spawned.afterstates == 0).sum(axis=1)
    return _by_tile(np.minimum(empty, 8).astype(np.int64), 9, spawned)


def _tests(rows: int, columns: int) -> list[Test]:
    size = max(rows, columns)
    steps = (*map(str, range(FAR)), f"{FAR} or more")
    fours = lambda words: tuple(f"{tile} {word}".strip() for word in words for tile in (2, 4))  # noqa: E731
    return [
        Test("share of the 4", fours([""]), _tile),
        Test("tile after a tile", fours(["after a 2", "after a 4"]), _tile_after_tile),
        Test("tile after a move", fours([f"after #{letter}" for letter in ACTIONS]), _tile_after_move),
        Test("tile by empty cells", fours([f"of {n} empty" for n in range(8)] + ["of 8 or more"]), _tile_by_empty),
        Test("cell", tuple(f"cell {HEX[cell]}" for cell in range(rows * columns)), _cell),
        Test("steps from the last spawn", steps, _from_last),
        Test("steps from the largest tile", steps, _from_largest),
        Test("steps from the move's wall", tuple(map(str, range(size))), _from_wall),
        Test("tiles beside the cell", tuple(map(str, range(5))), _between),
    ]
