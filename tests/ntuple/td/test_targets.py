"""Every learning method on recorded games, compared with the papers' algorithms in plain Python."""

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from reference import ntuple as reference
from reference import rules, td_methods
from reference.positions import random_game

from ntuple import NTupleConfig
from ntuple.game.any_game import has_move
from ntuple.game.bitboard import Board, make_rules
from ntuple.game.episode import AFTER_HI, AFTER_LO, BOARD_HI, BOARD_LO, COLUMNS, MOVES
from ntuple.game.episode import FIRST as FIRST_MOVE
from ntuple.game.jit import kernel
from ntuple.players.greedy import make_scratch
from ntuple.tables.entries import find_entries, make_lookup
from ntuple.tables.file_order import read_field
from ntuple.tables.network import make_network
from ntuple.tables.patterns import parse_network
from ntuple.tables.values import value_at
from ntuple.td.config import StartConfig
from ntuple.td.history import LONGEST_GAME, make_history, remember
from ntuple.td.kernel import COUNTS_SIZE, UPDATES, LearningRule, Training, train
from ntuple.td.starts import make_starts
from ntuple.td.step_sizes import AUTOSTEP, FIRST, MEMORY_BITS, SECOND, TC, StepSize
from ntuple.td.step_sizes import TD as TD_RULE
from ntuple.td.targets import (
    DELAYED,
    LAMBDA_RETURN,
    N_STEP,
    PLAIN,
    RECTIFIED,
    RELU,
    TD,
    TRACE,
    Learning,
    Target,
    first_learned,
    history_length,
    learn_end,
    learn_forward,
    rectify,
)
from tests.ntuple.drivers import entries, positions, step_size, to_board, value

PATTERNS = "012,0134"
V_INIT = 50.0


@kernel
def learn_episode(rules, learning, history, boards, rewards):
    """Learn a recorded episode move by move, as ntuple/td/kernel.py does."""
    moves = boards.shape[0]
    for t in range(moves):
        after = Board(boards[t, 0], boards[t, 1])
        if t > 0 and not learning.target.is_backward:
            find_entries(rules, learning.network, after, learning.lookup, 1)
            value = value_at(learning.network, learning.lookup, 1)
            returned = rewards[t] + rectify(learning.target, value)
            learn_forward(rules, learning, history, 0, 0, t - 1, returned)
        remember(history, 0, t, after, rewards[t])
    learn_end(rules, learning, history, 0, 0, moves - 1, np.float32(0))


@kernel
def remember_move(history, move, after, reward):
    remember(history, 0, move, after, reward)


def episodes(seed: int, count: int, shift: float = 0.0) -> list[list[reference.Move]]:
    """Return the first 40 moves of random games on 3x3; `shift` is added to every reward."""
    rng = np.random.default_rng(seed)
    games = [itertools.islice(random_game(rng, 3, 3), 40) for _ in range(count)]
    return [[(step.afterstate, step.reward + shift) for step in game] for game in games]


def target(method: int = TD, **changes: Any) -> Target:
    settings = {"is_backward": False, "steps": 1, "decay": 0.5, "horizon": 3, "rectified": PLAIN} | changes
    return Target(
        method,
        settings["is_backward"],
        settings["steps"],
        np.float32(settings["decay"]),
        settings["horizon"],
        settings["rectified"],
    )


class Both:
    """A network of the kernels and one of the reference, which learn from the same games."""

    def __init__(self, v_init: float = V_INIT) -> None:
        self.rules = make_rules(3, 3)
        self.network = make_network(PATTERNS, 3, 3, v_init, MEMORY_BITS["autostep"])
        self.truth = reference.Network(list(parse_network(PATTERNS, 3, 3)), 8, v_init)
        self.counts = np.zeros(2)

    def learn(
        self, games: list[list[reference.Move]], target: Target, size: StepSize, theirs: Callable[..., None]
    ) -> None:
        lookup = make_lookup(self.network, 2)
        learning = Learning(self.network, lookup, 0, target, size, self.counts)
        rectified = target.rectified != PLAIN

        def target_value(board: rules.Board) -> float:
            return max(0.0, self.truth.value(board)) if rectified else self.truth.value(board)

        def learn(board: rules.Board, error: float, decay: float) -> None:
            if target.rectified == RELU and self.truth.value(board) < 0:
                return
            alpha = float(size.alpha)
            if size.rule == TD_RULE:
                self.truth.td_error(board, error, alpha, decay)
            elif size.rule == TC:
                self.truth.tc_error(board, error, alpha, decay, "steps" if size.takes_steps else "errors")
            else:
                self.truth.autostep_error(board, error * decay, float(size.mu), float(size.tau), float(size.first))

        for game in games:
            history = make_history(1, max(1, history_length(target, needs_games=False)))
            boards = np.array([to_board(board) for board, _ in game], np.uint64)
            rewards = np.array([reward for _, reward in game], np.float32)
            learn_episode(self.rules, learning, history, boards, rewards)
            theirs(game, self.truth.value, target_value, learn)

    def compare(self, rel: float = 1e-4) -> None:
        weights = read_field(self.network)
        scale = max(abs(weight) for weight in self.truth.weights.values())
        touched = {
            int(self.network.tables[m]) + number: entry for entry in self.truth.weights for _, m, number in [entry]
        }
        for at, entry in touched.items():
            assert weights[at] == pytest.approx(self.truth.weights[entry], rel=rel, abs=rel * scale)
        others = np.delete(weights, list(touched))
        np.testing.assert_array_equal(others, self.network.initial)


