"""Project `light`: 2048 on 4x4, learned from nothing by TD(0) of afterstates with an n-tuple network.

    python td_afterstate.py --train=20000 --save-weights=weights.npz
    python td_afterstate.py --load=weights.npz --total=1000 --save=games.txt --seed=1
    muzero2048 grade light "python td_afterstate.py --load=weights.npz"

Write the functions `update` and `learn`; everything else is there. A board is 16 levels, row by row: log2 of each tile,
0 = empty. The afterstate is the board after a move, before the new tile. Its value V is the sum of 32 weights: each of
four tables is read at the 8 views (rotations, reflections) of its tuple of six cells.
"""

import argparse
import os
import sys

import numba
import numpy as np

ALPHA = 0.1  # step size of a value; a weight gets its share, ALPHA / WEIGHTS_READ
CELLS = np.arange(16).reshape(4, 4)
LINES = np.array([CELLS.T, CELLS[:, ::-1], CELLS[::-1].T, CELLS])  # [up right down left, line, place], wall first
VIEWS = [np.rot90(cells, turns).ravel() for cells in (CELLS, CELLS.T) for turns in range(4)]
TUPLES = [(0, 1, 2, 3, 4, 5), (4, 5, 6, 7, 8, 9), (0, 1, 2, 4, 5, 6), (4, 5, 6, 8, 9, 10)]
PLACES = np.array([[view[list(cells)] for view in VIEWS] for cells in TUPLES])  # cells [table, view, 6]
WEIGHTS_READ = PLACES.shape[0] * PLACES.shape[1]
LONGEST = 40_000  # moves of a game


@numba.njit
def update(weights, after, delta):
    """Add ALPHA / WEIGHTS_READ * delta to each weight that a board reads: weights[table, index(after, table, view)]."""
    raise NotImplementedError("write update: change the weights that a board reads")


@numba.njit
def learn(weights, path, rewards):
    """Learn from a game: path[t] is the afterstate of move t, rewards[t] are the points of this move.

    Call `update` for each path[t] with its TD(0) error, where V of what comes after the last afterstate is 0:
    delta = rewards[t + 1] + V(path[t + 1]) - V(path[t]), at the end of the game delta = 0 - V(path[t]).
    """
    raise NotImplementedError("write learn: compute the TD errors of a game and call update")


@numba.njit
def index(after, table, view):
    """Return the place of the weight that a board reads in a table in a view: 4 bits a cell."""
    place = 0
    for i in range(PLACES.shape[2]):
        place = place << 4 | after[PLACES[table, view, i]]
    return place


@numba.njit
def value(weights, after):
    """Return V: the sum of the weights that the board reads."""
    total = 0.0
    for table in range(PLACES.shape[0]):
        for view in range(PLACES.shape[1]):
            total += weights[table, index(after, table, view)]
    return total


@numba.njit
def move(board, action, after):
    """Write the board after a move into `after`; return the sum of the merged tiles, or -1 if nothing changes."""
    after[:], reward = 0, 0
    for line in LINES[action]:
        filled, may_merge = 0, False  # filled cells of the line; whether the last of them may still merge
        for cell in line:
            level = board[cell]
            if level > 0 and may_merge and after[line[filled - 1]] == level:
                after[line[filled - 1]] = level + 1
                reward += 2 << level
                may_merge = False
            elif level > 0:
                after[line[filled]] = level
                filled, may_merge = filled + 1, True
    return reward if (after != board).any() else -1


@numba.njit
def spawn(rng, board):
    """Place a 2 (with probability 0.9) or a 4 on a random empty cell; return the cell and the level."""
    empty = np.flatnonzero(board == 0)
    cell, level = empty[rng.integers(0, len(empty))], 1 if rng.random() < 0.9 else 2
    board[cell] = level
    return cell, level


@numba.njit
def play(rng, weights, path, rewards, log):
    """Play a game with the moves of the largest reward + V; log[t]: action, cell, level of the tile after move t."""
    board, after, moves = np.zeros(16, np.int64), np.zeros(16, np.int64), 0
    first = spawn(rng, board), spawn(rng, board)
    while True:
        best, best_action = -np.inf, -1
        for action in range(4):
            reward = move(board, action, after)
            if reward >= 0 and reward + value(weights, after) > best:
                best, best_action, rewards[moves], path[moves] = reward + value(weights, after), action, reward, after
        if best_action < 0:
            log[moves, 1:], log[moves + 1, 1:] = first  # behind the moves
            return moves, board
        board[:] = path[moves]
        log[moves, 0], log[moves, 1:] = best_action, spawn(rng, board)
        moves += 1


def record(log, rewards, moves):
    """Return a game as text: cell and level of a tile, #, direction and [reward] of a move (docs/records.md)."""
    items = [f"{log[t, 1]:X}{log[t, 2]}" for t in (moves, moves + 1)]
    for (action, cell, level), reward in zip(log[:moves].tolist(), rewards[:moves].tolist(), strict=True):
        items.append(f"#{'URDL'[action]}" + f"[{reward}]" * (reward > 0) + f"{cell:X}{level}")
    return "".join(items)


def main():
    """Train, or play games and write their records."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, kind in {"train": int, "total": int, "seed": int, "load": str, "save-weights": str, "save": str}.items():
        parser.add_argument(f"--{name}", type=kind, default=kind())
    args = parser.parse_args()
    weights = np.load(args.load)["weights"] if args.load else np.zeros((len(TUPLES), 16**6), np.float32)
    path, rewards, log = (np.zeros(shape, np.int64) for shape in ((LONGEST, 16), LONGEST, (LONGEST, 3)))
    learn(np.zeros(weights.shape, np.float32), path[:1], rewards[:1])  # compiles, and tells what is left out
    rng, scores, tiles, games = np.random.default_rng(args.seed), [], [], args.train or args.total
    with open(args.save or os.devnull, "w") as file:
        for game in range(1, games + 1):
            moves, board = play(rng, weights, path, rewards, log)
            if moves == 0:
                sys.exit("values are no numbers: look at the sign of delta, and at the step size ALPHA / WEIGHTS_READ")
            scores, tiles = [*scores[-999:], rewards[:moves].sum()], [*tiles[-999:], board.max()]
            if args.train:
                learn(weights, path[:moves], rewards[:moves])
            else:
                print(record(log, rewards, moves), file=file, flush=True)
            if game % 1000 == 0 or game == games:
                won = np.mean(np.array(tiles) >= 11)
                print(f"{game} games: mean {np.mean(scores):.0f}, max {max(scores)}, 2048 in {won:.1%}", flush=True)
            if args.save_weights and (game % 10_000 == 0 or game == games):
                np.savez_compressed(args.save_weights, weights=weights)


if __name__ == "__main__":
    try:
        main()
    except NotImplementedError as error:
        sys.exit(f"{os.path.basename(__file__)}: {error}")
