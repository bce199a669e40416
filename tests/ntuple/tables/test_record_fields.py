import numpy as np

from ntuple.tables.network import make_network, num_weights
from ntuple.tables.record_fields import read_field, widen, write_field
from tests.ntuple.tables.test_entries import random_network


def test_fields_are_written_and_read_in_plain_order() -> None:
    network = make_network("012,0134", 3, 3, 0.0, record_bits=2)
    rng = np.random.default_rng(3)
    fields = [rng.standard_normal(num_weights(network), np.float32) for _ in range(3)]
    for number, field in enumerate(fields):
        write_field(network, field, number)
    for number, field in enumerate(fields):
        np.testing.assert_array_equal(read_field(network, number), field)
    wide = widen(random_network("012,0134", 3, 3), 2)
    np.testing.assert_array_equal(read_field(wide), read_field(random_network("012,0134", 3, 3)))
    assert not wide.weights.reshape(-1, 4)[:, 1:].any()
