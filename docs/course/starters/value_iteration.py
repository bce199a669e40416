"""Value iteration on 2048 with a board of 2x3.

    echo "12 2 4 0 0 8 2" | python value_iteration.py
    muzero2048 grade value-iteration "python value_iteration.py"

It reads one question a line, `K TILES`, and answers each at once with V_K of this state: 100 questions, one point each,
in 60 seconds on one core; K is 400 at most. The page value-iteration.md has the formula. Two functions are left out,
`sweep` and `value_after`. Everything else is complete, also the arrays of all states, of their moves and of the chance
events behind them.
"""

import sys
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

Board = tuple[int, ...]  # the six tiles, row by row, 0 = empty: cells 0 1 2 / 3 4 5

# The cells of each line that a move slides, from the wall: up, right, down, left.
LINES = (
    ((0, 3), (1, 4), (2, 5)),
    ((2, 1, 0), (5, 4, 3)),
    ((3, 0), (4, 1), (5, 2)),
    ((0, 1, 2), (3, 4, 5)),
)
SPAWNS = ((2, 0.9), (4, 0.1))  # (tile, probability)


class Model(NamedTuple):
    """All N states and M afterstates of the game, where a board stands for its four mirrored views."""

    number: dict[Board, int]  # row of a state in the arrays; the keys are those of `view`
    points: np.ndarray  # [N, 4] points of each move
    after: np.ndarray  # [N, 4] row of its afterstate; -1: the move is not legal
    chance: np.ndarray  # [M, 12] probabilities of the events; 0 where an afterstate has fewer than 12
    following: np.ndarray  # [M, 12] row of the state that each event leads to; 0 where the chance is 0


def sweep(model: Model, values: np.ndarray) -> np.ndarray:
    """Return V_k of all states from V_{k-1}, both [N]: one application of the Bellman operator.

    V_k(s) = max over the legal moves of points + sum over the events of chance * V_{k-1}(following), and 0 in a state
    without a legal move. All values are those of the sweep before: do not change `values`.
    """
    raise NotImplementedError("write sweep: the values after one more sweep over all states")


def value_after(model: Model, history: list[np.ndarray], sweeps: int, state: int) -> float:
    """Return V_sweeps of the state with this row.

    history[k] is V_k, of the sweeps that were made for the questions before; it begins with V_0 = 0. Append what is
    missing, so that no sweep is made twice.
    """
    raise NotImplementedError("write value_after: the value of a state after so many sweeps")


def slide(line: tuple[int, ...]) -> tuple[list[int], int]:
    """Return a line after a slide towards its first cell, and the points."""
    after: list[int] = []
    points, may_merge = 0, False
    for tile in filter(None, line):
        if may_merge and after[-1] == tile:
            after[-1] += tile
            points += after[-1]
            may_merge = False
        else:
            after.append(tile)
            may_merge = True
    return after + [0] * (len(line) - len(after)), points


def view(board: Board) -> Board:
    """Return the one of the four views of a board that stands for all."""
    a, b, c, d, e, f = board
    return min((a, b, c, d, e, f), (c, b, a, f, e, d), (d, e, f, a, b, c), (f, e, d, c, b, a))


def moved(board: Board, action: int) -> tuple[Board, int]:
    """Return the board after a move, and the points."""
    after, points = list(board), 0
    for cells in LINES[action]:
        line, earned = slide(tuple(board[cell] for cell in cells))
        points += earned
        for cell, tile in zip(cells, line, strict=True):
            after[cell] = tile
    return tuple(after), points


def placed(board: Board) -> Iterator[tuple[float, Board]]:
    """Yield (probability, board) of each placement of a tile."""
    for cell in range(6):
        if not board[cell]:
            for tile, chance in SPAWNS:
                yield chance / board.count(0), (*board[:cell], tile, *board[cell + 1 :])


def build() -> Model:
    """Return all states that the game comes to from its first two tiles, and what follows from them."""
    openings = [opening for _, one in placed((0,) * 6) for _, opening in placed(one)]
    number = {board: i for i, board in enumerate(dict.fromkeys(map(view, openings)))}
    states, after_number, events = list(number), {}, []
    points, after = [], []
    for board in states:  # grows in the loop
        rows = [-1] * 4
        moves = [moved(board, action) for action in range(4)]
        for action, (slid, _) in enumerate(moves):
            if slid == board:
                continue
            rows[action] = after_number.setdefault(view(slid), len(events))
            if rows[action] == len(events):
                events.append([(chance, view(following)) for chance, following in placed(view(slid))])
                for _, following in events[-1]:
                    if following not in number:
                        number[following] = len(states)
                        states.append(following)
        points.append([earned for _, earned in moves])
        after.append(rows)
    padded = [event + [(0.0, states[0])] * (12 - len(event)) for event in events]
    chance = np.array([[share for share, _ in event] for event in padded])
    following = np.array([[number[board] for _, board in event] for event in padded])
    return Model(number, np.array(points, float), np.array(after), chance, following)


def main() -> None:
    """Answer questions."""
    model = build()
    history = [np.zeros(len(model.number))]
    try:
        sweep(model, history[0])  # so that a missing function is told before the first question
        for line in filter(str.strip, sys.stdin):
            sweeps, *tiles = map(int, line.split())
            value = value_after(model, history, sweeps, model.number[view(tuple(tiles))])
            print(f"{line.strip()} = {value:.6f}", flush=True)
    except NotImplementedError as error:
        sys.exit(f"value_iteration.py: {error}")


if __name__ == "__main__":
    main()
