import numpy as np

from ntuple.tables.file_order import read_field, write_field
from ntuple.tables.network import make_network, with_memory
from tests.ntuple.drivers import random_network


def test_fields_are_written_and_read_in_plain_order() -> None:
    network = make_network("012,0134", 3, 3, 0.0, memory_bits=1)
    rng = np.random.default_rng(3)
    fields = [rng.standard_normal(network.weights.size, np.float32) for _ in range(3)]
    for number, field in enumerate(fields):
        write_field(network, field, number)
    for number, field in enumerate(fields):
        np.testing.assert_array_equal(read_field(network, number), field)
    wide = with_memory(random_network(3, 3, "012,0134"), 2)
    np.testing.assert_array_equal(read_field(wide), read_field(random_network(3, 3, "012,0134")))
    assert wide.memory.size == 4 * wide.weights.size
    assert not wide.memory.any()
