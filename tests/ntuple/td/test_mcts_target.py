"""The target of a training by Monte Carlo tree search, against plain Python."""

import numpy as np
import pytest
from reference import mcts as reference
from reference import rules as game
from reference.positions import spread_boards
from reference.splitmix import Spawns, mix

from ntuple import NTupleConfig, NTupleLearner, make_rules
from ntuple.game.bitboard import Board, Rules
from ntuple.game.episode import AFTER_HI, AFTER_LO, BOARD_HI, BOARD_LO, COLUMNS, MOVES, RNG
from ntuple.game.jit import kernel
from ntuple.learning.schedule import method_at
from ntuple.players.greedy import look_ahead, make_scratch
from ntuple.tables.network import Network
from ntuple.td.config import StepSizeConfig, TargetConfig, TargetSearchConfig
from ntuple.td.kernel import COUNTS_SIZE, ERROR_SUM, UPDATES, Training, train
from ntuple.td.mcts_target import SALT, make_target_search, searched_move
from tests.ntuple.drivers import exact_network, to_board, to_reference, value
from tests.ntuple.learning.trainings import learn

STATE = 123_456_789  # of the random numbers of a game


@kernel
def plan_once(target_search, row, scratch):
    rules, network = target_search.search.rules, target_search.search.network
    look_ahead(rules, network, Board(row[BOARD_LO], row[BOARD_HI]), scratch, 0)
    return searched_move(target_search, row, scratch, 0)


def row_of(board: game.Board) -> np.ndarray:
    row = np.zeros(COLUMNS, np.uint64)
    row[BOARD_LO], row[BOARD_HI] = to_board(board)
    row[RNG] = STATE
    return row


def plain_target(rules: Rules, network: Network, config: TargetSearchConfig, board: game.Board) -> tuple[int, float]:
    """Return the most visited move, the highest Q among equals, and its Q (eq. 35)."""
    search = reference.Search(
        lambda after: float(value(rules, network, after)),
        Spawns(mix(STATE ^ int(SALT))).draw,
        config.c,
        config.v_norm or None,
        is_mean=True,
    )
    moves = search.run(board, config.simulations).moves
    best = max(moves, key=lambda action: (len(moves[action].returns), search.q(moves[action])))
    return best, search.q(moves[best])


@pytest.mark.parametrize(
    "search", [TargetSearchConfig(20), TargetSearchConfig(50, c=0.2), TargetSearchConfig(50, c=0.2, v_norm=100.0)]
)
def test_target_equals_plain_python(search: TargetSearchConfig) -> None:
    rules, network = make_rules(3, 3), exact_network(3, 3, "01,034,0124")
    scratch, target_search = make_scratch(network), make_target_search(rules, network, search.mcts, True)
    for board in spread_boards(3, 3, 12)[:-1]:
        move = plan_once(target_search, row_of(board), scratch)
        action, target = plain_target(rules, network, search, board)
        assert move.action == action
        assert move.value == pytest.approx(target, rel=1e-6)
        assert to_reference(rules, Board(*move.after)) in game.symmetries(game.afterstate(board, action)[0])


def test_values_of_earlier_searches_are_not_remembered() -> None:
    """The network changes from move to move."""
    rules, network, search = make_rules(3, 3), exact_network(3, 3, "01,034,0124"), TargetSearchConfig(20)
    scratch, target_search = make_scratch(network), make_target_search(rules, network, search.mcts, True)
    for board in spread_boards(3, 3, 8)[:-1]:
        before = plan_once(target_search, row_of(board), scratch)
        network.weights[:] += 0.125
        after = plan_once(target_search, row_of(board), scratch)
        assert before.value + 2 < after.value < before.value + 3.1  # 24 weights, but 0 where the game is over


@pytest.mark.parametrize("plays", [False, True])
def test_one_update_and_the_move_after_it(plays: bool) -> None:
    """The error is Q - V(as) (eq. 35); the game goes on with the search's move, or with that of 1-ply."""
    rules, differ = make_rules(3, 3), 0
    config = NTupleConfig(
        rows=3, columns=3, network=("01", "034", "0124"), threads=1,
        step_size=StepSizeConfig(adaptive_fraction=0.0),
        target=TargetConfig(search=TargetSearchConfig(60, c=0.2, plays=plays)),
    )  # fmt: skip
    search = config.target.search
    for after in spread_boards(3, 3, 25):
        network = exact_network(3, 3, "01,034,0124")
        if 0 not in game.cells(after):
            continue
        board = game.spawn(after, next(iter(game.chance_probabilities(after))))
        if game.is_over(board):
            continue
        row = row_of(board)
        row[AFTER_LO], row[AFTER_HI], row[MOVES] = *to_board(after), 1
        before = float(value(rules, network, after))
        action, target = plain_target(rules, network, search, board)
        legal = [a for a in game.ACTIONS if game.afterstate(board, a)[0] != board]
        greedy = max(
            legal,
            key=lambda a: game.afterstate(board, a)[1] + float(value(rules, network, game.afterstate(board, a)[0])),
        )
        differ += greedy != action
        counts, rows = np.zeros(COUNTS_SIZE), row.reshape(1, -1)
        training = Training(
            rules=rules,
            network=network,
            method=method_at(config, 0, False),
            games=rows,
            target_search=make_target_search(rules, network, search.mcts, plays),
            scratch=make_scratch(network),
            counts=counts,
        )
        train(training, 1)
        assert counts[UPDATES] == 1
        assert counts[ERROR_SUM] == pytest.approx(abs(target - before), rel=1e-5)
        assert (float(value(rules, network, after)) - before) * (target - before) > 0
        played = to_reference(rules, Board(rows[0, AFTER_LO], rows[0, AFTER_HI]))
        assert played in game.symmetries(game.afterstate(board, action if plays else greedy)[0])
    assert differ > 3


@pytest.mark.slow
@pytest.mark.parametrize("plays", [False, True])
def test_two_by_two_reaches_the_optimum(plays: bool) -> None:
    config = NTupleConfig(
        rows=2, columns=2, network="0123", threads=2, env_steps=100_000, report_env_steps=100_000,
        target=TargetConfig(search=TargetSearchConfig(20, c=0.01, plays=plays)),
    )  # fmt: skip
    learner = NTupleLearner(config, seed=1)
    learn(learner)
    assert learner.player().play(50_000, seed=5).score.mean() == pytest.approx(66.964149, rel=0.01)
