"""Project 3 of the course: an exact solver of 2584 or Threes! on a board of 2x3.

    echo "b 1 0 0 0 0 2" | python solver.py --game=2584
    muzero2048 grade 2584-solver "python solver.py --game=2584"
    muzero2048 grade threes-solver "python solver.py --game=threes"

It reads one question a line and answers each at once: 100 questions, one point each, in 60 s on one core. The page
solver.md has the rules. `slide`, `events`, `value_of_state` and `value_of_afterstate` are left out.

    board       tuple of the six tiles as faces, row by row, 0 = empty: cells 0 1 2 / 3 4 5
    state       (board, hint): the player moves next; hint = the next tile in Threes!, 0 in 2584
    afterstate  (board, hint, last): a tile is placed next; last = the move before in Threes!, "" in 2584
    value       (worst, expected, best): points still to come
"""

import argparse
import functools
import itertools
import sys
from collections.abc import Iterator

State = tuple[tuple[int, ...], int]
Afterstate = tuple[tuple[int, ...], int, str]
Value = tuple[float, float, float]

LINES = {  # the cells of each line that a move slides, from the wall
    "U": ((0, 3), (1, 4), (2, 5)),
    "R": ((2, 1, 0), (5, 4, 3)),
    "D": ((3, 0), (4, 1), (5, 2)),
    "L": ((0, 1, 2), (3, 4, 5)),
}
FAR_SIDE = {"U": (3, 4, 5), "R": (0, 3), "D": (0, 1, 2), "L": (2, 5)}  # cells opposite to the wall of a move
TURNED = {"": ("",) * 4, "U": "UUDD", "R": "RLRL", "D": "DDUU", "L": "LRLR"}  # a move in the four views of a board
STATES: dict[State, Value] = {}  # what `value_of_state` has found, by state_key
AFTERSTATES: dict[Afterstate, Value] = {}  # what `value_of_afterstate` has found, by afterstate_key


@functools.cache
def slide(game: str, line: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
    """Slide one line towards its first cell, and return the new line, as long as before, and the points.

    "2584": tiles slide as far as they can; neighbours of the series 1, 2, 3, 5, 8, 13, ... merge, and two 1s; each tile
    merges at most once; the points are the sum of the tiles made. "threes": by one cell at most, and one merge a line;
    the points are those of the tile made less those of its two parts (`worth`).
    """
    raise NotImplementedError("write slide: the line after a move, and its points")


def events(game: str, after: Afterstate) -> list[tuple[float, int, State]]:
    """Return all chance events of an afterstate: (probability, points of the placed tile, next state).

    "2584": a 1 (0.9) or a 2 (0.1) on any empty cell, 0 points. "threes": the hint is placed on an empty cell of
    FAR_SIDE[last] and earns worth(hint); the next hint is drawn from what is left of the bag (see solver.md).
    """
    raise NotImplementedError("write events: probability, points and next state of each placement")


def value_of_state(game: str, state: State) -> Value:
    """Return (worst, expected, best) of a state: all three are those of the move with the best expected value.

    The value of a move is its points plus the value of its afterstate; (0, 0, 0) if no move is legal. Look into STATES
    first, and keep the result there, under state_key(state).
    """
    raise NotImplementedError("write value_of_state: worst, expected and best of the best move")


def value_of_afterstate(game: str, after: Afterstate) -> Value:
    """Return (worst, expected, best) of an afterstate: smallest, mean and largest value over its events.

    The value of an event is its points plus the value of its state. Look into AFTERSTATES first, and keep the result
    there, under afterstate_key(after).
    """
    raise NotImplementedError("write value_of_afterstate: worst, expected and best over the events")


def worth(tile: int) -> int:
    """Return the points of a tile of Threes! on the board: 3 for a 3, 9 for a 6, 27 for a 12, ..."""
    return 3 ** ((tile // 3).bit_length()) if tile >= 3 else 0


def state_key(state: State) -> State:
    """Return the key of a state, the same for its four views: a quarter of the work."""
    return afterstate_key((*state, ""))[:2]


def afterstate_key(after: Afterstate) -> Afterstate:
    """Return the key of an afterstate, the same for its four views."""
    (a, b, c, d, e, f), hint, last = after
    views = (a, b, c, d, e, f), (c, b, a, f, e, d), (d, e, f, a, b, c), (f, e, d, c, b, a)
    board, last = min(zip(views, TURNED[last], strict=True))
    return board, hint, last


def moves(game: str, state: State) -> Iterator[tuple[int, Afterstate]]:
    """Yield (points, afterstate) of each legal move."""
    board, hint = state
    for action, lines in LINES.items():
        after, points = list(board), 0
        for cells in lines:
            line, earned = slide(game, tuple([board[cell] for cell in cells]))
            points += earned
            for cell, tile in zip(cells, line, strict=True):
                after[cell] = tile
        if tuple(after) != board:
            yield points, (tuple(after), hint, action if game == "threes" else "")


def openings(game: str) -> Iterator[State]:
    """Yield the states that a game begins with: two tiles in 2584, one tile and a hint in Threes!."""
    if game == "2584":
        for one, other in itertools.combinations(range(6), 2):
            for first, second in itertools.product((1, 2), repeat=2):
                yield tuple({one: first, other: second}.get(cell, 0) for cell in range(6)), 0
    else:
        for cell, (tile, hint) in itertools.product(range(6), itertools.permutations((1, 2, 3), 2)):
            yield tuple(tile if place == cell else 0 for place in range(6)), hint


def answer(game: str, question: str) -> str:
    """Return the answer to a question such as "b 0 1 0 0 0 2 +3": values, or -1 if no game comes there."""
    kind, *words = question.split()
    board, hint = tuple(int(word) for word in words[:6]), int(words[6]) if game == "threes" else 0
    if kind == "b":
        value = STATES.get(state_key((board, hint)))
    else:  # of any last move that leads there
        keys = [afterstate_key((board, hint, last)) for last in ("URDL" if game == "threes" else ("",))]
        value = next((AFTERSTATES[key] for key in keys if key in AFTERSTATES), None)
    texts = ["-1"] if value is None else [f"{value[0]:.0f}", f"{value[1]:.6f}", f"{value[2]:.0f}"]
    return " ".join(texts if game == "threes" or value is None else texts[1:2])


def main() -> None:
    """Solve the game from all its openings, then answer the questions."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--game", choices=("2584", "threes"), required=True)
    game = parser.parse_args().game
    sys.setrecursionlimit(100_000)  # the recursion goes as deep as the longest game
    try:
        for state in openings(game):
            value_of_state(game, state)
    except NotImplementedError as error:
        sys.exit(f"solver.py: {error}")
    for line in sys.stdin:
        if question := line.strip():
            print(f"{question} = {answer(game, question)}", flush=True)


if __name__ == "__main__":
    main()
