"""The rules of 2048 in plain Python: the slow, readable reference for all fast versions.

A board is a tuple of rows, a row is a tuple of cells, and a cell is the log2 of its tile (0 = empty).
Actions: 0 up, 1 right, 2 down, 3 left. The code of a spawn is 2 * cell + (1 if the tile is a 4, else 0);
cells are numbered row by row from the top left. The score is the sum of all tiles made by merges.
"""

from fractions import Fraction

UP, RIGHT, DOWN, LEFT = range(4)
ACTIONS = (UP, RIGHT, DOWN, LEFT)

Row = tuple[int, ...]
Board = tuple[Row, ...]


def slide(row: Row) -> tuple[Row, int]:
    """Slide one row towards its first cell; return the row and the reward.

    A tile merges at most once in a move. The pair nearest the wall merges first.
    """
    tiles = [cell for cell in row if cell]
    merged: list[int] = []
    reward = 0
    i = 0
    while i < len(tiles):
        if i + 1 < len(tiles) and tiles[i] == tiles[i + 1]:
            merged.append(tiles[i] + 1)
            reward += 2 ** (tiles[i] + 1)
            i += 2
        else:
            merged.append(tiles[i])
            i += 1
    return tuple(merged + [0] * (len(row) - len(merged))), reward


def transpose(board: Board) -> Board:
    return tuple(zip(*board, strict=True))


def mirror(board: Board) -> Board:
    return tuple(row[::-1] for row in board)


def afterstate(board: Board, action: int) -> tuple[Board, int]:
    """Return the board after the move and before the spawn, and the reward of the move."""
    if action in (UP, DOWN):
        turned, reward = afterstate(transpose(board), LEFT if action == UP else RIGHT)
        return transpose(turned), reward
    if action == RIGHT:
        turned, reward = afterstate(mirror(board), LEFT)
        return mirror(turned), reward
    rows, rewards = zip(*(slide(row) for row in board), strict=True)
    return rows, sum(rewards)


def lines(rows: int, columns: int, action: int) -> list[list[int]]:
    """Return the cells of the lines along which the action slides tiles, each from the wall that they slide to."""
    up = [[row * columns + column for row in range(rows)] for column in range(columns)]
    left = [[row * columns + column for column in range(columns)] for row in range(rows)]
    found = up if action in (UP, DOWN) else left
    return [line[::-1] for line in found] if action in (DOWN, RIGHT) else found


def legal_actions(board: Board) -> tuple[bool, bool, bool, bool]:
    """Return whether each action is legal, which means that it changes the board."""
    return tuple(afterstate(board, action)[0] != board for action in ACTIONS)  # type: ignore[return-value]


def is_over(board: Board) -> bool:
    return not any(legal_actions(board))


def cells(board: Board) -> list[int]:
    return [cell for row in board for cell in row]


def chance_probabilities(board: Board) -> dict[int, Fraction]:
    """Return the probability of each spawn code: a uniformly drawn empty cell, with a 2 (0.9) or a 4 (0.1)."""
    empty = [i for i, cell in enumerate(cells(board)) if cell == 0]
    return {
        2 * i + is_four: Fraction(1, len(empty)) * Fraction(1 if is_four else 9, 10)
        for i in empty
        for is_four in (0, 1)
    }


def spawn(board: Board, code: int) -> Board:
    """Return the board with the tile of the code placed; the cell must be empty."""
    width = len(board[0])
    row, column = divmod(code // 2, width)
    assert board[row][column] == 0, f"spawn code {code} falls on an occupied cell"
    tile = 2 if code % 2 else 1
    placed = (*board[row][:column], tile, *board[row][column + 1 :])
    return (*board[:row], placed, *board[row + 1 :])


def symmetries(board: Board) -> list[Board]:
    """Return the 8 views of a square board, or the 4 views of an oblong board that keep its shape."""
    flips = [board, mirror(board), board[::-1], mirror(board[::-1])]
    return flips + [transpose(view) for view in flips] if len(board) == len(board[0]) else flips
