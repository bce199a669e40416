"""2584 and Threes! in plain Python, in tiles instead of levels: written from the rules of Guei 2023, sec. 5.2.1, alone.

A line is a tuple of tiles from the wall, 0 = empty. It shares nothing with ntuple.core.games.
"""

Line = tuple[int, ...]

FIBONACCI = [1, 2]
while len(FIBONACCI) < 40:
    FIBONACCI.append(FIBONACCI[-2] + FIBONACCI[-1])


def merge_2584(a: int, b: int) -> int:
    """Return the merged tile, or 0: two tiles merge if their sum is the next number after the larger one."""
    if a == b == 1:
        return 2
    return a + b if a != b and a + b == FIBONACCI[FIBONACCI.index(max(a, b)) + 1] else 0


def slide_2584(line: Line) -> tuple[Line, int]:
    """Slide as far as possible and merge from the wall, each tile once; return the line and the merged tiles' sum."""
    tiles = [tile for tile in line if tile]
    done: list[int] = []
    points = 0
    while tiles:
        if len(tiles) > 1 and (merged := merge_2584(tiles[0], tiles[1])):
            done.append(merged)
            points += merged
            tiles = tiles[2:]
        else:
            done.append(tiles.pop(0))
    return tuple(done + [0] * (len(line) - len(done))), points


def score_of_threes(tile: int) -> int:
    """Return the points of a tile on the board: 3 to the power log2(tile / 3) + 1."""
    return 3 ** (tile // 3).bit_length() if tile >= 3 else 0


def slide_threes(line: Line) -> tuple[Line, int]:
    """Move all tiles behind the first gap, or behind the first pair that merges, by one cell."""
    for i in range(len(line) - 1):
        a, b = line[i], line[i + 1]
        if a == 0:
            return (*line[:i], *line[i + 1 :], 0), 0
        if b and (a + b == 3 or (a == b and 3 <= a < 6144)):
            gained = score_of_threes(a + b) - score_of_threes(a) - score_of_threes(b)
            return (*line[:i], a + b, *line[i + 2 :], 0), gained
    return line, 0
