"""Openings of the games of the family: two tables of equally probable entries, from which an opening is drawn."""

import functools
import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntuple.core.games.definition import Game

COUNT_BITS = 3  # of the hint, and of the number of tiles of each kind in the bag
DRAW_BITS = 4 * COUNT_BITS  # hint and three kinds
Draw = tuple[int, tuple[int, ...]]  # hint, bag


class Openings(NamedTuple):
    """The cells of the first tiles, and these tiles in the order of the cells with the hint and the bag after them."""

    cells: NDArray[np.uint32]  # [sets] bit 4 * row + column of each cell with a tile
    tiles: NDArray[np.uint32]  # [entries] levels of `tile_bits` bits, the first in the lowest bits; then hint and bag
    tile_bits: int
    draw_at: int  # bit at which hint and bag begin, in the form of `draw_bits`


@functools.cache
def make_openings(game: Game, rows: int, columns: int) -> Openings:
    """Return the openings of a game on a board."""
    slots = [4 * row + column for row in range(rows) for column in range(columns)]
    cells = [sum(1 << slot for slot in chosen) for chosen in itertools.combinations(slots, game.initial_tiles)]
    shares: dict[tuple[tuple[int, ...], Draw], Fraction] = defaultdict(Fraction)
    for chance, levels, draw in _first_tiles(game):
        orders = _arrangements(levels)
        for order in orders:
            shares[order, draw] += chance / len(orders)
    total = math.lcm(*(share.denominator for share in shares.values()))
    entries = [entry for entry, share in shares.items() for _ in range(int(share * total))]
    bits = max(max(order) for order, _ in shares).bit_length()
    draw_at = bits * game.initial_tiles
    if draw_at + DRAW_BITS > 32:
        raise ValueError(f"{game.name}: the first tiles, hint and bag need more than 32 bits")
    words = []
    for order, draw in entries:
        tiles = sum(level << bits * i for i, level in enumerate(order))
        words.append(tiles | draw_bits(*draw) << draw_at)
    return Openings(np.array(cells, np.uint32), np.array(words, np.uint32), bits, draw_at)


def draw_bits(hint: int, bag: tuple[int, ...]) -> int:
    """Return hint and bag, three bits for each number."""
    return sum(count << COUNT_BITS * place for place, count in enumerate((hint, *bag)))


def _first_tiles(game: Game) -> Iterator[tuple[Fraction, tuple[int, ...], Draw]]:
    """Yield (chance, sorted levels of the first tiles, hint and bag after them)."""
    # All positions with the same tiles are merged after each tile: there are few sets of tiles.
    positions: dict[tuple[tuple[int, ...], Draw], Fraction] = {}
    for chance, draw in _draws(game, game.bag.full if game.bag else ()):
        positions[(), draw] = chance
    for _ in range(game.initial_tiles):
        following: dict[tuple[tuple[int, ...], Draw], Fraction] = defaultdict(Fraction)
        for (levels, (hint, bag)), before in positions.items():
            placed = game.exact_spawns if game.bag is None else [(hint, Fraction(1))]
            for (level, share), (chance, draw) in itertools.product(placed, _draws(game, bag)):
                following[tuple(sorted((*levels, level))), draw] += before * share * chance
        positions = following
    for (levels, draw), chance in positions.items():
        yield chance, levels, draw


def _draws(game: Game, bag: tuple[int, ...]) -> list[tuple[Fraction, Draw]]:
    """Return (chance, hint and bag after it); no first tile is large enough for a bonus tile."""
    if game.bag is None:
        return [(Fraction(1), (0, ()))]
    return [(chance, (level, rest)) for chance, level, rest in game.bag.draws(bag)]


@functools.cache
def _arrangements(levels: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Return the different orders of some levels."""
    if not levels:
        return [()]
    orders = []
    for level in Counter(levels):
        rest = list(levels)
        rest.remove(level)
        orders += [(level, *order) for order in _arrangements(tuple(rest))]
    return orders
