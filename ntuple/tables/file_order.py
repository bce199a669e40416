"""Read and write the tables of a network in the order of files.

The order of files is: part by part, table by table, and in a table the plain order (ntuple.tables.layout), in which
the first cell of a tuple is the lowest digit of an index.
"""

import itertools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from ntuple.tables.cpu_placement import available_cores
from ntuple.tables.layout import TablePlace, read_table, write_table
from ntuple.tables.network import Network

WEIGHT = 0  # number of the field of weights; the step size rule has the fields from 1 on


def read_field(network: Network, field: int = WEIGHT, part: int | None = None) -> NDArray[np.float32]:
    """Return the weights, or a field of what the step size rule keeps, in the order of files.

    Args:
        field: WEIGHT, or the number of the field.
        part: the part that is read; None: all.

    Returns:
        float32[N] of one part, or float32[parts N] of all.
    """
    array, size = _array_of(network, field), int(network.part_size)
    start, stop = (0, array.size) if part is None else (part * size, (part + 1) * size)
    if network.digits.size:
        return array[start:stop].copy()
    values = np.empty(stop - start, np.float32)

    def read(first: int, end: int, table: TablePlace) -> None:
        read_table(array, table, values[first - start : end - start])

    with ThreadPoolExecutor(available_cores()) as pool:
        list(pool.map(read, *zip(*_tables(network, start, stop), strict=True)))
    return values


def write_field(network: Network, values: NDArray[np.float32], field: int = WEIGHT, start: int = 0) -> None:
    """Write the weights of some tables, or a field of what the step size rule keeps.

    Args:
        field: WEIGHT, or the number of the field.
        start: the first entry of the first of these tables.
    """
    array = _array_of(network, field)
    if network.digits.size:
        array[start : start + values.size] = values
        return

    def write(first: int, end: int, table: TablePlace) -> None:
        write_table(array, table, values[first - start : end - start])

    with ThreadPoolExecutor(available_cores()) as pool:
        list(pool.map(write, *zip(*_tables(network, start, start + values.size), strict=True)))


def _array_of(network: Network, field: int) -> NDArray[np.float32]:
    """Return a field of all entries, float32[parts N]; what the step size rule keeps is a view with steps."""
    if field == WEIGHT:
        return network.weights
    return network.memory.reshape(-1, 1 << int(network.memory_bits))[:, field - 1]


def _tables(network: Network, start: int, stop: int) -> list[tuple[int, int, TablePlace]]:
    """Return first entry, end and layout of each table that begins between two entries, for all tuples and actions."""
    size, actions = int(network.part_size), len(network.action_places)
    tables = []
    for part in range(start - start % size, stop, size):
        starts = [part + begin for begin in (*network.tables.tolist(), size)]
        for m, (begin, end) in enumerate(itertools.pairwise(starts)):
            step = (end - begin) // actions
            for first in range(begin, end, step):
                if start <= first < stop:
                    table = TablePlace(np.uint64(first), network.orders[m], network.paired[m], network.salts[m])
                    tables.append((first, first + step, table))
    return tables
