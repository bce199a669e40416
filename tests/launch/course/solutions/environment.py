"""Model solution of project 1: the rules of 2584 and Threes!, and a player that keeps large tiles in a corner."""
# ruff: noqa: F821

import random


def slide_2584(line: list[int]) -> tuple[list[int], int]:
    """Slide a line of 2584 as far as possible; each tile merges at most once."""
    slid, points, may_merge = [], 0, False
    for level in filter(None, line):
        if may_merge and (level == slid[-1] == 1 or abs(level - slid[-1]) == 1):
            slid[-1] = max(level, slid[-1]) + 1
            points += TILES_2584[slid[-1]]
            may_merge = False
        else:
            slid.append(level)
            may_merge = True
    return slid + [0] * (4 - len(slid)), points


def tile_2584(rng: random.Random) -> int:
    """Draw a 1 or a 2."""
    return 1 if rng.random() < 0.9 else 2


def slide_threes(line: list[int]) -> tuple[list[int], int]:
    """Close the first gap, or merge the first pair."""
    for i in range(3):
        one, other = line[i], line[i + 1]
        if one == 0:
            return [*line[:i], *line[i + 1 :], 0], 0
        if {one, other} == {1, 2} or (one == other and 3 <= one < 14):
            merged = max(one + 1, 3)
            points = WORTH_THREES[merged] - WORTH_THREES[one] - WORTH_THREES[other]
            return [*line[:i], merged, *line[i + 2 :], 0], points
    return line, 0


def draw_threes(bag: list[int], rng: random.Random) -> int:
    """Draw from the bag of three tiles."""
    if not bag:
        bag.extend((1, 2, 3))
    return bag.pop(rng.randrange(len(bag)))


def cells_threes(board: list[int], direction: str) -> list[int]:
    """Look at the last cell of each line."""
    return [cells[3] for cells in LINES[direction] if not board[cells[3]]]


def choose(moves: dict[str, tuple[list[int], int]], tiles: list[int]) -> str:
    """Take the points, and keep large tiles near the first cell: a tile counts half with each step away from it."""

    def worth(direction: str) -> float:
        after, points = moves[direction]
        return points + sum(tiles[level] * 0.5 ** (cell // 4 + cell % 4) for cell, level in enumerate(after))

    return max(moves, key=worth)
