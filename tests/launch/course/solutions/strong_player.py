"""Model solution of project 4: the rules, TD(0), and a chance node over the best moves."""
# ruff: noqa: F821

import numba
import numpy as np


@numba.njit
def slide(line):
    """Slide a line: Threes! closes one gap or merges one pair, 2584 slides as far as possible."""
    if THREES:
        for i in range(3):
            one, other, merged = line[i], line[i + 1], -1
            if one == 0:
                merged = other
            elif one + other == 3 and other > 0:
                merged = 3
            elif one == other and 3 <= one < 14:
                merged = one + 1
            if merged >= 0:
                line[i] = merged
                for j in range(i + 1, 4):
                    line[j] = line[j + 1] if j < 3 else 0
                return WORTH[merged] - WORTH[one] - WORTH[other]
        return 0
    filled, may_merge, points = 0, False, 0
    for i in range(4):
        level, last = line[i], line[filled - 1] if may_merge else -1
        line[i] = 0
        if level == last == 1 or (level > 0 and may_merge and abs(level - last) == 1):
            line[filled - 1] = max(level, last) + 1
            points += TILES[line[filled - 1]]
            may_merge = False
        elif level > 0:
            line[filled] = level
            filled, may_merge = filled + 1, True
    return points


@numba.njit
def draw(rng, bag, largest):
    """Draw a 1 or a 3; in Threes! a bonus tile, or a random tile of the bag."""
    if not THREES:
        return 1 if rng.random() < 0.75 else 3
    if largest >= 7 and rng.random() < 1 / 21:
        return 4
    if bag[1] + bag[2] + bag[3] == 0:
        bag[1:4] = 4
    before, level = rng.integers(0, bag[1] + bag[2] + bag[3]), 1
    while before >= bag[level]:
        before -= bag[level]
        level += 1
    bag[level] -= 1
    return level


@numba.njit
def learn(weights, after, target):
    """Give each weight its share of the error."""
    views, delta = PLACES.shape[1], target - value(weights, after)
    for table in range(len(PLACES)):
        for view in range(views):
            weights[table, index(after, table, view)] += ALPHA / (len(PLACES) * views) * delta


@numba.njit
def expectimax(weights, after, action, hint):
    """Try each cell with each level, and take the best move then."""
    first, last = (hint, hint) if THREES else (1, 3)
    if THREES and hint == 4:
        last = after.max() - 3
    board, moved, total, sum_of_chances = after.copy(), np.zeros(16, np.int64), 0.0, 0.0
    for cell in places(after, action):
        for level in range(first, last + 1):
            if not THREES and level == 2:
                continue
            board[cell], best = level, -np.inf
            for reply in range(4):
                points = move(board, reply, moved)
                if points >= 0:
                    best = max(best, points + value(weights, moved))
            chance = 1.0 if THREES else (0.75 if level == 1 else 0.25)
            total += chance * (WORTH[level] + (best if best > -np.inf else 0.0))
            sum_of_chances += chance
        board[cell] = 0
    return total / sum_of_chances
