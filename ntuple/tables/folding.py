"""Folding of redundant tuples: a tuple inside a larger one is added to the table of the larger one.

Redundant tuples help a network to learn but make it slower (Jaskowski 2017, sec. V-E2). If a larger tuple contains, in
some view, all cells of a small tuple, its index determines the index of the small tuple. So after training

    w_large[index] += w_small[digits of index at the cells of the small tuple]

and the small table is removed. V stays the same, with fewer look-ups.
"""

import numpy as np
from numpy.typing import NDArray

from ntuple.tables.patterns import Pattern


def containing(
    pattern: Pattern, others: tuple[Pattern, ...], views: list[tuple[int, ...]]
) -> tuple[int, Pattern] | None:
    """Find the first larger pattern that contains all cells of `pattern` in some view.

    Returns:
        The number of the larger tuple, and for each cell of the small tuple its position in the larger one; None if no
        pattern contains it.
    """
    for number, other in enumerate(others):
        if len(other) > len(pattern):
            for view in views:
                cells = [view[cell] for cell in pattern]
                if set(cells) <= set(other):
                    return number, tuple(other.index(cell) for cell in cells)
    return None


def fold(
    patterns: tuple[Pattern, ...], tables: list[NDArray[np.float32]], views: list[tuple[int, ...]], levels: int
) -> tuple[tuple[Pattern, ...], list[NDArray[np.float32]]]:
    """Fold every tuple that a larger one contains, the smallest first.

    Args:
        tables: [M] their weights float32[stages, R^n], in the order of files.

    Returns:
        The remaining tuples, in their order, and their new tables. V of every board is the same except for rounding.
    """
    remaining = {number: tables[number].astype(np.float64) for number in range(len(patterns))}
    for number in sorted(remaining, key=lambda number: len(patterns[number])):
        numbers = [other for other in remaining if other != number]
        container = containing(patterns[number], tuple(patterns[other] for other in numbers), views)
        if container:
            larger, places = numbers[container[0]], container[1]
            indices = np.arange(remaining[larger].shape[1])
            small = sum(indices // levels**place % levels * levels**i for i, place in enumerate(places))
            remaining[larger] += remaining.pop(number)[:, small]
    return tuple(patterns[number] for number in remaining), [table.astype(np.float32) for table in remaining.values()]
