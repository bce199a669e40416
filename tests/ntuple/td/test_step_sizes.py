"""The updates of single boards, computed by hand; test_targets.py compares those of whole games with plain Python."""

import itertools
import math

import numpy as np
import pytest
from reference import rules
from reference.positions import random_game

from ntuple.game.bitboard import make_rules
from ntuple.tables.entries import Lookup
from ntuple.tables.file_order import WEIGHT, read_field
from ntuple.tables.network import Network, make_network
from ntuple.tables.values import value_at
from ntuple.td.step_sizes import (
    AUTOSTEP,
    FIRST,
    MEMORY_BITS,
    SECOND,
    TC,
    TD,
    THIRD,
    update,
)
from tests.ntuple.drivers import entries, positions, step_size

GAME = make_rules(3, 3)
BOARD = ((1, 2, 3), (4, 5, 6), (7, 8, 9))  # its 16 entries are all different


def learn(rule: int, network: Network, lookup: Lookup, target: float, alpha: float = 0.5) -> np.float32:
    """Update a board towards a target, and return the error."""
    delta = np.float32(target - value_at(network, lookup, 0))
    update(network, lookup, 0, delta, np.float32(1), step_size(rule, alpha))
    return delta


def autostep(network: Network, lookup: Lookup, delta: float) -> None:
    update(network, lookup, 0, np.float32(delta), np.float32(1), step_size(AUTOSTEP))


def _recorded_afterstates(moves: int) -> list[tuple[rules.Board, float]]:
    """Return afterstates of random games, which include symmetric ones, and the targets to learn."""
    rng = np.random.default_rng(1)
    steps = itertools.chain.from_iterable(random_game(rng, 3, 3) for _ in itertools.count())
    return [(step.afterstate, rng.integers(-40, 80) + step.reward) for step in itertools.islice(steps, moves)]


def new_network() -> Network:
    return make_network("012,0134", 3, 3, 50.0, MEMORY_BITS["autostep"])


def fields_of(network: Network, lookup: Lookup) -> list[float]:
    """Return the weight of all entries of a board, and the three numbers that the rule keeps for each of them."""
    at = positions(network, lookup.entries)
    fields = [read_field(network, field)[at] for field in (WEIGHT, FIRST, SECOND, THIRD)]
    assert all(np.ptp(field) == 0 for field in fields)
    return [float(field[0]) for field in fields]


def test_hand_computed_tc() -> None:
    network = new_network()
    network.weights[:] = 0
    found = entries(GAME, network, BOARD)

    def after(target: float) -> tuple[float, ...]:
        """Learn, and return delta, w, E and A."""
        return (learn(TC, network, found, target, 1.0), *fields_of(network, found)[:3])

    # V = 0, target 16: delta 16, each weight 16/16 = 1; then V = 16, target 0: delta -16, beta |16|/16 = 1.
    assert after(16) == (16, 1, 16, 16)
    assert after(0) == (-16, 0, 0, 32)
    # E = 0 and A = 32: beta is 0, so w does not change, but E and A do.
    assert after(8) == (8, 0, 8, 40)


def test_hand_computed_autostep() -> None:
    network = new_network()
    network.weights[:] = 0
    found = entries(GAME, network, BOARD)

    def after(delta: float) -> list[float]:
        """Learn, and return w, h, v and log(16 a)."""
        autostep(network, found, delta)
        return fields_of(network, found)

    # a = 1/16, and the sum of the rates is 1: each w and h becomes 16/16. h was 0, so v and the rate do not change.
    assert after(16) == [1, 1, 0, 0]
    # g = -8 * 1, v = 8, a = exp(-0.1) / 16 and w += a * -8; h = h (1 - a) + a * -8.
    rate = math.exp(-0.1) / 16
    assert after(-8) == pytest.approx([1 - 8 * rate, 1 - rate - 8 * rate, 8, -0.1], rel=1e-5)


def test_new_entries_do_not_shrink_the_rates_of_autostep() -> None:
    """The rates of the entries of a new board sum to 1, whatever other boards have learned."""
    network = new_network()
    found = [entries(GAME, network, board) for board in (BOARD, ((1, 2, 3), (4, 5, 6), (7, 8, 0)))]
    shared = set(positions(network, found[0].entries)) & set(positions(network, found[1].entries))
    assert 0 < len(shared) < 16
    for lookup in found * 20:
        autostep(network, lookup, 0.0)
    np.testing.assert_allclose(read_field(network, THIRD), 0, atol=1e-5)


def test_first_visits_of_tc_are_td() -> None:
    for (board, target), alpha in zip(_recorded_afterstates(30), [0.1, 1.0] * 15, strict=True):
        one, two = new_network(), new_network()
        for rule, network in ((TD, one), (TC, two)):
            learn(rule, network, entries(GAME, network, board), target, alpha)
        np.testing.assert_array_equal(one.weights, two.weights)


@pytest.mark.parametrize("rule", [TD, TC])
def test_tuples_that_learn_share_the_whole_step(rule: int) -> None:
    """One update changes V by alpha delta for any number of frozen tuples."""
    board = ((1, 2, 3), (4, 5, 6), (0, 0, 1))
    bits = MEMORY_BITS["autostep"] if rule == TC else None
    for frozen in range(3):
        network = make_network("012,0134,0124", 3, 3, 9.0, memory_bits=bits, frozen_tuples=frozen)
        before, lookup = read_field(network), entries(GAME, network, board)
        assert learn(rule, network, lookup, 19) == pytest.approx(10)
        assert learn(rule, network, lookup, 14) == pytest.approx(0, abs=1e-5)
        changed = np.flatnonzero(read_field(network) != before)
        assert changed.size == 8 * (3 - frozen)
        assert changed.min() >= int(network.tables[frozen])
