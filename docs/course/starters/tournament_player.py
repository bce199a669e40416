"""Project 6 of the course: a program for the tournament of 2584 or Threes!, which slides and places.

    muzero2048 grade 2584-tournament "python tournament_player.py --game=2584"
    muzero2048 tournament greedy "mine=python tournament_player.py --game=2584" --board "2584-hard 4x4"

It speaks the protocol of docs/tournament.md. `choose_move` and `choose_placement` are left out.
"""

import argparse
import functools
import itertools
import sys
from typing import NamedTuple

EMPTY, FULL_BAG, LEVELS = (0,) * 16, (4, 4, 4), "0123456789ABCDEFGHIJKLMNOPQRSTUV"  # levels as the protocol writes them
LINES = {  # the cells of each line that a move slides, from the wall
    "U": [range(first, 16, 4) for first in range(4)],
    "R": [range(first, first - 4, -1) for first in (3, 7, 11, 15)],
    "D": [range(first, -1, -4) for first in range(12, 16)],
    "L": [range(first, first + 4) for first in (0, 4, 8, 12)],
}


class Position(NamedTuple):
    """A state, where the player moves next, if `last` is ""; otherwise an afterstate, where a tile is placed next."""

    board: tuple[int, ...]  # 16 levels, row by row; 0 = empty, level k = the k-th tile: 1 2 3 5 8 .., or 1 2 3 6 12 ..
    hint: int  # Threes!: level of the next tile; 2584: 0
    bag: tuple[int, ...]  # Threes!: how many 1s, 2s and 3s are left after the hint was drawn; 2584: ()
    last: str  # the move before: U, R, D or L


def choose_move(game: str, state: Position) -> str:
    """Return the one of moves(game, state), U, R, D or L, that is best for many points, against the other side."""
    raise NotImplementedError("write choose_move: the best move for many points")


def choose_placement(game: str, after: Position, drawn: int) -> tuple[str, Position]:
    """Return the one of placements(game, after, drawn) that is worst for the player; drawn: tile of 2584, or 0."""
    raise NotImplementedError("write choose_placement: the placement that is worst for the player")


def evaluate(game: str, board: tuple[int, ...]) -> float:
    """Return how good a board is after a move: empty cells, and lines that merge. You may improve it."""
    lines = (tuple([board[cell] for cell in cells]) for cells in LINES["L"] + LINES["U"])
    return board.count(0) + sum(slide(game, line)[1] > 0 for line in lines)


def placements(game: str, after: Position, drawn: int) -> list[tuple[str, Position]]:
    """Return all legal placements: each as the protocol writes it, and the position that follows."""
    cells = range(16) if game == "2584" else [line[-1] for line in LINES[after.last]]  # opposite to the wall
    hints = [0] if game == "2584" else [kind for kind in (1, 2, 3) if after.bag[kind - 1]]
    tile, found = drawn or after.hint, []
    for cell, hint in itertools.product(cells, hints):
        if not after.board[cell]:
            board = (*after.board[:cell], tile, *after.board[cell + 1 :])
            following = Position(board, hint, without(after.bag, hint), "")
            found.append((f"{cell:X}{LEVELS[tile]}" + f"+{hint}" * (hint > 0), following))
    return found


def moves(game: str, state: Position) -> dict[str, tuple[int, Position]]:
    """Return the legal moves, by U, R, D and L: points and position of each."""
    found = {}
    for action, lines in LINES.items():
        after, points = list(state.board), 0
        for cells in lines:
            line, earned = slide(game, tuple([state.board[cell] for cell in cells]))
            points += earned
            for cell, level in zip(cells, line, strict=True):
                after[cell] = level
        if tuple(after) != state.board:
            found[action] = points, Position(tuple(after), state.hint, state.bag, action)
    return found


def without(bag: tuple[int, ...], kind: int) -> tuple[int, ...]:
    """Return a bag after a tile was drawn from it; an empty bag is filled again."""
    rest = tuple(count - (place == kind) for place, count in enumerate(bag, start=1))
    return rest if any(rest) or not bag else FULL_BAG


def merge(game: str, one: int, other: int) -> int:
    """Return the level of the tile that two tiles make; 0: they do not merge."""
    if game == "2584":
        return (max(one, other) + 1) * (min(one, other) > 0 and (abs(one - other) == 1 or one == other == 1))
    return 3 if {one, other} == {1, 2} else (one + 1) * (3 <= one == other < 14)


@functools.cache
def slide(game: str, line: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
    """Return a line after a slide towards its first cell, and the points."""
    tiles = [level for level in line if level] if game == "2584" else list(line)
    after, points = [], 0
    while tiles:
        one, other = (*tiles, 0)[:2]
        made = merge(game, one, other)
        tiles = tiles[2:] if made else tiles[1:]
        points += made and worth(game, made) - (game == "threes") * (worth(game, one) + worth(game, other))
        if game == "threes" and (made or not one):  # one step a line: into its first gap, or by its first merge
            after, tiles = after + [made] * bool(made) + tiles, []
        else:
            after.append(made or one)
    return (*after, *[0] * (4 - len(after))), points


def worth(game: str, level: int) -> int:
    """Return the points of a tile: 2584, those of a merge to it; Threes!, those of the tile on the board."""
    fibonacci = round((0.5 + 1.25**0.5) ** (level + 1) / 5**0.5)
    return fibonacci if game == "2584" else 3 ** (level - 2) if level > 2 else 0


def answer(game: str, state: Position, action: str) -> tuple[str, Position]:
    """Return the answer to a line, "" for none, and the position after it."""
    if action.startswith("open "):
        return "open accept", Position(EMPTY, 0, FULL_BAG if game == "threes" else (), "")
    if action.startswith("#"):
        return "", moves(game, state)[action[1]][1]
    if action.startswith("?"):
        if state.last:
            return choose_placement(game, state, LEVELS.index(action[2:]) if action[2:] else 0)
        move = choose_move(game, state)
        return f"#{move}", moves(game, state)[move][1]
    if action.startswith(("close", "exit")):
        return "", state
    level, hint = LEVELS.index(action[1]), int(action[3:] or 0)  # a placement, such as 61 or 61+3
    bag = state.bag if any(state.board) else without(state.bag, level)  # the first tile comes from the bag, too
    board = tuple(level if cell == int(action[0], 16) else old for cell, old in enumerate(state.board))
    return "", Position(board, hint, without(bag, hint), "")


def main() -> None:
    """Answer the lines of the arena."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--game", choices=("2584", "threes"), required=True)
    game, state = parser.parse_args().game, Position((1, *EMPTY[1:]), 1, FULL_BAG, "")
    try:
        choose_move(game, state)  # so that a missing function is told before the first game
        for line in sys.stdin:
            name, _, action = line.strip().partition(" ")
            text, state = answer(game, state, action)
            if text:
                print(name, text, flush=True)
    except NotImplementedError as error:
        sys.exit(f"tournament_player.py: {error}")


if __name__ == "__main__":
    main()
