"""Views of many positions: losses by hand, the parts of a question, positions that were not asked about."""

import numpy as np

from launch.evaluation.boards.views import FIRST_PART, GROWTH, View, in_parts, losses, spread
from ntuple.core.interfaces import Analysis, EndgameAdvice


def test_losses_by_hand():
    value = np.array([[5.0, 7.5, -np.inf, 1.0], [np.nan, 2.0, 3.0, np.nan], [-np.inf] * 4, [np.nan, 2.0, 3.0, 1.0]])
    found = losses(value, np.array([3, 1, -1, 0], np.int8))
    assert found.tolist()[:2] == [6.5, 1.0]
    assert np.isnan(found[2:]).all()


def test_parts_are_in_order_and_grow():
    sizes = []

    def ask(part: slice) -> Analysis:
        numbers = np.arange(400)[part].astype(np.int8)
        sizes.append(len(numbers))
        return Analysis(numbers, *[np.zeros((len(numbers), 4))] * 3)

    found = in_parts(ask, 400, "asked")
    assert np.concatenate([part.action for part in found]).tolist() == np.arange(400).astype(np.int8).tolist()
    assert sizes == [FIRST_PART, FIRST_PART * GROWTH, 400 - FIRST_PART * (1 + GROWTH)]


def test_positions_that_were_not_asked_about_have_no_table():
    action, value, effort = np.zeros(2, np.int8), np.ones((2, 4)), np.ones((2, 4), np.int64)
    view = View("n", "ply", action, value, effort, EndgameAdvice(("t",), np.zeros(2, np.int64), np.ones((2, 4))))
    all_places = spread(view, np.array([0, 2]), 3)
    assert all_places.endgames.number.tolist() == [0, -1, 0]
    assert all_places.endgames.probability.tolist() == [[1] * 4, [-1] * 4, [1] * 4]
