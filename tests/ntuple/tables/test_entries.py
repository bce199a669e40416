import random

import numpy as np
import pytest
from reference import ntuple as reference
from reference import rules as reference_rules

from ntuple.game.bitboard import make_rules
from ntuple.tables.entries import make_lookup
from ntuple.tables.file_order import read_field
from ntuple.tables.layout import make_salts
from ntuple.tables.network import VIEWS, index_fields, make_network
from ntuple.tables.patterns import parse_network
from tests.ntuple.drivers import entries, find_plainly, positions, random_network, to_board, value

# The second network lists scattered cells in any order, so that every cell is a run of its own.
CASES = [
    (4, 4, "0123,4567,0145,048c"),
    (4, 4, "f1a3,59,7"),
    (3, 3, "0134,012,258"),
    (2, 3, "0123,14"),
    (3, 2, "0123,14"),
    (2, 2, "0123"),
]


def random_board(rng: random.Random, rows: int, columns: int) -> reference_rules.Board:
    return tuple(tuple(rng.randrange(18) for _ in range(columns)) for _ in range(rows))


@pytest.mark.parametrize(("rows", "columns", "text"), CASES)
def test_positions_and_values_equal_the_reference(rows: int, columns: int, text: str) -> None:
    rules = make_rules(rows, columns)
    network = random_network(rows, columns, text)
    weights = read_field(network)
    truth = reference.Network(list(parse_network(text, rows, columns)), len(network.symmetries))
    starts = network.tables.tolist()
    rng = random.Random(2)
    for _ in range(20):
        board = random_board(rng, rows, columns)
        found = positions(network, entries(rules, network, board).entries)
        expected = [starts[m] + index for _, m, index in truth.entries(board)]
        assert sorted(found) == sorted(expected)
        assert value(rules, network, board) == pytest.approx(weights[expected].sum(), abs=1e-3)


@pytest.mark.parametrize(
    ("rows", "columns", "text"), [*CASES, (4, 4, "01234567,4567"), (4, 4, "8x6"), (3, 4, "0123456b")]
)
def test_vector_instructions_and_their_plain_form_agree(rows: int, columns: int, text: str) -> None:
    rules = make_rules(rows, columns)
    network = make_network("0", rows, columns, 0.0)._replace(**index_fields(text, rows, columns))
    if network.levels == 16:
        sizes = [16 ** len(pattern) for pattern in parse_network(text, rows, columns)]
        assert network.salts.tolist() == make_salts(sizes).tolist()
    rng = random.Random(7)
    for _ in range(50):
        board = random_board(rng, rows, columns)
        plain = make_lookup(network, 1).entries
        find_plainly(rules, network, to_board(board), plain)
        used = np.arange(plain.size) % VIEWS < len(network.symmetries)
        np.testing.assert_array_equal(entries(rules, network, board).entries[used], plain[used])
