"""Exact values of all boards of up to six cells, as a dense table in plain numpy, independent of ntuple/exact.

    V(s)  = max over legal a of r + V(as),  0 if the game is over
    V(as) = sum over spawns c of p(c) V(as + c)

Values are in points, without discount, to the end of the game (Guei 2023, eq. 20-22). The number of a board in base L,
with the cells as digits, is its index in the tables. A move keeps the sum of the tiles, and a spawn increases it. One
pass over the sums in decreasing order therefore fills the tables.
"""

import functools
from typing import NamedTuple

import numpy as np
from reference import rules

SPAWNS = ((1, 0.9), (2, 0.1))  # level of the new tile, probability


class Exact(NamedTuple):
    """Values of all boards of one size, indexed by board number."""

    rows: int
    columns: int
    states: np.ndarray  # float64[boards] V(s), meaningless for unreachable boards
    afterstates: np.ndarray  # float64[boards] V(as)
    reachable: np.ndarray  # bool[boards] play can reach this state, which may be a final one

    def number(self, cells: np.ndarray) -> np.ndarray:
        """Return the numbers of boards [B, H, W]."""
        return cells.reshape(len(cells), -1).astype(np.int64) @ base_of(cells[0].size) ** np.arange(cells[0].size)

    def boards(self, numbers: np.ndarray) -> np.ndarray:
        """Return the boards [B, H, W] with these numbers."""
        return digits(numbers, self.rows * self.columns).reshape(-1, self.rows, self.columns)


def base_of(num_cells: int) -> int:
    """Return L, one more than the level of the largest reachable tile 2^(cells + 1)."""
    return num_cells + 2


def digits(numbers: np.ndarray, num_cells: int) -> np.ndarray:
    """Return the cells [B, cells] of boards with these numbers."""
    base = base_of(num_cells)
    return (numbers[:, None] // base ** np.arange(num_cells)) % base


@functools.cache
def solve(rows: int, columns: int) -> Exact:
    """Compute the values of all boards of one size, of up to six cells: 2x3 has 8^6 boards."""
    num_cells = rows * columns
    base = base_of(num_cells)
    cells = digits(np.arange(base**num_cells), num_cells)
    after, rewards, legal = (np.array(part) for part in zip(*moves(cells, rows, columns), strict=True))
    states, afterstates, reachable = np.zeros(len(cells)), np.zeros(len(cells)), np.zeros(len(cells), bool)

    def spawns(layer: np.ndarray) -> list[tuple[np.ndarray, np.ndarray, float]]:
        """Return (possible, next board, probability times the number of empty cells) of each spawn."""
        return [
            (cells[layer, cell] == 0, layer + level * base**cell, probability)
            for cell in range(num_cells)
            for level, probability in SPAWNS
        ]

    layers = by_sum(np.where(cells > 0, 2**cells, 0).sum(axis=1))
    for layer in layers:
        total = np.zeros(len(layer))
        for free, board, probability in spawns(layer):
            total[free] += probability * states[board[free]]
        afterstates[layer] = total / np.maximum((cells[layer] == 0).sum(axis=1), 1)
        q_values = rewards[:, layer] + afterstates[after[:, layer]]
        states[layer] = np.max(np.where(legal[:, layer], q_values, 0.0), axis=0)
    reachable[openings(num_cells)] = True
    for layer in reversed(layers):
        here = layer[reachable[layer]]
        moved = np.unique(after[:, here][legal[:, here]])
        for free, board, _ in spawns(moved):
            reachable[board[free]] = True
    return Exact(rows, columns, states, afterstates, reachable)


def moves(cells: np.ndarray, rows: int, columns: int) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Return (number of the afterstate, reward, legal), each [B], for each action on boards [B, cells]."""
    base = base_of(rows * columns)
    grid = np.arange(rows * columns).reshape(rows, columns)
    lines_of = {rules.UP: grid.T, rules.RIGHT: grid[:, ::-1], rules.DOWN: grid.T[:, ::-1], rules.LEFT: grid}
    found = []
    for action in rules.ACTIONS:
        lines = lines_of[action]  # [lines, n] cells; the first cell of a line is at the wall
        slid, points, fits = slides(base, lines.shape[1])
        after, reward, inside = np.zeros(len(cells), np.int64), np.zeros(len(cells)), np.ones(len(cells), bool)
        for line in lines:
            number = cells[:, line] @ base ** np.arange(len(line))
            after += slid[number] @ base**line
            reward += points[number]
            inside &= fits[number]
        legal = inside & (after != cells @ base ** np.arange(grid.size))
        found.append((np.where(legal, after, 0), reward, legal))
    return found


def slides(base: int, length: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Slide all lines towards their first cell.

    Two tiles of level L - 1 merge into a tile that the table does not hold. Play never reaches such a line.

    Returns:
        Indexed by the number of the line: cells [lines, n] after the slide, reward, and whether all tiles are below L.
    """
    lines = (np.arange(base**length)[:, None] // base ** np.arange(length)) % base
    slid, points = zip(*(rules.slide(tuple(line)) for line in lines.tolist()), strict=True)
    return np.array(slid), np.array(points, np.float64), np.array(slid).max(axis=1) < base


def openings(num_cells: int) -> np.ndarray:
    """Return the numbers of the boards with two tiles, with which a game begins."""
    tiles = [level * base_of(num_cells) ** cell for cell in range(num_cells) for level, _ in SPAWNS]
    return np.array([a + b for i, a in enumerate(tiles) for j, b in enumerate(tiles) if i // 2 < j // 2])


def by_sum(sums: np.ndarray) -> list[np.ndarray]:
    """Return the numbers of the boards grouped by the sum of their tiles, the largest sum first."""
    order = np.argsort(-sums, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(sums[order])) + 1)
