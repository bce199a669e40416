"""Projects `2584-player` and `threes-player`: TD(0) of afterstates with an n-tuple network (player.md).

    python td_player.py --game=2584 --train=20000 --save-weights=weights.npz
    python td_player.py --game=2584 --load=weights.npz --total=1000 --save=games.txt --seed=1
    muzero2048 grade 2584-player "python td_player.py --game=2584 --load=weights.npz"

Write `slide`, `draw` (project 1) and `learn`. A board is 16 levels, row by row: the numbers of the tiles, 0 = empty.
"""

import argparse
import os
import sys

import numba
import numpy as np

PARSER = argparse.ArgumentParser(description=__doc__.splitlines()[0])
PARSER.add_argument("--game", choices=("2584", "threes"), default="2584")
for name, kind in {"train": int, "total": int, "seed": int, "load": str, "save-weights": str, "save": str}.items():
    PARSER.add_argument(f"--{name}", type=kind, default=kind())
ARGS = PARSER.parse_args()  # at once, because numba compiles the rules of the game in
THREES = ARGS.game == "threes"
FIRST, WON, LEVELS = (9, 10, 15) if THREES else (2, 17, 24)  # first tiles; level of the goal; values of a cell in V
ALPHA, LONGEST = 0.1, 100_000  # step size; most moves of a game
TILES = np.arange(32)  # 2584: tile of each level
for level in range(3, 32):
    TILES[level] = TILES[level - 1] + TILES[level - 2]
WORTH = THREES * np.array([0, 0, 0, *(3**k for k in range(1, 30))])  # points of a level on the board; 0 in 2584
CELLS = np.arange(16).reshape(4, 4)
LINES = np.array([CELLS.T, CELLS[:, ::-1], CELLS[::-1].T, CELLS])  # [up right down left, line, place], wall first
PLACES = np.array([[line] for line in (*CELLS, *CELLS.T)])  # network: cells [table, view, place]; here "Lines"


@numba.njit
def slide(line):
    """Slide an array of four levels towards line[0], in place; return the points of the move (rules: project 1)."""
    raise NotImplementedError("write slide: slide a line in place, return its points")


@numba.njit
def draw(rng, bag):
    """Return the level of a new tile. 2584: 1 with probability 0.9 (`rng.random()` is uniform in [0, 1)), else 2.

    Threes!: bag[k] tiles of level k are left. Take a random one out; fill an empty bag first. Use `rng.integers(0, n)`.
    """
    raise NotImplementedError("write draw: return the level of a new tile")


@numba.njit
def learn(weights, path, gains):
    """Learn from a game: path[t] is the afterstate of move t, gains[t] are the points between path[t] and path[t + 1].

    delta = gains[t] + V(path[t + 1]) - V(path[t]) is the error of path[t]; after the last one V is 0. Add
    ALPHA / N * delta to each of the N weights that path[t] reads, weights[table, index(path[t], table, view)].
    """
    raise NotImplementedError("write learn: change the weights by the TD errors of a game")


@numba.njit
def index(after, table, view):
    """Return the place of the weight that a board reads in a table in a view."""
    place = 0
    for i in range(PLACES.shape[2]):
        place = place * LEVELS + min(after[PLACES[table, view, i]], LEVELS - 1)
    return place


@numba.njit
def value(weights, after):
    """Return V, the sum of the weights that a board reads: the expected points after this afterstate."""
    total = 0.0
    for table in range(PLACES.shape[0]):
        for view in range(PLACES.shape[1]):
            total += weights[table, index(after, table, view)]
    return total


@numba.njit
def move(board, action, after):
    """Write the board after a move into `after`; return the points, or -1 if nothing changes."""
    points = 0
    for cells in LINES[action]:
        line = board[cells]
        points += slide(line)
        after[cells] = line
    return points if (after != board).any() else -1


@numba.njit
def play(rng, weights, path, gains, log):
    """Play a game with the moves of the largest points + V; return the number of moves, score and largest level."""
    board, after, bag = np.zeros((3, 16), np.int64)
    moves, score, level = 0, 0, draw(rng, bag[:4])
    for row in range(LONGEST):
        best, action, points, cells = -np.inf, -1, 0, np.flatnonzero(board == 0)
        for a in range(4 if row >= FIRST else 0):
            reward = move(board, a, after)
            if reward >= 0 and reward + value(weights, after) > best:
                best, action, points, path[moves] = reward + value(weights, after), a, reward, after
        if row >= FIRST and action < 0:
            break
        if action >= 0:
            board[:], gains[moves - 1], moves = path[moves], gains[moves - 1] + points, moves + 1
            cells = LINES[action][:, 3].copy() if THREES else np.arange(16)  # Threes!: the side opposite to the wall
            cells = cells[board[cells] == 0]
        cell, gains[moves - 1] = cells[rng.integers(0, len(cells))], WORTH[level]
        score, board[cell] = score + points + WORTH[level], level
        log[row] = action, points, cell, level, draw(rng, bag[:4])  # action -1: a first tile
        level = log[row, 4]
    return moves, score, board.max()


def record(log):
    """Return a game as text (docs/records.md): moves as #U[points], tiles as cell and level, in Threes! with +hint."""
    text = ""
    for action, points, cell, level, hint in log.tolist():
        text += f"#{'URDL'[action]}" * (action >= 0) + f"[{points}]" * (points > 0)
        text += f"{cell:X}{np.base_repr(level, 36)}" + f"+{hint}" * THREES
    return text


def main():
    """Train, or play games and write their records."""
    empty = np.zeros((len(PLACES), LEVELS ** PLACES.shape[2]), np.float32)
    weights, rng, results = np.load(ARGS.load)["weights"] if ARGS.load else empty, np.random.default_rng(ARGS.seed), []
    path, gains, log = (np.zeros(shape, np.int64) for shape in ((LONGEST, 16), LONGEST, (LONGEST, 5)))
    draw(rng, path[0] + slide(path[0, :4]))  # a call from here tells what is left out
    games = ARGS.train or ARGS.total
    with open(ARGS.save or os.devnull, "w") as file:
        for game in range(1, games + 1):
            moves, *result = play(rng, weights, path, gains, log)
            results.append(result)
            if ARGS.train:
                learn(weights, path[:moves], gains[:moves])
            else:
                print(record(log[: moves + FIRST]), file=file, flush=True)
            if game % 1000 == 0 or game == games:
                scores, levels = np.array(results[-1000:]).T
                won = f"won {np.mean(levels >= WON):.1%}, largest level {levels.max()}"
                print(f"{game} games: mean {scores.mean():.0f}, max {scores.max()}, {won}", flush=True)
                if ARGS.save_weights:
                    np.savez(ARGS.save_weights, weights=weights)


if __name__ == "__main__":
    try:
        main()
    except NotImplementedError as error:
        sys.exit(f"{os.path.basename(__file__)}: {error}")
