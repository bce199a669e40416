import random
import re

import numpy as np
import pytest
from reference import ntuple as reference
from reference import rules as reference_rules

from ntuple.game.bitboard import make_rules
from ntuple.tables.layout import make_salts
from ntuple.tables.network import (
    VIEWS,
    index_parts,
    make_lookup,
    make_network,
    num_weights,
    read_field,
    widen,
    write_field,
)
from ntuple.tables.patterns import MATSUZAKI, NETWORKS, YEH, parse_network
from tests.ntuple.drivers import entries, find_plainly, positions, scrambled, to_board, value

# The last one lists cells out of order and apart: every cell is a run of its own.
CASES = [
    (4, 4, "0123,4567,0145,048c"),
    (4, 4, "f1a3,59,7"),
    (3, 3, "0134,012,258"),
    (2, 3, "0123,14"),
    (3, 2, "0123,14"),
    (2, 2, "0123"),
]

CELLS = tuple(tuple(range(row, row + 4)) for row in range(0, 16, 4))
VIEWS_OF_CELLS = [reference_rules.cells(view) for view in reference_rules.symmetries(CELLS)]


def _random_board(rng: random.Random, rows: int, columns: int) -> reference_rules.Board:
    return tuple(tuple(rng.randrange(18) for _ in range(columns)) for _ in range(rows))


def _random_network(network: str, rows: int, columns: int):
    made = make_network(network, rows, columns, 0.0)
    write_field(made, np.random.default_rng(1).standard_normal(num_weights(made), np.float32))
    return made


@pytest.mark.parametrize(("rows", "columns", "text"), CASES)
def test_positions_and_values_equal_the_reference(rows: int, columns: int, text: str) -> None:
    rules = make_rules(rows, columns)
    network = _random_network(text, rows, columns)
    weights = read_field(network)
    truth = reference.Network(list(parse_network(text, rows, columns)), len(network.symmetries))
    starts = network.tables.tolist()
    rng = random.Random(2)
    for _ in range(20):
        board = _random_board(rng, rows, columns)
        found = positions(network, entries(rules, network, board).entries)
        expected = [starts[m] + index for _, m, index in truth.entries(board)]
        assert sorted(found) == sorted(expected)
        assert value(rules, network, board) == pytest.approx(weights[expected].sum(), abs=1e-4)


@pytest.mark.parametrize(
    ("rows", "columns", "text"), [*CASES, (4, 4, "01234567,4567"), (4, 4, "8x6"), (3, 4, "0123456b")]
)
def test_vector_instructions_and_their_plain_form_agree(rows: int, columns: int, text: str) -> None:
    rules = make_rules(rows, columns)
    network = make_network("0", rows, columns, 0.0)._replace(**index_parts(text, rows, columns))
    if network.levels == 16:
        sizes = [16 ** len(pattern) for pattern in parse_network(text, rows, columns)]
        assert network.salts.tolist() == make_salts(sizes).tolist()
    rng = random.Random(7)
    for _ in range(50):
        board = _random_board(rng, rows, columns)
        plain = make_lookup(network, 1).entries
        find_plainly(rules, network, to_board(board), plain)
        used = np.arange(plain.size) % VIEWS < len(network.symmetries)
        np.testing.assert_array_equal(entries(rules, network, board).entries[used], plain[used])


@pytest.mark.parametrize("cells", [1, 2, 3, 4, 5])
def test_scrambling_is_a_bijection_that_keeps_lines(cells: int) -> None:
    indices = np.arange(16**cells, dtype=np.uint32)
    places = np.zeros_like(indices)
    scrambled(indices, make_salts([16**cells] * 3)[2], places)
    np.testing.assert_array_equal(np.sort(places), indices)
    np.testing.assert_array_equal(places % 16, indices % 16)


def test_fields_are_written_and_read_in_plain_order() -> None:
    network = make_network("012,0134", 3, 3, 0.0, record_bits=2)
    rng = np.random.default_rng(3)
    fields = [rng.standard_normal(num_weights(network), np.float32) for _ in range(3)]
    for number, field in enumerate(fields):
        write_field(network, field, number)
    for number, field in enumerate(fields):
        np.testing.assert_array_equal(read_field(network, number), field)
    wide = widen(_random_network("012,0134", 3, 3), 2)
    np.testing.assert_array_equal(read_field(wide), read_field(_random_network("012,0134", 3, 3)))
    assert not wide.weights.reshape(-1, 4)[:, 1:].any()


@pytest.mark.parametrize(("rows", "columns", "text"), CASES)
def test_value_is_equal_on_all_views(rows: int, columns: int, text: str) -> None:
    rules = make_rules(rows, columns)
    network = _random_network(text, rows, columns)
    board = _random_board(random.Random(3), rows, columns)
    views = reference_rules.symmetries(board)
    assert len(views) == len(network.symmetries) == (8 if rows == columns else 4)
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
        if counted := re.fullmatch(r"(\d+)x(\d)(-\w+)?", name):
            count, cells = int(counted[1]), int(counted[2])
            assert (len(patterns), {len(pattern) for pattern in patterns}) == (count, {cells})
        parsed = parse_network(name, 4, 4)
        views = [{frozenset(view[cell] for cell in pattern) for view in VIEWS_OF_CELLS} for pattern in parsed]
        if name != "17x4":
            assert all(views[i] != views[j] for i in range(len(views)) for j in range(i)), "one of them twice"
    # Jaskowski 2017, table IV: tuples of the networks with redundant encoding.
    sizes = [len(NETWORKS[name]) for name in ("42-33", "42-33-4-22", "42-33-4-22-3", "43-421")]
    assert sizes == [5, 10, 12, 5]
    assert len({tuple(sorted(pattern)) for pattern in parse_network("17x4", 4, 4)}) == 17


@pytest.mark.parametrize(("rows", "columns", "text"), [(4, 4, "f1a3,59,7"), (2, 3, "0123,14")])
def test_without_symmetry_a_table_serves_one_view(rows: int, columns: int, text: str) -> None:
    rules, patterns = make_rules(rows, columns), list(parse_network(text, rows, columns))
    network = make_network(text, rows, columns, 0.0, symmetry=False)
    write_field(network, np.random.default_rng(1).standard_normal(num_weights(network), np.float32))
    weights = read_field(network)
    rng = random.Random(8)
    for _ in range(20):
        board = _random_board(rng, rows, columns)
        indices = [reference.index(pattern, board) for pattern in patterns]
        expected = sum(weights[int(start) + i] for start, i in zip(network.tables, indices, strict=True))
        assert value(rules, network, board) == pytest.approx(expected, abs=1e-5)
        plain = make_lookup(network, 1).entries
        find_plainly(rules, network, to_board(board), plain)
        np.testing.assert_array_equal(plain[::VIEWS], entries(rules, network, board).entries[::VIEWS])


@pytest.mark.parametrize(
    ("text", "says"),
    [("9x9", "neither a name"), ("0120", "different cells"), ("01,8", "leaves the 2x3"), ("", "1 to 8")],
)
def test_mistakes_in_patterns_are_refused(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        parse_network(text, 2, 3)
