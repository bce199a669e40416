"""Projects `2584-environment` and `threes-environment`: the rules of a game, and a player without learning.

    python environment.py --game=2584 --total=1000 --save=games.txt --seed=1
    muzero2048 grade 2584-environment "python environment.py --game=2584"

Write the functions of your game: for 2584 `slide_2584`, `tile_2584` and `choose`; for Threes! (--game=threes)
`slide_threes`, `draw_threes`, `cells_threes` and `choose`. Options, loop of a game, records and statistics are there.
A board is a list of 16 levels, row by row. A level is the number of a tile in rising order, 0 = empty.
"""

import argparse
import os
import random
import sys
import time
from collections import Counter

TILES_2584 = [0, 1, 2]  # tile of each level: 0, 1, 2, 3, 5, 8, 13, ...
while len(TILES_2584) < 32:
    TILES_2584.append(TILES_2584[-1] + TILES_2584[-2])
TILES_THREES = [0, 1, 2, *(3 * 2**k for k in range(12))]
WORTH_THREES = [0, 0, 0, *(3 ** (k + 1) for k in range(12))]  # points of a tile on the board
ROWS = [range(row, row + 4) for row in (0, 4, 8, 12)]
COLUMNS = [range(column, 16, 4) for column in range(4)]
LINES = {  # cells of the four lines along which a move slides, beginning at its wall
    "U": COLUMNS,
    "R": [row[::-1] for row in ROWS],
    "D": [column[::-1] for column in COLUMNS],
    "L": ROWS,
}


def slide_2584(line: list[int]) -> tuple[list[int], int]:
    """Slide four levels towards the first one; return the four levels after it, and the points.

    Tiles slide as far as they can. From the wall on, two neighbours merge if they are levels 1 and 1 (to level 2), or
    if their levels differ by 1 (to the larger level + 1). A merged tile does not merge again in this move. The points
    are the tiles (TILES_2584) that merging makes: [1, 1, 2, 3] -> [2, 4, 0, 0] and 2 + 5 points.
    """
    raise NotImplementedError("write slide_2584: return the line after a move, and its points")


def tile_2584(rng: random.Random) -> int:
    """Return the level of a new tile: 1 with probability 0.9, else 2. `rng.random()` is uniform in [0, 1)."""
    raise NotImplementedError("write tile_2584: return the level of a new tile")


def slide_threes(line: list[int]) -> tuple[list[int], int]:
    """Slide four levels by at most one cell towards the first one; return the four levels after it, and the points.

    Look at the cells from the wall on. At the first gap with a tile behind it, everything behind moves up by one cell.
    At the first two neighbours that merge, they become one tile, and everything behind moves up. Only the first of
    these happens. Levels 1 and 2 merge to 3; two equal levels from 3 to 13 merge to the next level. The points are the
    worth (WORTH_THREES) of the new tile less that of the two tiles: [3, 3, 1, 2] -> [4, 1, 2, 0] and 9 - 3 - 3 points.
    """
    raise NotImplementedError("write slide_threes: return the line after a move, and its points")


def draw_threes(bag: list[int], rng: random.Random) -> int:
    """Take a random level out of the bag and return it; first fill the bag with 1, 2, 3 if it is empty."""
    raise NotImplementedError("write draw_threes: take a level out of the bag and return it")


def cells_threes(board: list[int], direction: str) -> list[int]:
    """Return the empty cells of the side opposite to the wall of the move: after "R" those of the first column."""
    raise NotImplementedError("write cells_threes: return the cells where a tile may be placed after a move")


def choose(moves: dict[str, tuple[list[int], int]], tiles: list[int]) -> str:
    """Return the direction to play. `moves` has (board after the move, points) of each legal move.

    The tile of a level is tiles[level].
    A first player takes the largest points. A better one also looks at the board, such as its number of empty cells.
    """
    raise NotImplementedError("write choose: return the direction of the best move")


def legal_moves(board: list[int], slide) -> dict[str, tuple[list[int], int]]:
    """Return the board after each legal move, and its points, by direction."""
    moves = {}
    for direction, lines in LINES.items():
        after, points = board[:], 0
        for cells in lines:
            line, gained = slide([board[cell] for cell in cells])
            points += gained
            for cell, level in zip(cells, line, strict=True):
                after[cell] = level
        if after != board:
            moves[direction] = after, points
    return moves


def play(threes: bool, rng: random.Random) -> tuple[str, int, list[int], int]:
    """Play a game; return its record (docs/records.md), score, last board and number of moves."""
    board, bag, record, score, count = [0] * 16, [], [], 0, 0
    hint = draw_threes(bag, rng) if threes else 0

    def place(cells):
        """Place a tile on one of the cells; in Threes! it is the hint, and the next hint is drawn."""
        nonlocal hint, score
        cell = rng.choice(cells)
        board[cell] = hint if threes else tile_2584(rng)
        record.append(f"{cell:X}{board[cell]}")
        if threes:
            score += WORTH_THREES[hint]  # points of the board, not of the move: the record does not tell them
            hint = draw_threes(bag, rng)
            record.append(f"+{hint}")

    for _ in range(9 if threes else 2):
        place([cell for cell in range(16) if not board[cell]])
    while moves := legal_moves(board, slide_threes if threes else slide_2584):
        direction = choose(moves, TILES_THREES if threes else TILES_2584)
        board[:], points = moves[direction]
        record.append(f"#{direction}[{points}]" if points else f"#{direction}")
        score, count = score + points, count + 1
        place(cells_threes(board, direction) if threes else [cell for cell in range(16) if not board[cell]])
    return "".join(record), score, board, count


def main() -> None:
    """Play games, write their records, print statistics."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--game", choices=("2584", "threes"), default="2584")
    parser.add_argument("--total", type=int, default=1000, help="number of games")
    parser.add_argument("--save", default=os.devnull, help="file of the records")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    rng, begin, scores, largest, moves = random.Random(args.seed), time.perf_counter(), [], Counter(), 0
    with open(args.save, "w") as file:
        for _ in range(args.total):
            record, score, board, count = play(args.game == "threes", rng)
            print(record, file=file, flush=True)
            scores.append(score)
            largest[max(board)] += 1
            moves += count
    speed = moves / (time.perf_counter() - begin)
    print(f"{args.total} games: mean {sum(scores) / args.total:.1f}, max {max(scores)}, {speed:.0f} moves/s")
    for level in sorted(largest):
        tile = (TILES_THREES if args.game == "threes" else TILES_2584)[level]
        print(f"largest tile {tile} (level {level}): {largest[level] / args.total:.1%} of the games")


if __name__ == "__main__":
    try:
        main()
    except NotImplementedError as error:
        sys.exit(f"{os.path.basename(__file__)}: {error}")