METHODS: dict[str, tuple[Target, Callable[..., None]]] = {
    "td": (target(TD), td_methods.td),
    "1-step": (target(N_STEP, steps=1), td_methods.td),
    "5-step": (target(N_STEP, steps=5), partial(td_methods.n_step, n=5)),
    "60-step": (target(N_STEP, steps=60), partial(td_methods.n_step, n=60)),
    "lambda-return": (target(LAMBDA_RETURN, steps=3), partial(td_methods.lambda_return, n=3, decay=0.5)),
    "long lambda-return": (
        target(LAMBDA_RETURN, steps=60, decay=0.9),
        partial(td_methods.lambda_return, n=60, decay=0.9),
    ),
    "backward lambda-return": (
        target(LAMBDA_RETURN, is_backward=True, steps=4, decay=0.8),
        partial(td_methods.backward_lambda_return, n=4, decay=0.8),
    ),
    "1-step lambda-return": (target(LAMBDA_RETURN, steps=1, decay=0.7), td_methods.td),
    "lambda-return, lambda = 1": (target(LAMBDA_RETURN, steps=5, decay=1.0), partial(td_methods.n_step, n=5)),
    "trace": (target(TRACE), partial(td_methods.trace, decay=0.5, horizon=3)),
    "long trace": (target(TRACE, decay=0.9, horizon=50), partial(td_methods.trace, decay=0.9, horizon=50)),
    "delayed": (target(DELAYED), partial(td_methods.delayed, decay=0.5, horizon=3)),
    "long delay": (target(DELAYED, decay=0.9, horizon=50), partial(td_methods.delayed, decay=0.9, horizon=50)),
    "no delay": (target(DELAYED, horizon=0), td_methods.td),
    "no trace": (target(TRACE, decay=0.0), td_methods.td),
    "backward": (target(TD, is_backward=True), partial(td_methods.backward, decay=0.0)),
    "backward trace": (target(TRACE, is_backward=True, decay=0.7), partial(td_methods.backward, decay=0.7)),
    "backward 4-step": (target(N_STEP, is_backward=True, steps=4), partial(td_methods.backward_n_step, n=4)),
}


@pytest.mark.parametrize("name", METHODS)
def test_targets_equal_the_papers(name: str) -> None:
    aim, theirs = METHODS[name]
    both = Both()
    both.learn(episodes(1, 6), aim, step_size(), theirs)
    both.compare()
    assert both.counts[0] >= sum(map(len, episodes(1, 6)))


@pytest.mark.parametrize("name", ["td", "5-step", "lambda-return", "trace", "delayed", "backward trace"])
@pytest.mark.parametrize("takes_steps", [False, True])
def test_targets_go_with_tc(name: str, takes_steps: bool) -> None:
    aim, theirs = METHODS[name]
    both = Both()
    both.learn(episodes(2, 6), aim, step_size(TC, alpha=1.0, takes_steps=takes_steps), theirs)
    both.compare(1e-3)
    for field, expected in ((FIRST, both.truth.errors), (SECOND, both.truth.absolutes)):
        found = read_field(both.network, field)
        scale = max(map(abs, expected.values()))
        for (_, m, number), number_expected in expected.items():
            at = int(both.network.tables[m]) + number
            assert found[at] == pytest.approx(number_expected, rel=1e-3, abs=1e-3 * scale)


@pytest.mark.parametrize("name", ["td", "delayed"])
def test_targets_go_with_autostep(name: str) -> None:
    aim, theirs = METHODS[name]
    both = Both()
    both.learn(episodes(3, 6), aim, step_size(AUTOSTEP), theirs)
    both.compare(1e-3)


@pytest.mark.parametrize("rectified", [RECTIFIED, RELU])
@pytest.mark.parametrize("name", ["td", "5-step", "lambda-return", "delayed", "backward", "backward lambda-return"])
def test_values_below_0_are_rectified(name: str, rectified: int) -> None:
    aim, theirs = METHODS[name]
    games = episodes(4, 8, shift=-6.0)  # returns below 0
    both, plain = Both(v_init=1.0), Both(v_init=1.0)
    both.learn(games, aim._replace(rectified=rectified), step_size(), theirs)
    both.compare()
    plain.learn(games, aim, step_size(), theirs)
    assert not np.array_equal(both.network.weights, plain.network.weights)
    if rectified == RELU:
        assert both.counts[0] < plain.counts[0]


