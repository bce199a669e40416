"""Project `mcts`: Monte Carlo tree search with random rollouts, for 2048 on 3x3 (mcts.md).

    python mcts.py --rollouts=1000 --total=10 --save=games.txt --seed=1
    muzero2048 grade mcts "python mcts.py --rollouts=1000"

Write `select`, `expand` and `back_up`; the rules, the rollout and the hash table of the tree are there. A board is 9
levels, row by row: log2 of each tile, 0 = empty. In the tree a state (a board before a move) is a row of arrays: keys
(the board as a number; 0: free), visits[row, action] of simulations, totals[row, action] of their points from there.
"""

import argparse
import os
import sys

import numba
import numpy as np

CELLS = np.arange(9).reshape(3, 3)
LINES = np.array([CELLS.T, CELLS[:, ::-1], CELLS[::-1].T, CELLS])  # [up right down left, line, place], wall first


@numba.njit
def select(visits, totals, legal, exploration):
    """Return the action to try in a state; visits, totals and legal (0 or 1) have one number for each of four actions.

    A legal action without a visit comes first, then the legal one with the largest UCB1: its mean + exploration *
    (mean of all visits of the state) * sqrt(ln(all visits of the state) / visits of the action).
    """
    raise NotImplementedError("write select: return the action with the largest UCB1")


@numba.njit
def expand(keys, visits, totals, row, key):
    """Make a free row the state of this key, without visits."""
    raise NotImplementedError("write expand: put a new state into the tree")


@numba.njit
def back_up(visits, totals, path, value):
    """Add to each (row, action, points) of the path a visit and all points from there on; `value` follows the path."""
    raise NotImplementedError("write back_up: add a simulation to the visits and totals of its path")


@numba.njit
def move(board, action, after):
    """Write the board after a move into `after`; return the points, or -1 if nothing changes."""
    after[:], points = 0, 0
    for line in LINES[action]:
        filled, may_merge = 0, False
        for cell in line:
            level = board[cell]
            if level > 0 and may_merge and after[line[filled - 1]] == level:
                after[line[filled - 1]] = level + 1
                points, may_merge = points + (2 << level), False
            elif level > 0:
                after[line[filled]] = level
                filled, may_merge = filled + 1, True
    return points if (after != board).any() else -1


@numba.njit
def spawn(rng, board):
    """Place a 2 (with probability 0.9) or a 4 on a random empty cell; return the cell and the level."""
    empty = np.flatnonzero(board == 0)
    cell = empty[rng.integers(0, len(empty))]
    board[cell] = 1 if rng.random() < 0.9 else 2
    return cell, board[cell]


@numba.njit
def rollout(rng, board, after):
    """Play random moves to the end of the game, on `board` itself; return the points."""
    total, tried = 0, 0
    while tried != 15:  # bit a is set: action a was tried in vain
        action = rng.integers(0, 4)
        points, tried = move(board, action, after), tried | 1 << action
        if points >= 0:
            total, tried, board[:] = total + points, 0, after
            spawn(rng, board)
    return total


@numba.njit
def find(keys, board):
    """Return the key of a board, and the row of the tree that has it, or that is free for it."""
    key = 0
    for level in board:
        key = key << 5 | level
    row = (key * 0x9E3779B97F4A7C1 >> 20) % len(keys)
    while keys[row] != 0 and keys[row] != key:
        row = (row + 1) % len(keys)
    return key, row


@numba.njit
def search(rng, root, rollouts, exploration, keys, visits, totals):
    """Run simulations from a board; return the action with the most visits, -1 if none is legal."""
    keys[:] = 0
    (board, after, legal), path = np.zeros((3, 9), np.int64), np.zeros((9999, 3), np.int64)
    for _ in range(rollouts):
        board[:], length, value = root, 0, 0
        key, row = find(keys, board)
        while keys[row] == key:
            for action in range(4):
                legal[action] = move(board, action, after) >= 0
            if not legal.any():
                break
            action = select(visits[row], totals[row], legal[:4], exploration)
            points = move(board, action, after)
            path[length], length, board[:] = (row, action, points), length + 1, after
            spawn(rng, board)
            key, row = find(keys, board)
        if keys[row] != key:  # else the game is over
            expand(keys, visits, totals, row, key)
            value = rollout(rng, board, after)
        back_up(visits, totals, path[:length], value)
    _, row = find(keys, root)
    return visits[row].argmax() if visits[row].any() else -1


def main():
    """Play games, write their records, print the mean score."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in {"rollouts": 1000, "exploration": 5.0, "total": 1, "seed": 1, "save": os.devnull}.items():
        parser.add_argument(f"--{name}", type=type(default), default=default)
    args = parser.parse_args()
    rng, rows = np.random.default_rng(args.seed), 2 * args.rollouts + 64
    tree = np.zeros(rows, np.int64), np.zeros((rows, 4), np.int64), np.zeros((rows, 4))
    (board, after), scores = np.zeros((2, 9), np.int64), []
    select(tree[1][0], tree[2][0], np.ones(4, np.int64), 1.0)  # a call from here tells what is left out
    with open(args.save, "w") as file:
        for _ in range(args.total):
            board[:], score = 0, 0
            text = "".join(f"{cell}{level}" for cell, level in (spawn(rng, board), spawn(rng, board)))
            while (action := search(rng, board, args.rollouts, args.exploration, *tree)) >= 0:
                points = move(board, action, after)
                board[:], score = after, score + points
                cell, level = spawn(rng, board)
                text += f"#{'URDL'[action]}" + f"[{points}]" * (points > 0) + f"{cell}{level}"
            print(text, file=file, flush=True)
            scores.append(score)
    print(f"{args.total} games: mean {np.mean(scores):.0f}, max {max(scores)}")


if __name__ == "__main__":
    try:
        main()
    except NotImplementedError as error:
        sys.exit(f"{os.path.basename(__file__)}: {error}")
