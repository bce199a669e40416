"""Model solution of project 2: the rules for numba, and TD(0) backward over the stored game."""
# ruff: noqa: F821

import numba


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
def draw(rng, bag):
    """Draw a 1 or a 2; in Threes! a random tile of the bag: the number of tiles before it is uniform."""
    if not THREES:
        return 1 if rng.random() < 0.9 else 2
    if bag[1] + bag[2] + bag[3] == 0:
        bag[1:4] = 1
    before, level = rng.integers(0, bag[1] + bag[2] + bag[3]), 1
    while before >= bag[level]:
        before -= bag[level]
        level += 1
    bag[level] -= 1
    return level


@numba.njit
def learn(weights, path, gains):
    """Go from the last afterstate to the first, so that each target has learned already."""
    views, next_value = PLACES.shape[1], 0.0
    for t in range(len(path) - 1, -1, -1):
        delta = gains[t] + next_value - value(weights, path[t])
        for table in range(len(PLACES)):
            for view in range(views):
                weights[table, index(path[t], table, view)] += ALPHA / (len(PLACES) * views) * delta
        next_value = value(weights, path[t])
