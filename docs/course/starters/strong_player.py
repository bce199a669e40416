"""Projects `2584-strong` and `threes-strong`: expectimax of 2 plies over the values of TD(0) (strong.md).

Write `slide`, `draw`, `learn` (project 2; mind the new rules) and `expectimax`. A board is 16 levels, row by row.
    python strong_player.py --game=2584 --train=20000 --save-weights=weights.npz
    muzero2048 grade 2584-strong "python strong_player.py --game=2584 --load=weights.npz"
"""

import argparse
import sys

import numba
import numpy as np

PARSER = argparse.ArgumentParser(description=__doc__.splitlines()[0])
PARSER.add_argument("--game", choices=("2584", "threes"), default="2584")
for name, kind in {"train": int, "total": int, "seed": int, "load": str, "save-weights": str, "save": str}.items():
    PARSER.add_argument(f"--{name}", type=kind, default=kind())
ARGS = PARSER.parse_args()  # at once, because numba compiles the rules of the game in
THREES, TRAIN, ALPHA, LONGEST = ARGS.game == "threes", ARGS.train > 0, 0.1, 100_000  # step size; most moves of a game
FIRST, LEVELS = (9, 15) if THREES else (2, 24)  # first tiles; values of a cell in V
TILES = np.round(((1 + 5**0.5) / 2) ** np.arange(1, 33) / 5**0.5).astype(np.int64)  # 2584: tile of each level from 1
WORTH = THREES * np.array([0, 0, 0, *(3**k for k in range(1, 30))])  # points of a level on the board; 0 in 2584
CELLS = np.arange(16).reshape(4, 4)
LINES = np.array([CELLS.T, CELLS[:, ::-1], CELLS[::-1].T, CELLS])  # [up right down left, line, place], wall first
PLACES = np.array([[line] for line in (*CELLS, *CELLS.T)])  # network: cells [table, view, place]; here "Lines"


@numba.njit
def slide(line):
    """Slide an array of four levels towards line[0], in place; return the points of the move (rules: project 1)."""
    raise NotImplementedError("write slide: slide a line in place, return its points")


@numba.njit
def draw(rng, bag, largest):
    """Return the level of the next tile. 2584: 1 with probability 0.75, else 3. Threes!: the next hint.

    It is 4 with probability 1/21 if largest >= 7, else drawn: bag[k] of level k are left; an empty bag gets 4 of each.
    """
    raise NotImplementedError("write draw: return the level of the next tile")


@numba.njit
def learn(weights, after, target):
    """Add ALPHA / N * (target - V(after)) to each of the N weights that `after` reads: weights[table, index(...)]."""
    raise NotImplementedError("write learn: change the weights by the TD error of an afterstate")


@numba.njit
def expectimax(weights, after, action, hint):
    """Return the expected points after an afterstate: the mean over the next tiles of what each of them leads to.

    A tile leads to WORTH[level] + the largest points + V of a move (0 if none is legal). Its cell is any of
    `places(after, action)`, its level 1 (0.75) or 3; in Threes! the hint, or for hint 4 any from 4 to after.max() - 3.
    """
    raise NotImplementedError("write expectimax: return the mean value of the next tiles")


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
    for table, view in np.ndindex(PLACES.shape[:2]):
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
def places(board, action):
    """Return the empty cells where a tile may be placed; in Threes!, after a move, on the side opposite to its wall."""
    cells = LINES[action][:, 3].copy() if THREES and action >= 0 else np.arange(16)
    return cells[board[cells] == 0]


@numba.njit
def play(rng, weights, log):
    """Play a game, and learn from it with --train; return its number of moves and first tiles, and the score."""
    board, after, best_after, bag = np.zeros((4, 16), np.int64)
    score, gain, hint = 0, 0, draw(rng, bag, 0)
    for row in range(LONGEST):
        best, action, points, last = -np.inf, -1, 0, best_after.copy()
        for a in range(4 if row >= FIRST else 0):
            reward = move(board, a, after)
            v = -np.inf if reward < 0 else value(weights, after) if TRAIN else expectimax(weights, after, a, hint)
            if reward + v > best:
                best, action, points, best_after[:] = reward + v, a, reward, after
        if TRAIN and row > FIRST:
            learn(weights, last, gain + max(best, 0.0))
        if row >= FIRST and action < 0:
            break
        board[:] = best_after if action >= 0 else board
        cells, level = places(board, action), rng.integers(4, board.max() - 2) if hint == 4 else hint
        cell, gain = cells[rng.integers(0, len(cells))], WORTH[level]
        score, board[cell] = score + points + gain, level
        hint = draw(rng, bag, board.max())
        log[row] = action, points, cell, level, hint
    return row, score


def record(log):
    """Return a game as text (docs/records.md): moves as #U[points], tiles as cell and level, in Threes! with +hint."""
    text = ""
    for a, p, cell, level, hint in log.tolist():
        text += f"#{'URDL'[a]}" * (a >= 0) + f"[{p}]" * (p > 0)
        text += f"{cell:X}{np.base_repr(level, 36)}" + f"+{hint}" * THREES
    return text


def main():
    """Train, or play games and write their records."""
    weights = np.load(ARGS.load)["weights"] if ARGS.load else np.zeros((len(PLACES), LEVELS ** PLACES.shape[2]), "f4")
    rng, log, scores = np.random.default_rng(ARGS.seed), np.zeros((LONGEST, 5), np.int64), []
    expectimax(weights, np.zeros(16, np.int64), 0, draw(rng, log[0] + slide(log[0, :4]), 0))  # tells what is left out
    with open(ARGS.save or "/dev/null", "w") as file:
        for game in range(1, (ARGS.train or ARGS.total) + 1):
            rows, score = play(rng, weights, log)
            scores.append(score)
            print("" if TRAIN else record(log[:rows]), file=file, flush=True)
            if game % 1000 == 0 or game in (ARGS.train, ARGS.total):
                print(f"{game} games: mean {np.mean(scores[-1000:]):.0f}, max {max(scores)}", flush=True)
                if ARGS.save_weights:
                    np.savez(ARGS.save_weights, weights=weights)


if __name__ == "__main__":
    try:
        main()
    except NotImplementedError as error:
        sys.exit(f"{__file__.rpartition('/')[2]}: {error}")
