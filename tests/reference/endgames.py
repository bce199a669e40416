"""The probability to build a tile on the free cells of a pattern, in plain Python: recursion over whole boards.

It moves boards by the rules of `reference.rules`. The locked tiles are different ones, larger than the target, so the
rules merge none of them. Sliding tiles are kept if their row holds the same large tiles in the same order.
"""

import functools
from collections.abc import Callable, Iterator
from itertools import product

from reference.rules import ACTIONS, Board, afterstate

SIDE = 4
SPAWNS = ((1, 0.9), (2, 0.1))  # level of the new tile, probability


def boards(letters: str, target: int) -> Iterator[Board]:
    """Yield the boards of a pattern, with the locked tiles target + 1, target + 2, ..."""
    rows = [letters[SIDE * row :][:SIDE] for row in range(SIDE)]
    choices = [_slid(row) if "S" in row else [row] for row in rows]
    for arrangement in product(*choices):
        cells = "".join(arrangement)
        free = [cell for cell, letter in enumerate(cells) if letter not in "LS"]
        large = {cell: target + 1 + i for i, cell in enumerate(c for c in range(SIDE * SIDE) if c not in free)}
        for levels in product(range(target), repeat=len(free)):
            board = dict(zip(free, levels, strict=True)) | large
            yield tuple(tuple(board[SIDE * row + column] for column in range(SIDE)) for row in range(SIDE))


def _slid(row: str) -> list[str]:
    tiles = row.strip(".")
    return [("." * at + tiles).ljust(SIDE, ".") for at in range(SIDE - len(tiles) + 1)]


def solver(letters: str, target: int, largest_sum: int) -> Callable[[Board, Board], float]:
    """Return the function from a board and its afterstate to the probability after this move."""
    locked = [cell for cell, letter in enumerate(letters) if letter == "L"]
    goals = [cell for cell, letter in enumerate(letters) if letter == "T"] or [
        cell for cell, letter in enumerate(letters) if letter != "L"
    ]
    sliding = [row for row in range(SIDE) if "S" in letters[SIDE * row :][:SIDE]]

    def of_move(board: Board, after: Board) -> float:
        before, cells = sum(board, ()), sum(after, ())
        if any(before[cell] != cells[cell] for cell in locked):
            return 0.0
        if any([n for n in board[row] if n > target] != [n for n in after[row] if n > target] for row in sliding):
            return 0.0
        built = [cell for cell, level in enumerate(cells) if level == target]
        if built:
            return float(bool(set(built) & set(goals)))
        free = sum(1 << level for level in cells if 0 < level < target)
        return of_after(after) if free <= largest_sum else 0.0

    @functools.cache
    def of_after(board: Board) -> float:
        empty = [(r, c) for r in range(SIDE) for c in range(SIDE) if board[r][c] == 0]
        total = 0.0
        for (row, column), (level, share) in product(empty, SPAWNS):
            rows = [list(line) for line in board]
            rows[row][column] = level
            state = tuple(map(tuple, rows))
            afters = [afterstate(state, action)[0] for action in ACTIONS]
            total += share * max((of_move(state, after) for after in afters if after != state), default=0.0)
        return total / len(empty) if empty else 0.0

    return of_move
