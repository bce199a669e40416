"""Values of states and actions, compared with plain Python on recorded games, and with the optimum of 2x2."""

import random

import numpy as np
import pytest
from reference import ntuple as reference
from reference import rules
from reference.positions import random_game

from ntuple.game.bitboard import make_rules
from ntuple.players.greedy import LEARN, ChosenMove, make_scratch
from ntuple.tables.file_order import read_field
from ntuple.tables.network import make_network
from ntuple.tables.patterns import parse_network, view_actions, view_cells
from ntuple.td.state_and_q import KINDS, STATES, learn_move, look
from ntuple.td.step_sizes import MEMORY_BITS, TC, TD, StepSize
from ntuple.td.targets import PLAIN, Learning, Target
from ntuple.td.targets import TD as ONE_STEP
from tests.ntuple.drivers import to_board

PATTERNS, V_INIT, ALPHA = "012,0134", 40.0, 0.5


class ActionNetwork(reference.Network):
    """A network of action values, with keys (board, action).

    On each view of the board, the action is transformed in the same way as the board.
    """

    def entries(self, key):
        board, action = key
        found = []
        for v, view in enumerate(rules.symmetries(board)[: self.num_symmetries]):
            image = next(a for a in rules.ACTIONS if _does(v, a, action))
            found += [(image, m, reference.index(pattern, view)) for m, pattern in enumerate(self.patterns)]
        return found


def _does(view: int, image: int, action: int) -> bool:
    """Return whether `image` moves the middle tile of a view as `action` moves the middle tile of the board."""
    probe = ((0, 0, 0), (0, 1, 0), (0, 0, 0))
    moved, _ = rules.afterstate(probe, action)
    return rules.afterstate(probe, image)[0] == rules.symmetries(moved)[view]


def state_of(network: reference.Network, board: rules.Board) -> float:
    return 0.0 if rules.is_over(board) else network.value(board)


def move_value(network: reference.Network, kind: str, board: rules.Board, action: int) -> float:
    after, reward = rules.afterstate(board, action)
    if kind == "action":
        return network.value((board, action))
    chances = rules.chance_probabilities(after)
    return reward + sum(p * state_of(network, rules.spawn(after, code)) for code, p in chances.items())


def best_value(network: reference.Network, kind: str, board: rules.Board) -> float:
    legal = [a for a, is_legal in enumerate(rules.legal_actions(board)) if is_legal]
    return max((move_value(network, kind, board, action) for action in legal), default=0.0)


@pytest.mark.parametrize("rule", [TD, TC])
@pytest.mark.parametrize("kind", ["state", "action"])
def test_learning_from_recorded_games_equals_the_reference(kind: str, rule: int) -> None:
    game = make_rules(3, 3)
    network = make_network(PATTERNS, 3, 3, V_INIT, MEMORY_BITS["autostep"], values=kind)
    size = StepSize(rule, np.float32(ALPHA), False, np.float32(0), np.float32(0), np.float32(1))
    target = Target(ONE_STEP, False, 1, np.float32(0), 0, PLAIN)
    scratch, counts = make_scratch(network), np.zeros(16)
    learning = Learning(network, scratch.lookup, LEARN, target, size, counts)
    truth = (ActionNetwork if kind == "action" else reference.Network)(list(parse_network(PATTERNS, 3, 3)), 8, V_INIT)
    update = truth.td_update if rule == TD else truth.tc_update

    rng = np.random.default_rng(3)
    recorded = [(step.board, step.action, step.next_board) for _ in range(6) for step in random_game(rng, 3, 3)]
    total = 0.0
    for board, action, spawned in recorded:
        after, reward = rules.afterstate(board, action)
        move = ChosenMove(action, to_board(after), np.float32(reward), np.float32(reward))
        learn_move(game, learning, KINDS[kind], scratch, 0, to_board(board), move, to_board(spawned))
        if kind == "action":
            total += abs(update((board, action), reward + best_value(truth, kind, spawned), ALPHA))
        else:
            total += abs(update(board, reward + state_of(truth, spawned), ALPHA))
    assert counts[0] == len(recorded)
    assert counts[1] == pytest.approx(total, rel=1e-4)

    weights = read_field(network)
    assert np.count_nonzero(weights != network.initial) > 100
    starts = {"state": (0, 11**3), "action": (0, 4 * 11**3)}[kind]  # 3x3 has 11 levels
    for (first, m, index), weight in truth.weights.items():
        at = starts[m] + (first * 11 ** len(truth.patterns[m]) if kind == "action" else 0) + index
        assert weights[at] == pytest.approx(weight, abs=2e-3)
    touched = sum(abs(weight - truth.initial) > 1e-2 for weight in truth.weights.values())
    assert np.count_nonzero(abs(weights - network.initial) > 1e-2) == pytest.approx(touched, abs=2)

    # Values of the four moves after learning.
    for board, _, _ in recorded[::7]:
        look(game, network, KINDS[kind], to_board(board), scratch, 0)
        for action, legal in enumerate(rules.legal_actions(board)):
            value = move_value(truth, kind, board, action) if legal else -np.inf
            assert scratch.values[0, action] == pytest.approx(value, abs=2e-2)


@pytest.mark.parametrize("shape", [(2, 3), (3, 2), (3, 3), (1, 4), (2, 2)])
def test_an_action_becomes_another_on_a_view(shape: tuple[int, int]) -> None:
    rng = random.Random(1)
    cells = shape[0] * shape[1]
    for _ in range(50):
        board = tuple(tuple(rng.choice((0, 0, 1, 2)) for _ in range(shape[1])) for _ in range(shape[0]))
        for view, images in zip(view_cells(*shape), view_actions(*shape), strict=True):
            turned = _turned(board, view, shape)
            for action, image in enumerate(images):
                after, reward = rules.afterstate(board, action)
                assert rules.afterstate(turned, image) == (_turned(after, view, shape), reward)
    assert len(view_actions(*shape, symmetry=False)) == 1
    assert sorted(view_cells(*shape)[-1]) == list(range(cells))


def _turned(board: rules.Board, view: tuple[int, ...], shape: tuple[int, int]) -> rules.Board:
    tiles = [tile for row in board for tile in row]
    return tuple(tuple(tiles[view[r * shape[1] + c]] for c in range(shape[1])) for r in range(shape[0]))


def test_a_board_without_a_move_counts_nothing() -> None:
    network = make_network(PATTERNS, 3, 3, V_INIT)
    scratch, game = make_scratch(network), make_rules(3, 3)
    # Right and down are legal. No move is legal on any board after them and a spawn: V = 0 there, not V_INIT.
    board = ((7, 3, 7), (5, 6, 2), (4, 8, 0))
    look(game, network, STATES, to_board(board), scratch, 0)
    values = [move_value(reference.Network([(0, 1, 2), (0, 1, 3, 4)], 8, V_INIT), "state", board, a) for a in range(4)]
    np.testing.assert_allclose(scratch.values[0, 1:3], values[1:3])
    assert values[1:3] == [0, 0]  # the rewards alone
