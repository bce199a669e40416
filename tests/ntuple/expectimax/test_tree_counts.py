"""The counted trees equal those of plain recursion."""

import numpy as np
from reference import rules as game
from reference.positions import spread_boards

from ntuple import make_rules
from ntuple.expectimax.tree_counts import count_trees
from tests.ntuple.drivers import random_network, to_board, value

PLIES = 3


def test_nodes_and_negative_leaves_equal_plain_recursion() -> None:
    rules, network = make_rules(3, 3), random_network()
    network.weights[:] -= np.float32(20)  # about half of the values are negative
    boards = [board for board in spread_boards(3, 3, 60) if not game.is_over(board)][:12]
    nodes, leaves = [np.zeros(PLIES + 1, int) for _ in boards], [[] for _ in range(PLIES + 1)]

    def walk(board: game.Board, plies: int, count: np.ndarray) -> None:
        """Count a state after `plies` layers of afterstates, which is a node of each search with more plies."""
        count[plies + (plies > 0) :] += 1
        for action in game.ACTIONS:
            after, _ = game.afterstate(board, action)
            if after == board:
                continue
            count[plies + 1 :] += 1
            leaves[plies + 1].append(value(rules, network, after) < 0)
            if plies + 1 < PLIES:
                for code in game.chance_probabilities(after):
                    walk(game.spawn(after, code), plies + 1, count)

    for board, count in zip(boards, nodes, strict=True):
        walk(board, 0, count)
    numbers = count_trees(rules, network, [to_board(board) for board in boards], PLIES, str)
    np.testing.assert_array_equal(numbers["nodes_most"], np.max(nodes, axis=0))
    np.testing.assert_allclose(numbers["nodes"], np.mean(nodes, axis=0))
    np.testing.assert_allclose(numbers["negative_leaves"], [0, *(np.mean(part) for part in leaves[1:])])
    assert 0 < numbers["negative_leaves"][1] < 1
