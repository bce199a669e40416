"""Moves of lines in any game of the family: arithmetic on the words of packed_lines.py, derived from `Game.merge`.

The pairs of levels that merge are written as a few ranges, so that all pairs of a line are compared at the same time:

    2584      1 + 1; a + (a + 1) for a = 1, ..., 29; a + (a - 1) for a = 2, ..., 30
    Threes!   1 + 2; 2 + 1; a + a for a = 3, ..., 13
"""

import functools
import itertools
import operator
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, UInt32

from muzero2048.game.packed_lines import close_gaps, look_up, occupied
from ntuple.core.games.definition import Game

_ONES, _TOPS = np.uint32(0x01010101), np.uint32(0x80808080)
_BYTE = np.uint32(0xFF)


class MergeRange(NamedTuple):
    """Pairs (a, a + step) with first <= a <= last, which merge to a + rise."""

    first: int
    last: int
    step: int
    rise: int


@functools.cache
def merge_ranges(game: Game) -> tuple[MergeRange, ...]:
    """Return all pairs of levels that merge.

    Raises:
        ValueError: the order of two tiles matters, or tiles that make the same tile earn different points.
    """
    levels = range(1, len(game.tiles))
    merged = {(one, other): game.merge(one, other) for one in levels for other in levels}
    merged = {pair: level for pair, level in merged.items() if level}
    points: dict[int, int] = {}
    for (one, other), level in merged.items():
        earned = game.merge_points(one, other, level)
        if merged.get((other, one)) != level or points.setdefault(level, earned) != earned:
            raise ValueError(f"{game.name}: {one} and {other} do not merge as arithmetic on words needs it")
    ranges: list[MergeRange] = []
    for one, other in sorted(merged, key=lambda pair: (pair[1] - pair[0], pair[0])):
        following = MergeRange(one, one, other - one, merged[one, other] - one)
        if ranges and ranges[-1] == (ranges[-1].first, one - 1, following.step, following.rise):
            following = following._replace(first=ranges.pop().first)
        ranges.append(following)
    return tuple(ranges)


@functools.cache
def merge_points(game: Game) -> tuple[int, ...]:
    """Return the points of each tile that a merge makes; 0 of the other levels."""
    levels = range(1, len(game.tiles))
    points = [0] * len(game.tiles)
    for one, other in itertools.product(levels, levels):
        merged = game.merge(one, other)
        if merged:
            points[merged] = game.merge_points(one, other, merged)
    return tuple(points)


def merging(game: Game, one: UInt32[Array, "*B"], other: UInt32[Array, "*B"]) -> list[UInt32[Array, "*B"]]:
    """Set, for each range of the game, the top bit of each byte where two tiles merge."""
    return [_in_range(some, one, other) for some in merge_ranges(game)]


def _in_range(some: MergeRange, one: UInt32[Array, "*B"], other: UInt32[Array, "*B"]) -> UInt32[Array, "*B"]:
    if some.first == some.last:
        differs = (one ^ (_ONES * np.uint32(some.first))) | (other ^ (_ONES * np.uint32(some.first + some.step)))
        return ~occupied(differs) & _TOPS
    up, down = (np.uint32(max(step, 0)) for step in (some.step, -some.step))
    differs = (one + _ONES * up) ^ (other + _ONES * down)
    at_least = one + _ONES * np.uint32(128 - some.first)
    at_most = ~(one + _ONES * np.uint32(127 - some.last))
    return ~occupied(differs) & at_least & at_most & _TOPS


def slide_family(game: Game, line: UInt32[Array, "*B"], length: int) -> tuple[UInt32[Array, "*B"], UInt32[Array, "*B"]]:
    """Slide the cells of a line towards its lowest byte; return the line and the points."""
    slid, merged = _slide_one_cell(game, line, length) if game.slides_one_cell else _slide_far(game, line, length)
    points, first_two, third = merge_points(game), merged | (merged >> np.uint32(8)), merged >> np.uint32(16)
    if game.slides_one_cell:
        return slid, look_up(points, (first_two | third) & _BYTE)
    # Tiles that merge into neighbouring cells exclude each other.
    return slid, look_up(points, first_two & _BYTE) + look_up(points, third)


def _slide_far(game: Game, line: UInt32[Array, "*B"], length: int) -> tuple[UInt32[Array, "*B"], UInt32[Array, "*B"]]:
    """Slide as far as possible; the second word has the levels of the merged tiles, each in the byte of its first."""
    line = close_gaps(line, length)
    merges = merging(game, line, line >> np.uint32(8))
    wanted = _union(merges) & _tops(length - 1)
    taken = wanted & np.uint32(0x80)
    for cell in range(1, length - 1):  # beginning at the wall; a tile merges once
        taken = taken | (wanted & np.uint32(0x80 << (8 * cell)) & ~(taken << np.uint32(8)))
    risen = line + _sum(merges, taken, [some.rise for some in merge_ranges(game)])
    firsts = _bytes(taken)
    return close_gaps(risen & ~(firsts << np.uint32(8)), length, first=1), risen & firsts


def _slide_one_cell(
    game: Game, line: UInt32[Array, "*B"], length: int
) -> tuple[UInt32[Array, "*B"], UInt32[Array, "*B"]]:
    """Slide by one cell at most: the cells behind the first gap, or behind the first pair that merges, move."""
    merges = merging(game, line, line >> np.uint32(8))
    places = (~occupied(line) | _union(merges)) & _tops(length - 1)
    first = places & (np.uint32(0) - places)  # the lowest bit, 0 if there is none
    before = (first >> np.uint32(7)) - np.uint32(1)
    shifted = (line & before) | ((line >> np.uint32(8)) & ~before)
    slid = shifted + _sum(merges, first, [some.rise - some.step for some in merge_ranges(game)])
    return slid, slid & _bytes(_union(merges) & first)


def _tops(count: int) -> np.uint32:
    """Return the top bits of the first bytes."""
    return np.uint32(sum(0x80 << (8 * cell) for cell in range(count)))


def _union(flags: list[UInt32[Array, "*B"]]) -> UInt32[Array, "*B"]:
    return functools.reduce(operator.or_, flags)


def _bytes(flags: UInt32[Array, "*B"]) -> UInt32[Array, "*B"]:
    """Fill the bytes whose top bit is set."""
    return (flags >> np.uint32(7)) * np.uint32(0xFF)


def _sum(flags: list[UInt32[Array, "*B"]], taken: UInt32[Array, "*B"], numbers: list[int]) -> UInt32[Array, "*B"]:
    """Return, in each taken byte, the number of the range whose flag is set."""
    terms = [((flag & taken) >> np.uint32(7)) * np.uint32(number) for flag, number in zip(flags, numbers, strict=True)]
    return functools.reduce(operator.add, terms)
