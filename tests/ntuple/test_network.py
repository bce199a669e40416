import random

import numpy as np
import pytest
from reference import ntuple as reference
from reference import rules as reference_rules

from ntuple.board import make_rules
from ntuple.network import make_network
from ntuple.patterns import MATSUZAKI, NETWORKS, YEH, parse_network
from tests.ntuple.drivers import positions_of, to_board, value

# The last one lists cells out of order and apart: every cell is a run of its own.
CASES = [
    (4, 4, "0123,4567,0145,048c"),
    (4, 4, "f1a3,59,7"),
    (3, 3, "0134,012,258"),
    (2, 3, "0123,14"),
    (3, 2, "0123,14"),
    (2, 2, "0123"),
]


def _random_board(rng: random.Random, rows: int, columns: int) -> reference_rules.Board:
    return tuple(tuple(rng.randrange(18) for _ in range(columns)) for _ in range(rows))


def _random_network(network: str, rows: int, columns: int):
    made = make_network(network, rows, columns, 0.0)
    made.weights[:] = np.random.default_rng(1).normal(size=made.weights.size)
    return made


@pytest.mark.parametrize(("rows", "columns", "text"), CASES)
def test_positions_and_values_equal_the_reference(rows: int, columns: int, text: str) -> None:
    rules = make_rules(rows, columns)
    network = _random_network(text, rows, columns)
    truth = reference.Network(list(parse_network(text, rows, columns)), network.symmetries)
    rng = random.Random(2)
    for _ in range(50):
        board = _random_board(rng, rows, columns)
        positions = np.zeros((1, network.symmetries * network.offsets.size), np.uint64)
        positions_of(rules, network, to_board(board), positions)
        expected = [int(network.offsets[m]) + index for m, index in truth.entries(board)]
        assert sorted(positions[0].tolist()) == sorted(expected)
        assert value(rules, network, board) == pytest.approx(network.weights[expected].sum(), abs=1e-4)


@pytest.mark.parametrize(("rows", "columns", "text"), CASES)
def test_value_is_equal_on_all_views(rows: int, columns: int, text: str) -> None:
    rules = make_rules(rows, columns)
    network = _random_network(text, rows, columns)
    board = _random_board(random.Random(3), rows, columns)
    views = reference_rules.symmetries(board)
    assert len(views) == network.symmetries == (8 if rows == columns else 4)
    values = [value(rules, network, view) for view in views]
    assert max(values) - min(values) < 1e-4
    assert np.ptp([value(rules, network, _random_board(random.Random(s), rows, columns)) for s in range(9)]) > 0.1


def test_optimistic_value_is_v_init_everywhere() -> None:
    for rows, columns, text in CASES:
        network = make_network(text, rows, columns, 320_000.0)
        board = _random_board(random.Random(4), rows, columns)
        assert value(make_rules(rows, columns), network, board) == pytest.approx(320_000, rel=1e-6)


def test_weight_of_the_papers() -> None:
    # ntuple networks of 4 and 8 tuples start with 10,000 and 5,000 a weight for a V_init of 320k.
    assert make_network("01,23,45,67", 4, 4, 320_000.0).weights[0] == 10_000
    assert make_network("01,23,45,67,89,ab,cd,ef", 4, 4, 320_000.0).weights[0] == 5_000


def test_named_networks() -> None:
    assert NETWORKS["4x6"] == YEH == ("012345", "456789", "012456", "45689a")
    assert NETWORKS["5x6"] == (*YEH, "89abcd")
    assert NETWORKS["8x6"] == MATSUZAKI
    for name, patterns in NETWORKS.items():
        count, cells = name.split("-")[0].split("x")
        assert (len(patterns), {len(pattern) for pattern in patterns}) == (int(count), {int(cells)})


@pytest.mark.parametrize(
    ("text", "says"),
    [("9x9", "neither a name"), ("0120", "different cells"), ("01,8", "leaves the 2x3"), ("", "1 to 8")],
)
def test_mistakes_in_patterns_are_refused(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        parse_network(text, 2, 3)
