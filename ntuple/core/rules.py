"""The rules of 2048 that all packages share: the share of 4s, and a game in plain Python. Standard library only.

The fast versions are ntuple/game/bitboard.py (numba, one board) and muzero2048/game/env.py (JAX, batches of boards).
A board is a tuple of H rows of W levels, log2 of the tile, 0 = empty. Actions: up, right, down, left = 0..3. The random
numbers are those of ntuple/game/rng.py, so a stream gives the same game in both.
"""

import functools

FOUR_SHARE = 0.1  # probability that a spawn is a 4; else it is a 2. All packages derive theirs from this.
MEAN_SPAWN = 2 + 2 * FOUR_SHARE  # mean tile of a spawn
FOUR_BELOW = round(FOUR_SHARE * 2**32)  # a 4 spawns if 32 random bits are below this

UP, RIGHT, DOWN, LEFT = range(4)

# splitmix64, see ntuple/game/rng.py
GAMMA, MIX_1, MIX_2 = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
MASK_64, MASK_32 = 2**64 - 1, 2**32 - 1

Board = tuple[tuple[int, ...], ...]


def check_sides(rows: int, columns: int) -> None:
    """Check the sides of a board.

    Raises:
        ValueError: a side is outside 1..4, or the board has one cell only.
    """
    if not (1 <= rows <= 4 and 1 <= columns <= 4 and rows * columns > 1):
        raise ValueError(f"a board of {rows}x{columns} cells: take rows and columns from 1..4, at least two cells")


def begin_game(rows: int, columns: int, stream: int) -> tuple[Board, int]:
    """Return the board after two spawns, and the next state of the random stream."""
    board, stream = spawn(((0,) * columns,) * rows, stream)
    return spawn(board, stream)


def afterstate(board: Board, action: int) -> tuple[Board, int]:
    """Return the board after the move and before the spawn, and the reward; the same board if the move is not legal."""
    is_vertical = action in (UP, DOWN)
    lines = zip(*board, strict=True) if is_vertical else board
    after, points = zip(*[_slide(line, action in (RIGHT, DOWN)) for line in lines], strict=True)
    return tuple(zip(*after, strict=True)) if is_vertical else after, sum(points)


@functools.cache  # a line has at most 18^4 forms
def _slide(line: tuple[int, ...], to_the_end: bool) -> tuple[tuple[int, ...], int]:
    """Slide a line to its first cell or to its end; return it and the sum of the merged tiles."""
    slid: list[int] = []
    points, may_merge = 0, False
    for level in filter(None, reversed(line) if to_the_end else line):
        if may_merge and slid[-1] == level:
            slid[-1] += 1
            points += 1 << slid[-1]
            may_merge = False
        else:
            slid.append(level)
            may_merge = True
    slid += [0] * (len(line) - len(slid))
    return tuple(reversed(slid) if to_the_end else slid), points


def spawn(board: Board, stream: int) -> tuple[Board, int]:
    """Place a 2 or a 4 in a uniformly drawn empty cell; return the board and the next state of the random stream."""
    stream = (stream + GAMMA) & MASK_64
    bits = _mix(stream)
    empty = [(row, column) for row, line in enumerate(board) for column, level in enumerate(line) if not level]
    row, column = empty[(bits >> 32) * len(empty) >> 32]
    level = 2 if bits & MASK_32 < FOUR_BELOW else 1
    line = board[row]
    return (*board[:row], (*line[:column], level, *line[column + 1 :]), *board[row + 1 :]), stream


def _mix(state: int) -> int:
    """Return the 64 random bits of a state."""
    z = ((state ^ (state >> 30)) * MIX_1) & MASK_64
    z = ((z ^ (z >> 27)) * MIX_2) & MASK_64
    return z ^ (z >> 31)
