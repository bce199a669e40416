"""The updates against the plain-Python reference, entry by entry."""

import random

import numpy as np
import pytest
from reference import ntuple as reference
from reference import rules

from ntuple.board import make_rules
from ntuple.jit import kernel
from ntuple.network import make_network
from ntuple.patterns import parse_network
from ntuple.updates import tc_update, td_update
from tests.ntuple.drivers import positions_of, to_board

PATTERNS = "012,0134"


@kernel
def td(weights, positions, target, alpha):
    return td_update(weights, positions, 0, target, alpha)


@kernel
def tc(weights, errors, positions, target, alpha):
    return tc_update(weights, errors, positions, 0, target, alpha)


def _recorded_afterstates(moves: int) -> list[tuple[rules.Board, float]]:
    """Afterstates of random games, symmetric openings among them, with the targets to learn."""
    rng = random.Random(1)
    record = []
    board = rules.spawn(((0,) * 3,) * 3, 9)
    while len(record) < moves:
        if rules.is_over(board):
            board = rules.spawn(((0,) * 3,) * 3, 9)
        action = rng.choice([a for a, legal in enumerate(rules.legal_actions(board)) if legal])
        after, reward = rules.afterstate(board, action)
        record.append((after, float(rng.randrange(-40, 80) + reward)))
        board = rules.spawn(after, rng.choice(list(rules.chance_probabilities(after))))
    return record


class _Fixture:
    def __init__(self) -> None:
        self.rules = make_rules(3, 3)
        self.network = make_network(PATTERNS, 3, 3, 50.0)
        self.errors = np.zeros((self.network.weights.size, 2), np.float32)
        self.truth = reference.Network(list(parse_network(PATTERNS, 3, 3)), 8, 50.0)

    def positions(self, board: rules.Board):
        positions = np.zeros((1, 16), np.uint64)
        positions_of(self.rules, self.network, to_board(board), positions)
        return positions

    def at(self, entry: reference.Entry) -> int:
        return int(self.network.offsets[entry[0]]) + entry[1]


def test_td_equals_the_reference() -> None:
    f = _Fixture()
    for board, target in _recorded_afterstates(400):
        delta = td(f.network.weights, f.positions(board), np.float32(target), np.float32(0.1))
        assert delta == pytest.approx(f.truth.td_update(board, target, 0.1), abs=1e-3)
    for entry, weight in f.truth.weights.items():
        assert f.network.weights[f.at(entry)] == pytest.approx(weight, abs=1e-4)
    assert np.count_nonzero(f.network.weights != np.float32(50 / 16)) == len(
        [w for w in f.truth.weights.values() if np.float32(w) != np.float32(50 / 16)]
    )


def test_tc_equals_the_reference() -> None:
    f = _Fixture()
    for board, target in _recorded_afterstates(400):
        delta = tc(f.network.weights, f.errors, f.positions(board), np.float32(target), np.float32(1.0))
        assert delta == pytest.approx(f.truth.tc_update(board, target, 1.0), abs=2e-3)
    for entry, weight in f.truth.weights.items():
        at = f.at(entry)
        assert f.network.weights[at] == pytest.approx(weight, abs=1e-3)
        assert f.errors[at, 0] == pytest.approx(f.truth.errors[entry], abs=1e-2)
        assert f.errors[at, 1] == pytest.approx(f.truth.absolutes[entry], rel=1e-4)
    assert np.count_nonzero(f.errors[:, 1]) == len(f.truth.absolutes)
    betas = np.abs(f.errors[:, 0]) / np.maximum(f.errors[:, 1], 1e-9)
    assert betas[f.errors[:, 1] > 0].min() < 0.5  # the record has made some weights incoherent


def test_hand_computed_tc() -> None:
    f = _Fixture()
    f.network.weights[:] = 0
    board = ((1, 2, 3), (4, 5, 6), (7, 8, 9))  # no two of its 16 entries are the same
    positions = f.positions(board)
    # V = 0, target 16: delta 16, each weight 16/16 = 1; then V = 16, target 0: delta -16, beta |16|/16 = 1.
    assert tc(f.network.weights, f.errors, positions, np.float32(16), np.float32(1)) == 16
    np.testing.assert_array_equal(f.network.weights[positions[0]], 1)
    assert tc(f.network.weights, f.errors, positions, np.float32(0), np.float32(1)) == -16
    np.testing.assert_array_equal(f.network.weights[positions[0]], 0)
    # E = 0 and A = 32: beta is 0, nothing moves, but E and A go on.
    assert tc(f.network.weights, f.errors, positions, np.float32(8), np.float32(1)) == 8
    np.testing.assert_array_equal(f.network.weights[positions[0]], 0)
    np.testing.assert_array_equal(f.errors[positions[0]], np.tile([8, 40], (16, 1)))


def test_first_visits_of_tc_are_td() -> None:
    for (board, target), alpha in zip(_recorded_afterstates(30), [0.1, 1.0] * 15, strict=True):
        one, two = _Fixture(), _Fixture()
        td(one.network.weights, one.positions(board), np.float32(target), np.float32(alpha))
        tc(two.network.weights, two.errors, two.positions(board), np.float32(target), np.float32(alpha))
        np.testing.assert_array_equal(one.network.weights, two.network.weights)
