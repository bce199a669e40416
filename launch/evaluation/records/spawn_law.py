"""Do the tiles of recorded games fall by the law of the game? A sequential test, for `muzero2048 judge`.

The law of 2048: after a move each empty cell is equally likely, and the tile is a 4 with the probability 0.1, whatever
happened before. In other games the cells are those where a tile may be placed, and what is drawn is one of the tiles of
the game; in a game with hints the next hint, from the tiles left in the bag, and the level of a bonus tile. A program
whose spawns are wrong can have any score, so its results mean nothing.

Each test divides what a spawn can be into classes, and bets against the law: before each spawn it gives a class c,
which the law expects with the probability p_c, the probability

    q_c = w_c p_c / sum_j w_j p_j,   w_c = (seen_c + PRIOR) / (expected_c + PRIOR)

by the spawns so far, and multiplies its stake, 1 at first, by q_c / p_c of the class that came. If the law holds, the
stake stays 1 on average, whatever the player does, so by Ville's inequality it ever exceeds 1 / alpha with a
probability of at most alpha (Shafer 2021, "Testing by betting"). K tests together have alpha / K each. No distribution
is approximated, and games may be added until the result is clear. The first tiles of a game are not tested.

Shapes: `T` spawns, `N` cells, `C` classes, `K` kinds of what is drawn: tiles, or hints.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Int64, UInt8

from launch.evaluation.records.judgement import Spawned
from launch.evaluation.records.record import ACTIONS, LEVELS
from ntuple.core.games.definition import HINT_BITS, Game

PRIOR = 10.0  # spawns of each class that are taken as seen and expected at first
FAR = 3  # the largest distance that is told apart from larger ones

Shape = tuple[int, int]  # rows and columns of the board


class Outcomes(NamedTuple):
    """Spawns in the classes of a test."""

    expected: Float64[np.ndarray, "T C"]  # p_c
    seen: Int64[np.ndarray, " T"]  # the class that came


class Test(NamedTuple):
    """A test of the law."""

    name: str
    classes: tuple[str, ...]
    divide: Callable[[Game, Spawned, Shape], Outcomes]


class Finding(NamedTuple):
    """The result of a test."""

    name: str
    broken: bool
    stake: float  # log10 of the largest stake
    unlikely: str  # the class that deviates most
    seen: float  # its share of the spawns
    expected: float  # by the law
    smallest: float  # relative bias of a class that so many spawns would reveal, nearly

    def __str__(self) -> str:
        came = f"{self.unlikely} came in {self.seen:.2%} of the spawns"
        return f"{self.name}: {came}, where the law expects {self.expected:.2%} after the same moves"


@dataclass(eq=False)
class SpawnLaw:
    """The tests of the law, over all games so far."""

    game: Game
    rows: int
    columns: int
    alpha: float  # chance of a false alarm, of all tests together
    spawns: int = 0
    _tallies: "list[_Tally]" = field(default_factory=list)

    def __post_init__(self) -> None:
        self._tallies = [_Tally(test) for test in _tests(self.game, self.rows, self.columns)]

    def add(self, spawned: Spawned) -> None:
        """Bet on the spawns of one more game."""
        self.spawns += len(spawned.cells)
        for tally in self._tallies:
            tally.add(tally.test.divide(self.game, spawned, (self.rows, self.columns)))

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
    """Divide the places of a tile into classes: the law expects each by its share of them."""
    places = spawned.places
    expected = np.stack([(places & (classes == c)).sum(axis=1) for c in range(count)], axis=1)
    expected = expected / places.sum(axis=1)[:, None]
    return Outcomes(expected, classes[np.arange(len(classes)), spawned.cells].astype(np.int64))


def _drawn(game: Game, spawned: Spawned) -> Outcomes:
    """Return the law of what is drawn, [T, K], and what was: a tile, or in a game with hints the next hint."""
    if game.bag is None:
        levels = [level for level, _ in game.spawns]  # in rising order
        law = np.array([chance for _, chance in game.spawns])
        return Outcomes(np.broadcast_to(law, (len(spawned.levels), len(law))), np.searchsorted(levels, spawned.levels))
    counts = [(spawned.draws >> HINT_BITS * kind) & ((1 << HINT_BITS) - 1) for kind in range(1, game.bag.kinds + 1)]
    left = np.stack(counts, axis=1).astype(np.float64)
    law = left / left.sum(axis=1, keepdims=True)
    if game.bag.bonus_share:
        largest = np.maximum(spawned.afterstates.max(axis=1), spawned.levels)
        share = np.where(largest >= game.bag.bonus_from, float(game.bag.bonus_share), 0.0)[:, None]
        law = np.concatenate([(1.0 - share) * law, share], axis=1)
    return Outcomes(law, spawned.hints - 1)


def _by_draw(groups: Int64[np.ndarray, " T"], count: int, drawn: Outcomes) -> Outcomes:
    """Divide what is drawn by what happened before: the law is the same in each group."""
    length, kinds = drawn.expected.shape
    expected = np.zeros((length, count, kinds))
    expected[np.arange(length), groups] = drawn.expected
    return Outcomes(expected.reshape(length, count * kinds), kinds * groups + drawn.seen)


@cache
def _distances(rows: int, columns: int) -> Int64[np.ndarray, "N N"]:
    """Return the steps from each cell to each other one, along rows and columns."""
    row, column = np.divmod(np.arange(rows * columns), columns)
    return np.abs(row[:, None] - row) + np.abs(column[:, None] - column)


def _cell(game: Game, spawned: Spawned, shape: Shape) -> Outcomes:
    boards = spawned.afterstates
    return _by_cell(np.broadcast_to(np.arange(boards.shape[1], dtype=np.uint8), boards.shape), boards.shape[1], spawned)


def _from_last(game: Game, spawned: Spawned, shape: Shape) -> Outcomes:
    steps = np.minimum(_distances(*shape)[spawned.last[0]], FAR)
    return _by_cell(steps.astype(np.uint8), FAR + 1, spawned)


def _from_largest(game: Game, spawned: Spawned, shape: Shape) -> Outcomes:
    boards, steps = spawned.afterstates, _distances(*shape)
    largest = boards == boards.max(axis=1, keepdims=True)
    nearest = np.where(largest[:, :, None], steps[None], steps.max()).min(axis=1)
    return _by_cell(np.minimum(nearest, FAR).astype(np.uint8), FAR + 1, spawned)


def _from_wall(game: Game, spawned: Spawned, shape: Shape) -> Outcomes:
    """Count the cells from the wall towards which the move went."""
    rows, columns = shape
    row, column = np.divmod(np.arange(rows * columns), columns)
    towards = {"U": row, "R": columns - 1 - column, "D": rows - 1 - row, "L": column}
    places = np.stack([towards[letter] for letter in ACTIONS])[spawned.actions]
    return _by_cell(places.astype(np.uint8), max(rows, columns), spawned)


def _between(game: Game, spawned: Spawned, shape: Shape) -> Outcomes:
    """Count the tiles beside an empty cell."""
    beside = (_distances(*shape) == 1).astype(np.float64)
    tiles = (spawned.afterstates > 0) @ beside
    return _by_cell(tiles.astype(np.uint8), 5, spawned)


def _draw(game: Game, spawned: Spawned, shape: Shape) -> Outcomes:
    return _by_draw(np.zeros(len(spawned.levels), np.int64), 1, _drawn(game, spawned))


def _after_draw(game: Game, spawned: Spawned, shape: Shape) -> Outcomes:
    """Group by the draw before: the last tile, or the hint that told this tile."""
    drawn, (_, levels, hints) = _drawn(game, spawned), spawned.last
    before = hints - 1 if game.bag else np.searchsorted([level for level, _ in game.spawns], levels)
    return _by_draw(before, drawn.expected.shape[1], drawn)


def _after_move(game: Game, spawned: Spawned, shape: Shape) -> Outcomes:
    return _by_draw(spawned.actions.astype(np.int64), 4, _drawn(game, spawned))


def _by_empty(game: Game, spawned: Spawned, shape: Shape) -> Outcomes:
    empty = (spawned.afterstates == 0).sum(axis=1)
    return _by_draw(np.minimum(empty, 8).astype(np.int64), 9, _drawn(game, spawned))


def _bonus_tile(game: Game, spawned: Spawned, shape: Shape) -> Outcomes:
    """Count the levels of bonus tiles."""
    assert game.bag is not None
    hinted = (spawned.draws & ((1 << HINT_BITS) - 1)) == game.bonus_hint
    most = spawned.afterstates[hinted].max(axis=1, initial=0).astype(np.int64) - game.bag.bonus_below
    levels = np.arange(game.bag.bonus_least, len(game.tiles) - game.bag.bonus_below)
    expected = (levels <= most[:, None]) / np.maximum(most - game.bag.bonus_least + 1, 1)[:, None]
    return Outcomes(expected, spawned.levels[hinted] - game.bag.bonus_least)


def _tests(game: Game, rows: int, columns: int) -> list[Test]:
    size = max(rows, columns)
    steps = (*map(str, range(FAR)), f"{FAR} or more")
    what, kinds = "tile", [str(game.tiles[level]) for level, _ in game.spawns]
    if game.bag:
        what, kinds = "hint", [*map(str, game.tiles[1 : game.bag.kinds + 1]), "bonus"][: game.num_hints]
    classes = lambda words: tuple(f"{kind} {word}".strip() for word in words for kind in kinds)  # noqa: E731
    share = f"share of the {kinds[1]}" if len(kinds) == 2 else f"share of each {what}"
    tests = [
        Test(share, classes([""]), _draw),
        Test(f"{what} after a {what}", classes([f"after a {kind}" for kind in kinds]), _after_draw),
        Test(f"{what} after a move", classes([f"after #{letter}" for letter in ACTIONS]), _after_move),
        Test(f"{what} by empty cells", classes([f"of {n} empty" for n in range(8)] + ["of 8 or more"]), _by_empty),
        Test("cell", tuple(f"cell {LEVELS[cell]}" for cell in range(rows * columns)), _cell),
        Test("steps from the last spawn", steps, _from_last),
        Test("steps from the largest tile", steps, _from_largest),
        Test("steps from the move's wall", tuple(map(str, range(size))), _from_wall),
        Test("tiles beside the cell", tuple(map(str, range(5))), _between),
    ]
    if game.bag and game.bag.bonus_share:
        levels = range(game.bag.bonus_least, len(game.tiles) - game.bag.bonus_below)
        tests.append(Test("bonus tile", tuple(str(game.tiles[level]) for level in levels), _bonus_tile))
    return tests
