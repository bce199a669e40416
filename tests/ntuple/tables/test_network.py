import random

import pytest

from ntuple.game.bitboard import make_rules
from ntuple.tables.network import make_network
from tests.ntuple.drivers import value
from tests.ntuple.tables.test_entries import CASES, random_board


def test_optimistic_value_is_v_init_everywhere() -> None:
    for rows, columns, text in CASES:
        network = make_network(text, rows, columns, 320_000.0)
        board = random_board(random.Random(4), rows, columns)
        assert value(make_rules(rows, columns), network, board) == pytest.approx(320_000, rel=1e-6)


def test_weight_of_the_papers() -> None:
    # ntuple networks of 4 and 8 tuples start with 10,000 and 5,000 a weight for a V_init of 320k.
    assert make_network("01,23,45,67", 4, 4, 320_000.0).weights[0] == 10_000
    assert make_network("01,23,45,67,89,ab,cd,ef", 4, 4, 320_000.0).weights[0] == 5_000
