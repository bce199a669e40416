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
    # With V_init = 320,000 each weight starts at 10,000 for 4 tuples, and at 5,000 for 8 tuples.
    assert make_network("01,23,45,67", 4, 4, 320_000.0).weights[0] == 10_000
    assert make_network("01,23,45,67,89,ab,cd,ef", 4, 4, 320_000.0).weights[0] == 5_000
