import functools
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reference import ntuple as reference
from reference import rules

from ntuple import NTupleConfig, NTupleLearner
from ntuple.game.bitboard import make_rules
from ntuple.game.episode import MOVES, SCORE, board_of, last_afterstate
from ntuple.tables.file_order import read_field
from ntuple.tables.patterns import parse_network
from ntuple.td.config import ExplorationConfig, PositionsConfig, StartConfig, StepSizeConfig, TargetConfig
from ntuple.td.state_and_q import KINDS
from tests.ntuple.drivers import to_reference, value
from tests.ntuple.learning.trainings import SMALL, TC, TD, learn
from tests.settings import configured
from tests.slow import others_slow


def _mean_of_the_best(value_of: Callable[[rules.Board], float], after: rules.Board, until: float = math.inf) -> float:
    """Return the sum over spawns of p max_a (r + V), where boards with a tile of level `until` count as 0."""
    total = 0.0
    for code, p in rules.chance_probabilities(after).items():
        board = rules.spawn(after, code)
        moves = [rules.afterstate(board, action) for action in rules.ACTIONS]
        if max(rules.cells(board)) < until:
            total += float(p) * max((r + value_of(a) for a, r in moves if a != board), default=0.0)
    return total


NO_VIEWS, OBLONG = {"symmetry": False}, {"rows": 2, "network": ("012", "0134")}
CASES = [  # whether TC learns, epsilon, method, start, board
    (False, 0.0, "td", "normal", {}),
    (True, 0.0, "td", "normal", {}),
    (False, 0.5, "td", "normal", {}),
    (True, 0.5, "td", "normal", {}),
    (False, 0.5, "expected", "normal", {}),
    (True, 0.0, "td", "restart", {}),  # restarts need the history of whole games
    (False, 0.5, "td", "normal", NO_VIEWS),
    (True, 0.0, "expected", "restart", NO_VIEWS),
    (False, 0.5, "td", "normal", NO_VIEWS | OBLONG),
    (False, 0.0, "td", "normal", OBLONG),
]


@pytest.mark.parametrize("case", others_slow(CASES, CASES[3]))
def test_learning_move_by_move_equals_the_reference(case: tuple[bool, float, str, str, dict[str, Any]]) -> None:
    adaptive, epsilon, method, start, board = case
    config = replace(
        SMALL, **board, report_env_steps=1, env_steps=700, v_init=30.0, step_size=TC if adaptive else TD,
        exploration=ExplorationConfig(epsilon), target=TargetConfig(method),
        start=configured(StartConfig, kind=start, restart={"moves": 10_000}),
    )  # fmt: skip
    learner = NTupleLearner(config, seed=1)
    every_game = learner._state.games  # keep only one game, which the test follows
    learner._state.games = every_game._replace(rows=every_game.rows[:, :1].copy())
    game, views = make_rules(config.rows, 3), len(learner.network.symmetries)
    truth = reference.Network(list(parse_network(config.network, config.rows, 3)), views, 30.0)
    update = truth.tc_update if adaptive else truth.td_update
    alpha = config.step_size.tc.alpha if adaptive else config.step_size.alpha
    row = learner._state.games.rows[0, 0]
    last, score, games, others = None, 0, 0, 0
    for _ in range(config.env_steps):
        board = to_reference(game, board_of(row))
        metrics = learner.advance()
        after, spawned = to_reference(game, last_afterstate(row)), to_reference(game, board_of(row))
        assert spawned in [rules.spawn(after, code) for code in rules.chance_probabilities(after)]
        mean = _mean_of_the_best(truth.value, last) if method == "expected" and last else 0.0
        if rules.is_over(board):
            update(last, mean, alpha)
            games += 1
            assert metrics["train/score_mean"] == metrics["train/score_max"] == score
            score = int(row[SCORE])
            assert row[MOVES] == 1
        else:
            moves = [rules.afterstate(board, action) for action in rules.ACTIONS]
            values = [r + truth.value(a) for a, r in moves if a != board]
            # With symmetries the learner continues on a view of the board, so its afterstate is a view of the true one.
            chosen = next((r, r + truth.value(a)) for a, r in moves if after in rules.symmetries(a)[:views])
            others += chosen[1] < max(values) - 1e-2
            score += chosen[0]
            if last is not None:
                # The target uses the best move, even if another move is made.
                update(last, mean if method == "expected" else max(values), alpha)
        last = after
    assert learner.progress["games"] == games > 3
    assert others > 50 if epsilon else others == 0
    weights = read_field(learner.network)
    for (_, m, index), weight in truth.weights.items():
        assert weights[int(learner.network.tables[m]) + index] == pytest.approx(weight, abs=1e-2)


