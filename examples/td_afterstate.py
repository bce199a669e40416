"""TD(0) learning of afterstates with an n-tuple network: 2048 learned from nothing in half a minute of one core.

    python examples/td_afterstate.py --games 3000 --seed 1

A board is 16 levels, row by row: log2 of each tile, 0 = empty. The afterstate as(s, a) is the board after the move and
before the new tile. Its value is the sum of the weights that it selects in M tables. Each table is read at the 8
symmetric places of its tuple (Szubert and Jaskowski 2014, "Temporal difference learning of n-tuple networks for 2048"):

    V(as)  = sum_m sum_view w_m[levels of the cells of tuple m in this view]
    a_t    = argmax_a r(s_t, a) + V(as(s_t, a))               greedy; then a random tile appears
    delta  = r_{t+1} + V(as_{t+1}) - V(as_t)                  TD(0); the target is 0 at the end of a game
    w     += 1 / (8 M) |E| / A delta                          each of the 8 M weights of as_t; |E| / A is 1 at first
    E     += delta,   A += |delta|                            of each weight

|E| / A is the step size of temporal coherence (TC): smaller where errors cancel out (Jaskowski 2018, "Mastering 2048
with delayed temporal coherence learning").
"""

import argparse
import time

import numba
import numpy as np

CELLS = np.arange(16).reshape(4, 4)
LINES = np.array([CELLS.T, CELLS[:, ::-1], CELLS[::-1].T, CELLS])  # [up right down left, line, place], wall first
VIEWS = [np.rot90(cells, turns).ravel() for cells in (CELLS, CELLS.T) for turns in range(4)]
TUPLES = np.array([(0, 1, 2, 3, 4, 5), (4, 5, 6, 7, 8, 9), (0, 1, 2, 4, 5, 6), (4, 5, 6, 8, 9, 10)])
PLACES = np.array([[view[cells] for view in VIEWS] for cells in TUPLES])  # cells [M, 8, 6]


@numba.njit
def move(board, action, after):
    """Write the afterstate into `after`; return the sum of the merged tiles, or -1 if the board does not change."""
    after[:], reward = 0, 0
    for line in LINES[action]:
        filled, may_merge = 0, False  # cells of the line that are filled; whether the last of them has not merged
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
    """Place a 2 (with probability 0.9) or a 4 on a random empty cell."""
    empty = np.flatnonzero(board == 0)
    board[empty[rng.integers(0, len(empty))]] = 1 if rng.random() < 0.9 else 2


@numba.njit
def value(board, weights, index):
    """V(as). Write the place of each of its weights in the tables, 4 bits a cell, into index[M, 8]."""
    total = 0.0
    for m, view in np.ndindex(index.shape):
        index[m, view] = 0
        for cell in PLACES[m, view]:
            index[m, view] = index[m, view] << 4 | board[cell]
        total += weights[m, index[m, view]]
    return total


@numba.njit
def learn(index, delta, weights, errors, sizes):
    """Make one step of TC(0) for the weights at `index`; `errors` and `sizes` are E and A."""
    for m, view in np.ndindex(index.shape):
        at = m, index[m, view]
        weights[at] += delta / index.size * (abs(errors[at]) / sizes[at] if sizes[at] > 0 else 1.0)
        errors[at], sizes[at] = errors[at] + delta, sizes[at] + abs(delta)


@numba.njit
def play(rng, games, weights, errors, sizes):
    """Play games and learn from every move; return the score and the moves of each game."""
    scores, moves = np.zeros(games, np.int64), np.zeros(games, np.int64)
    board, after, best_after = np.zeros(16, np.int64), np.zeros(16, np.int64), np.zeros(16, np.int64)
    index, last_index = np.zeros(PLACES.shape[:2], np.int64), np.zeros(PLACES.shape[:2], np.int64)
    for game in range(games):
        board[:], last_value, over = 0, 0.0, False
        spawn(rng, board)
        spawn(rng, board)
        while not over:
            best, best_reward = -np.inf, -1
            for action in range(4):
                reward = move(board, action, after)
                q = reward + value(after, weights, index) if reward >= 0 else -np.inf
                if q > best:
                    best, best_reward, best_after[:] = q, reward, after
            over = best_reward < 0  # no action is legal
            if moves[game] > 0:
                learn(last_index, (0.0 if over else best) - last_value, weights, errors, sizes)
            if not over:
                last_value = value(best_after, weights, last_index)
                scores[game], moves[game], board[:] = scores[game] + best_reward, moves[game] + 1, best_after
                spawn(rng, board)
    return scores, moves


def main():
    """Train, and print the mean score of each tenth of the games."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--games", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    weights, errors, sizes = np.zeros((3, len(TUPLES), 16**6), np.float32)  # 805 MB; the tables fill as they are read
    rng, total = np.random.default_rng(args.seed), 0
    for games in np.diff(np.linspace(0, args.games, 11).astype(int)):
        scores, moves = play(rng, games, weights, errors, sizes)
        total += moves.sum()
        print(f"{total:9d} moves {time.process_time():5.0f} CPU s   mean score {scores.mean():7.0f}", flush=True)


if __name__ == "__main__":
    main()
