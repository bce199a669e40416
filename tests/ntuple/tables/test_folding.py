import random

import pytest

from ntuple.files.stored_network import StoredNetwork
from ntuple.game.bitboard import make_rules
from ntuple.learning.config import NTupleConfig
from ntuple.tables.file_order import read_field, write_field
from ntuple.tables.folding import containing
from ntuple.tables.network import make_network
from ntuple.tables.patterns import parse_network, view_cells
from tests.ntuple.drivers import random_network, value


@pytest.mark.parametrize(
    ("rows", "columns", "network", "left", "stages", "symmetry"),
    [
        (4, 4, "01245,0123,0145,12,4", "01245,0123", "", True),
        (4, 4, "0124,0145,04", "0124,0145", "", True),  # 04 is part of both larger tuples, and is added to one of them
        (4, 4, "04,01", "04,01", "", True),  # the same two cells in two views: neither is larger, so both stay
        (3, 3, "0134,01,258", "0134,258", "8,32", True),
        (2, 3, "014,12,25", "014,25", "", True),  # on 2x3 no view maps the vertical pair 25 to cells of 014
        (4, 4, "0123,12,48", "0123,48", "", False),  # without symmetry only a subset of its cells
    ],
)
def test_values_are_the_same_before_and_after(
    rows: int, columns: int, network: str, left: str, stages: str, symmetry: bool
) -> None:
    game = make_rules(rows, columns)
    config = NTupleConfig(rows=rows, columns=columns, network=network, stages=stages, symmetry=symmetry)
    before = random_network(rows, columns, network, stages=stages, symmetry=symmetry)
    folded = StoredNetwork(config, read_field(before)).folded()
    assert folded.config.network == tuple(left.split(","))
    after = make_network(left, rows, columns, 0.0, stages=stages, symmetry=symmetry)
    write_field(after, folded.weights)
    rng = random.Random(2)
    for _ in range(60):
        board = tuple(tuple(rng.choices(range(17), k=columns)) for _ in range(rows))
        assert value(game, before, board) == pytest.approx(value(game, after, board), abs=1e-3)


def test_the_redundant_tuples_of_jaskowski_fold_into_the_six_tuples() -> None:
    patterns = parse_network("42-33-4-22-3", 4, 4)
    large, small = patterns[:5], patterns[5:]
    assert all(containing(pattern, large, view_cells(4, 4)) for pattern in small)
    # A 2x2 square in the corner is not part of a 4+2 or 3+3 of the middle rows, but of a mirrored one at the edge.
    found = containing((0, 1, 4, 5), large, view_cells(4, 4))
    assert found is not None
    number, places = found
    assert {large[number][place] for place in places} <= set(large[number])
