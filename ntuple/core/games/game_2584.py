"""2584: neighbours in the Fibonacci series 1, 2, 3, 5, 8, ... merge, and so do two 1s (Guei 2023, sec. 5.2.1).

The series ends at 2178309, level 31, which merges with nothing: the next tile, the largest that the theory allows,
would need a sixth bit for each cell. Students of the dissertation's course reached level 22.
"""

import dataclasses

from ntuple.core.games.definition import MOST_LEVELS, Game


def _merge(one: int, other: int) -> int:
    merged = max(one, other) + 1
    return merged if (abs(one - other) == 1 or one == other == 1) and merged < MOST_LEVELS else 0


def _tiles() -> tuple[int, ...]:
    tiles = [0, 1, 2]
    while len(tiles) < MOST_LEVELS:
        tiles.append(tiles[-1] + tiles[-2])
    return tuple(tiles)


GAME_2584 = Game(
    name="2584",
    tiles=_tiles(),
    merge=_merge,
    spawns=((1, 0.9), (2, 0.1)),
    goals=(2584, 4181, 6765, 10946, 17711, 28657, 46368),
    adversary="expectiminimax",
    index_levels=24,  # up to 46368
    levels_a_cell=2,  # neighbours merge, so the tiles of a full board are every second one at most
)
# Projects 4 to 6 of the course, table 30: a 3 merges neither with a 1 nor with a 3.
GAME_2584_HARD = dataclasses.replace(GAME_2584, name="2584-hard", spawns=((1, 0.75), (3, 0.25)))
