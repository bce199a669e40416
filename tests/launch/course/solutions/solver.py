"""The functions that docs/course/starters/solver.py leaves out."""
# ruff: noqa: F821

import functools


@functools.cache
def slide(game, line):
    if game == "threes":
        for i in range(len(line) - 1):
            tile, behind = line[i], line[i + 1]
            if not tile and any(line[i:]):
                return (*line[:i], *line[i + 1 :], 0), 0
            if {tile, behind} == {1, 2} or tile == behind >= 3:
                made = tile + behind
                return (*line[:i], made, *line[i + 2 :], 0), worth(made) - worth(tile) - worth(behind)
        return line, 0
    series = [1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377]
    neighbours = {frozenset(series[k : k + 2]) for k in range(len(series) - 1)}
    after, points, may_merge = [], 0, False
    for tile in filter(None, line):
        if may_merge and frozenset((after[-1], tile)) in neighbours:
            after[-1] += tile
            points += after[-1]
            may_merge = False
        else:
            after.append(tile)
            may_merge = True
    return (*after, *[0] * (len(line) - len(after))), points


def events(game, after):
    board, hint, last = after
    if game == "2584":
        empty = [cell for cell in range(6) if not board[cell]]
        spawns = ((1, 0.9), (2, 0.1))
        return [
            (chance / len(empty), 0, ((*board[:cell], tile, *board[cell + 1 :]), 0))
            for cell in empty
            for tile, chance in spawns
        ]
    on_board = {0: {1, 2, 3}, 1: {1}, 2: {2}, 3: {1, 2} if hint == 3 else {3}, 4: {1, 3}, 5: {2, 3}}[sum(board) % 6]
    rest = {1, 2, 3} - on_board - {hint} if len(on_board) < 3 else {1, 2, 3} - {hint}
    rest = rest or {1, 2, 3}
    empty = [cell for cell in FAR_SIDE[last] if not board[cell]]
    return [
        (1 / len(empty) / len(rest), worth(hint), ((*board[:cell], hint, *board[cell + 1 :]), following))
        for cell in empty
        for following in rest
    ]


def value_of_state(game, state):
    key = state_key(state)
    if key not in STATES:
        best_move = None
        for points, after in moves(game, key):
            worst, expected, best = value_of_afterstate(game, after)
            if best_move is None or points + expected > best_move[1]:
                best_move = (points + worst, points + expected, points + best)
        STATES[key] = best_move or (0, 0, 0)
    return STATES[key]


def value_of_afterstate(game, after):
    key = afterstate_key(after)
    if key not in AFTERSTATES:
        found = [(chance, points, value_of_state(game, state)) for chance, points, state in events(game, key)]
        AFTERSTATES[key] = (
            min(points + worst for _, points, (worst, _, _) in found),
            sum(chance * (points + expected) for chance, points, (_, expected, _) in found),
            max(points + best for _, points, (_, _, best) in found),
        )
    return AFTERSTATES[key]