@pytest.mark.parametrize("name", ["td", "5-step", "lambda-return", "trace", "delayed"])
def test_the_afterstate_whose_entries_are_loaded_learns_first(name: str) -> None:
    """`first_learned` says which afterstate `learn_forward` updates: with `trace` others follow, else it alone."""
    aim, both, game = METHODS[name][0], Both(), episodes(5, 1)[0]
    lookup, learns = make_lookup(both.network, 1), 0
    learning = Learning(both.network, lookup, 0, aim, step_size(), both.counts)
    history = make_history(1, 64)
    for t, (board, reward) in enumerate(game):
        remember_move(history, t, to_board(board), np.float32(reward))
        before = read_field(both.network)
        learn_forward(both.rules, learning, history, 0, 0, t, 99.0)
        changed = set(np.flatnonzero(read_field(both.network) != before).tolist())
        learned = first_learned(aim, t)
        if learned < 0:
            assert not changed
            continue
        learns += 1
        of_learned = set(positions(both.network, entries(both.rules, both.network, game[learned][0]).entries))
        assert changed >= of_learned if name == "trace" else changed == of_learned
    assert learns == len(game) - max(aim.steps - 1, aim.horizon if aim.method == DELAYED else 0)


def test_the_history_holds_what_is_looked_back_on() -> None:
    assert history_length(target(TD), needs_games=False) == 0
    assert history_length(target(TRACE, horizon=3), needs_games=False) == 4
    assert history_length(target(N_STEP, steps=5), needs_games=False) == 8
    assert history_length(target(LAMBDA_RETURN, steps=5, horizon=0), needs_games=False) == 8
    assert history_length(target(TD, is_backward=True), needs_games=False) == LONGEST_GAME
    assert history_length(target(TD), needs_games=True) == LONGEST_GAME


@pytest.mark.parametrize(
    ("tiles", "values"),
    [
        # 4 4 merge to the right, which is the first of two equal moves: r_1 = 8, and as_1 = 8 16 / 0 8 ends the game.
        # It has a symmetry, so each of its entries counts twice: V(as_1) = 10 + 2 * 0.5 (0 - 10) = 0. Then
        # V(as_0) = 10 + 0.5 (8 + 0 - 10) = 9.
        (((3, 4), (2, 2)), {((3, 4), (2, 0)): 9.0, ((3, 4), (0, 3)): 0.0}),
        # No move is legal: V(as_0) = 10 + 0.5 (0 - 10).
        (((3, 4), (2, 1)), {((3, 4), (2, 0)): 5.0, ((3, 4), (0, 3)): 10.0}),
    ],
)
def test_a_restarted_game_learns_back_to_the_afterstate_before_it(
    tiles: rules.Board, values: dict[rules.Board, float]
) -> None:
    """Matsuzaki 2017, algorithm 3, line 9: with t_start = 1, as_0 = 8 16 / 4 0 learns from the new continuation."""
    game, network = make_rules(2, 2), make_network("0123", 2, 2, 10.0)
    method = LearningRule(target(TD, is_backward=True), step_size(TD_RULE, alpha=0.5))
    row, history = np.zeros((1, COLUMNS), np.uint64), make_history(1, LONGEST_GAME)
    history.boards[0, 0] = row[0, AFTER_LO], row[0, AFTER_HI] = to_board(((3, 4), (2, 0)))
    row[0, BOARD_LO], row[0, BOARD_HI] = to_board(tiles)
    row[0, MOVES] = row[0, FIRST_MOVE] = 1
    starts = make_starts(NTupleConfig(start=StartConfig(kind="restart")))
    moves = 2 if has_move(game, to_board(tiles)) else 1  # the last one begins the next game
    training = Training(
        rules=game,
        network=network,
        method=method,
        games=row,
        history=history,
        starts=starts,
        scratch=make_scratch(network),
        counts=np.zeros(COUNTS_SIZE),
    )
    train(training, moves)
    assert {board: value(game, network, board) for board in values} == pytest.approx(values)


def test_a_game_that_is_longer_than_the_history_learns_from_the_moves_that_are_stored() -> None:
    game, network = make_rules(2, 2), make_network("0123", 2, 2, 10.0)
    row, history = np.zeros((1, COLUMNS), np.uint64), make_history(1, 4)
    boards = [
        ((1, 0), (0, 0)),
        ((2, 0), (0, 0)),
        ((3, 0), (0, 0)),
        ((4, 0), (0, 0)),
        ((5, 0), (0, 0)),
        ((3, 4), (2, 0)),
    ]
    for move, board in enumerate(boards):
        remember(history, 0, move, to_board(board), np.float32(0))
    row[0, AFTER_LO], row[0, AFTER_HI] = to_board(boards[-1])
    row[0, BOARD_LO], row[0, BOARD_HI] = to_board(((3, 4), (2, 1)))  # no move is legal
    row[0, MOVES] = len(boards)
    counts = np.zeros(COUNTS_SIZE)
    training = Training(
        rules=game,
        network=network,
        method=LearningRule(target(TD, is_backward=True), step_size(TD_RULE, alpha=0.5)),
        games=row,
        history=history,
        scratch=make_scratch(network),
        counts=counts,
    )
    train(training, 1)  # of the next game
    assert counts[UPDATES] == 4
    assert [value(game, network, board) == 10 for board in boards] == [True, True, False, False, False, False]
