"""Threes!: 1 and 2 make 3, equal tiles from 3 on merge; tiles move by one cell (Guei 2023, sec. 5.2.1).

Decisions where the dissertation says nothing: the nine first tiles and the first hint are drawn from the bag. The value
of a bonus tile is drawn when it is placed, from the largest tile of that board, so nothing that decides the future is
hidden from the player.
"""

import dataclasses
from fractions import Fraction

from ntuple.core.games.definition import Bag, Game

TILES = (0, 1, 2, *(3 * 2**k for k in range(12)))  # up to 6144, level 14, which never merges
LEVEL_OF = {tile: level for level, tile in enumerate(TILES)}


def _merge(one: int, other: int) -> int:
    if {one, other} == {1, 2}:
        return 3
    return one + 1 if one == other and 3 <= one < len(TILES) - 1 else 0


THREES = Game(
    name="threes",
    tiles=TILES,
    merge=_merge,
    bag=Bag(
        kinds=3,
        each=4,
        bonus_share=Fraction(1, 21),
        bonus_from=LEVEL_OF[48],
        bonus_least=LEVEL_OF[6],
        bonus_below=3,  # an eighth of the largest tile
    ),
    slides_one_cell=True,
    placement="changed lines",
    initial_tiles=9,
    goals=(384, 768, 1536, 3072, 6144),
    worth=(0, 0, 0, *(3 ** (k + 1) for k in range(12))),
)
# Projects 1 and 2 of the course, table 22.
THREES_EASY = dataclasses.replace(THREES, name="threes-easy", bag=Bag(kinds=3, each=1), placement="far side")
# Project 3, the solver: one first tile.
THREES_SMALL = dataclasses.replace(THREES_EASY, name="threes-small", initial_tiles=1)
# Projects 4 to 6, table 30.
THREES_FAR_SIDE = dataclasses.replace(THREES, name="threes-far-side", placement="far side")
