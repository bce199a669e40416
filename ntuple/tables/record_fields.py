"""Read and write one field of all records of a network in the order of files.

The order of files is: stage by stage, table by table, and in a table the plain order (ntuple.tables.layout), in which
the first cell of a tuple is the lowest digit of an index.
"""

import itertools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from ntuple.tables import placement
from ntuple.tables.layout import read_table, write_table
from ntuple.tables.network import Network, num_weights
from ntuple.tables.placement import available_cores


def read_field(network: Network, field: int = 0) -> NDArray[np.float32]:
    """Return one field of all records, float32[stages N], in the order of files; field 0 is the weight."""
    values = np.empty(num_weights(network), np.float32)

    if network.digits.size:
        values[:] = network.weights[field :: 1 << int(network.record_bits)]
        return values

    def read(first: int, end: int, salt: np.uint32) -> None:
        read_table(network.weights, np.uint64(first), salt, network.record_bits, field, values[first:end])

    with ThreadPoolExecutor(available_cores()) as pool:
        list(pool.map(read, *zip(*_tables(network), strict=True)))
    return values


def write_field(network: Network, values: NDArray[np.float32], field: int = 0, stage: int = 0) -> None:
    """Write one field of the records of some stages.

    Args:
        network: its records are changed in place.
        values: float32[n N], in the order of files, for n stages.
        field: position of the field in a record; 0 is the weight.
        stage: the first of the stages.
    """
    start = stage * int(network.stage_size)
    if network.digits.size:
        network.weights.reshape(-1, 1 << int(network.record_bits))[start : start + values.size, field] = values
        return

    def write(first: int, end: int, salt: np.uint32) -> None:
        part = values[first - start : end - start]
        write_table(network.weights, np.uint64(first), salt, network.record_bits, field, part)

    tables = [table for table in _tables(network) if start <= table[0] < start + values.size]
    with ThreadPoolExecutor(available_cores()) as pool:
        list(pool.map(write, *zip(*tables, strict=True)))


def _tables(network: Network) -> list[tuple[int, int, np.uint32]]:
    """Return first record, end and salt of each table, for all stages, tuples and actions."""
    size, actions = int(network.stage_size), len(network.action_places)
    tables = []
    for stage in range(0, num_weights(network), size):
        starts = [stage + start for start in (*network.tables.tolist(), size)]
        for (start, end), salt in zip(itertools.pairwise(starts), network.salts, strict=True):
            step = (end - start) // actions
            tables += [(first, first + step, salt) for first in range(start, end, step)]
    return tables


def widen(network: Network, record_bits: int) -> Network:
    """Return a network with the same weights in larger records, whose other fields are 0."""
    weights = placement.zeros(num_weights(network) << record_bits)
    weights[:: 1 << record_bits] = network.weights[:: 1 << int(network.record_bits)]
    return network._replace(weights=weights, record_bits=np.uint64(record_bits))