def test_counted_games_are_those_from_two_tiles() -> None:
    learner = NTupleLearner(replace(SMALL, start=configured(StartConfig, kind="restart", restart={"moves": 5})), seed=1)
    whole = sum(report["train/games"] for report in learn(learner))
    assert 0 < whole < 0.7 * learner.progress["games"]


def test_a_diverged_network_shows_in_the_mean_error() -> None:
    learner = NTupleLearner(replace(SMALL, step_size=TD), seed=1)
    learner.advance()
    learner.network.weights[::3] = np.nan
    assert np.isnan(learner.advance()["td/error_abs_mean"])  # launch stops a run whose metrics are not finite


@pytest.mark.parametrize("values", others_slow(KINDS, "action"))
def test_two_by_two_reaches_the_optimum(values: str) -> None:
    # On 2x2 one 4-tuple is a table of all boards. The optimal policy has mean score 66.964149 (exact solution).
    size = StepSizeConfig(alpha=0.1, alpha_steps=((0.3, 0.02), (0.6, 0.005), (0.85, 0.001)), adaptive_fraction=0.0)
    config = NTupleConfig(rows=2, columns=2, network="0123", env_steps=1_500_000, threads=1, v_init=100, step_size=size)
    learner = NTupleLearner(replace(config, values=values), seed=1)
    learn(learner)
    games = learner.player().play(100_000, seed=5)
    assert games.score.mean() == pytest.approx(66.964149, rel=0.01)


@functools.cache
def _optimum_until_16(after: rules.Board) -> float:
    return _mean_of_the_best(_optimum_until_16, after, until=4)


@functools.cache
def _probability_of_16(after: rules.Board) -> float:
    """Return the probability that the play with the most points builds 16."""
    total = 0.0
    for code, p in rules.chance_probabilities(after).items():
        board = rules.spawn(after, code)
        moves = [rules.afterstate(board, action) for action in rules.ACTIONS]
        if max(rules.cells(board)) >= 4:
            total += float(p)
        elif legal := [(r + _optimum_until_16(a), a) for a, r in moves if a != board]:
            total += float(p) * _probability_of_16(max(legal)[1])
    return total


@pytest.mark.parametrize("method", others_slow(("td", "expected", "delayed"), "td"))
def test_games_from_positions_end_with_a_tile(method: str, tmp_path: Path) -> None:
    boards = [((0, 1), (0, 0)), ((3, 0), (0, 0)), ((2, 3), (0, 0))]
    np.save(tmp_path / "boards.npy", np.array(boards, np.uint8))
    positions = PositionsConfig(str(tmp_path / "boards.npy"), until=16)
    size = StepSizeConfig(alpha=0.1, alpha_steps=((0.3, 0.02), (0.6, 0.005), (0.85, 0.001)), adaptive_fraction=0.0)
    learner = NTupleLearner(
        NTupleConfig(
            rows=2, columns=2, network="0123", env_steps=1_000_000, threads=1, v_init=30, step_size=size,
            target=TargetConfig(method), start=StartConfig("positions", positions=positions),
        ),
        seed=1,
    )  # fmt: skip
    reports = learn(learner)
    game = make_rules(2, 2)
    for board in boards:  # the afterstate on which an episode begins does not learn: those that follow it do
        learned = _mean_of_the_best(lambda after: value(game, learner.network, after), board, until=4)
        assert learned == pytest.approx(_optimum_until_16(board), rel=0.01), board
    assert value(game, learner.network, ((4, 0), (1, 0))) == pytest.approx(0, abs=0.1)
    shares = [report["train/until_share"] for report in reports[len(reports) // 2 :]]
    assert np.mean(shares) == pytest.approx(np.mean([_probability_of_16(board) for board in boards]), abs=0.01)
