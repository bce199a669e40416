"""Folding redundant tuples: what a tuple inside another one says can be added to the other's table.

Redundant encoding helps a network to learn and slows it down (Jaskowski 2017, sec. V-E2). The entries of a small tuple
are a function of those of a larger one that has all its cells in some view, so after training

    w_large[index] += w_small[the digits of index that are cells of the small one]

and the small table goes: V stays what it was, with fewer entries to look up.
"""

import numpy as np
from numpy.typing import NDArray

from ntuple.tables.patterns import Pattern


def containing(
    pattern: Pattern, others: tuple[Pattern, ...], views: list[tuple[int, ...]]
) -> tuple[int, Pattern] | None:
    """The first larger pattern that has all cells of `pattern` in some view, and where.

    Args:
        pattern: the small tuple.
        others: tuples to choose from.
        views: the symmetries that the network shares tables over: view v has cell v[c] of the board in place of c.

    Returns:
        The number of the larger tuple, and for each cell of the small one its place in the larger one; or None.
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
    """Fold every tuple that lies inside a larger one, the smallest first.

    Args:
        patterns: [M] the tuples.
        tables: [M] their weights float32[stages, R^n] in the plain order.
        views: see `containing`.
        levels: R, the base of an index.

    Returns:
        The tuples that are left, in their order, and their new tables. V of every board is the same to rounding.
    """
    kept = {number: tables[number].astype(np.float64) for number in range(len(patterns))}
    for number in sorted(kept, key=lambda number: len(patterns[number])):
        numbers = [other for other in kept if other != number]
        found = containing(patterns[number], tuple(patterns[other] for other in numbers), views)
        if found:
            larger, places = numbers[found[0]], found[1]
            indices = np.arange(kept[larger].shape[1])
            small = sum(indices // levels**place % levels * levels**i for i, place in enumerate(places))
            kept[larger] += kept.pop(number)[:, small]
    return tuple(patterns[number] for number in kept), [table.astype(np.float32) for table in kept.values()]
