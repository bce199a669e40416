"""2048: equal tiles merge; a 2 or a 4 is placed in any empty cell."""

from ntuple.core.games.definition import MOST_LEVELS, Game
from ntuple.core.rules import FOUR_SHARE


def _merge(one: int, other: int) -> int:
    return one + 1 if one == other and one + 1 < MOST_LEVELS else 0


GAME_2048 = Game(
    name="2048",
    tiles=(0, *(2**level for level in range(1, MOST_LEVELS))),
    merge=_merge,
    spawns=((1, 1 - FOUR_SHARE), (2, FOUR_SHARE)),
    levels_a_cell=1,  # the largest tile on H W cells is 2^(H W + 1)
    most_analysed=17,  # 131072, of 4x4 cells
)
