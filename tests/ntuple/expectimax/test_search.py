import itertools
import operator
import threading
import time
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from reference import exact
from reference import expectimax as reference
from reference import rules as game
from reference.positions import as_board, spread_boards

from ntuple import NTupleConfig, NTupleLearner, make_rules
from ntuple.core.interfaces import SoFar
from ntuple.expectimax.config import ExpectimaxConfig, HeuristicConfig
from ntuple.expectimax.downgrading import downgraded
from ntuple.expectimax.heuristic import make_heuristic
from ntuple.expectimax.player import ExpectimaxPlayer, make_heuristic_player
from ntuple.game.bitboard import Board
from ntuple.game.rollout import states_of
from ntuple.tables.entries import make_lookup
from ntuple.tables.network import Network, make_network
from tests.ntuple.drivers import plain_moves, random_network, to_board, to_reference, value


def analyse(player: ExpectimaxPlayer, boards: list[game.Board]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    analysis = player.analyse(np.array(boards, np.uint8), np.zeros(len(boards), np.uint32))
    return analysis.action, analysis.value, analysis.effort


def assert_equal_moves(
    rows: int,
    columns: int,
    network: Network,
    boards: list[game.Board],
    config: ExpectimaxConfig,
    truth: dict[str, object] | None = None,
) -> None:
    """Check that the kernels value moves as plain recursion does, up to float32 rounding, and select the best move."""
    rules = make_rules(rows, columns)

    @cache
    def leaf(board: game.Board) -> float:
        return value(rules, network, board)

    plain = reference.Expectimax(leaf, **(truth or {}))
    actions, values, effort = analyse(ExpectimaxPlayer(rules, network, config, threads=2), boards)
    for i, board in enumerate(boards):
        expected = np.array(plain.moves(board, config.plies))
        np.testing.assert_allclose(values[i], expected, rtol=2e-6, atol=2e-3)
        legal = np.isfinite(expected)
        if legal.any():
            assert expected[actions[i]] >= expected.max() - 4e-3
            assert effort[i].tolist() == (config.plies * legal).tolist()
        else:
            assert actions[i] == -1


LIMITS = {"most_plies": {empty: 3 if empty < 5 else 2 if empty < 7 else 1 for empty in range(3, 10)}}


@pytest.mark.parametrize(
    ("settings", "truth", "count"),
    [
        ({"plies": 1}, {}, 60),
        ({"plies": 2}, {}, 40),
        ({"plies": 3}, {}, 12),
        ({"plies": 3, "leaf_bits": 4, "node_bits": 4}, {}, 8),  # tiny tables change no value
        ({"plies": 2, "rectified": True}, {"rectified": True}, 30),
        ({"plies": 4, "limits": ((3, 3), (5, 2), (7, 1))}, LIMITS, 24),
    ],
)
def test_equals_plain_recursion(settings: dict[str, Any], truth: dict[str, Any], count: int) -> None:
    network = random_network()
    if "rectified" in settings:
        network.weights[:] -= 20  # many values are below 0
    assert_equal_moves(3, 3, network, spread_boards(3, 3, count), ExpectimaxConfig(**settings), truth)


def test_equals_plain_recursion_on_the_real_board() -> None:
    network = random_network(4, 4, "0123,4567,0145,012345")
    boards = [board for board in spread_boards(4, 4, 400) if game.cells(board).count(0) <= 5]
    assert_equal_moves(4, 4, network, boards[::8], ExpectimaxConfig(plies=2))
    assert_equal_moves(4, 4, network, boards[-3:], ExpectimaxConfig(plies=3))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "columns", "network", "plies", "count"),
    [
        *((3, 3, "01,034,0124", *row) for row in ((1, 40), (2, 30), (3, 8))),
        (2, 3, "012,0134", 4, 20),
    ],
)
def test_without_symmetry(rows: int, columns: int, network: str, plies: int, count: int) -> None:
    made = random_network(rows, columns, network, symmetry=False)
    assert_equal_moves(rows, columns, made, spread_boards(rows, columns, count), ExpectimaxConfig(plies=plies))


def test_least_probability_leaves_out_unlikely_spawns() -> None:
    """Nodes below the least cumulative probability are leaves.

    The probability of a node depends on the path to it, so the search remembers only values of the last layer.
    """
    boards = [board for board in spread_boards(2, 2, 20) if not game.is_over(board)]
    config = ExpectimaxConfig(plies=3, least_probability=0.03)
    assert_equal_moves(2, 2, random_network(2, 2, "01,0123"), boards, config, {"least_probability": 0.03})
    config = ExpectimaxConfig(plies=4, least_probability=0.005)
    assert_equal_moves(3, 3, random_network(), spread_boards(3, 3, 8), config, {"least_probability": 0.005})


@pytest.mark.slow
def test_what_is_left_out_does_not_depend_on_the_tables() -> None:
    """With pruning by probability, the values are the same for small and large transposition tables."""
    boards, rules, network = spread_boards(3, 3, 20), make_rules(3, 3), random_network()
    small, large = (ExpectimaxConfig(plies=6, least_probability=0.002, node_bits=bits) for bits in (4, 20))
    one, other = (analyse(ExpectimaxPlayer(rules, network, config, threads=2), boards)[1] for config in (small, large))
    np.testing.assert_allclose(one, other, rtol=2e-6, atol=2e-3)


@pytest.mark.parametrize(
    "settings",
    [pytest.param({"stages": (0, 16, 32)}, marks=pytest.mark.slow), {"stages": (0, 32), "promotion": "both"}],
)
def test_networks_of_several_stages(settings: dict[str, str]) -> None:
    network = random_network(**settings)
    if "promotion" in settings:
        network.weights[::3] = network.initial
    assert_equal_moves(3, 3, network, spread_boards(3, 3, 20), ExpectimaxConfig(plies=2))


@pytest.mark.parametrize("symmetry", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_boards_with_the_largest_tiles(symmetry: bool) -> None:
    """Tiles of 65536 and more need a fifth bit, and the search does not remember such boards."""
    board = ((16, 16, 3, 2), (1, 17, 2, 1), (2, 1, 4, 15), (15, 3, 2, 1))
    turned = as_board(np.array(board).T)
    network = random_network(4, 4, "0123,0145", symmetry=symmetry)
    assert_equal_moves(4, 4, network, [board, turned], ExpectimaxConfig(plies=2))


def test_deep_enough_is_optimal() -> None:
    """With all weights 0, a search of late 2x2 boards to the end of the game gives the exact optimum."""
    rules, dense = make_rules(2, 2), exact.solve(2, 2)
    player = ExpectimaxPlayer(rules, make_network("0123", 2, 2, 0.0), ExpectimaxConfig(plies=16), threads=1)
    boards = dense.boards(np.flatnonzero(dense.reachable))
    sums = np.where(boards > 0, 2**boards, 0).sum(axis=(1, 2))
    late = boards[(sums >= 40) & (sums <= 60)]
    assert len(late) > 50
    _, values, _ = analyse(player, late)
    optimum = dense.states[dense.number(late)]
    np.testing.assert_allclose(np.maximum(values.max(axis=1), 0.0), optimum, rtol=0, atol=1e-3)


def test_downgrading_halves_the_tiles_above_the_largest_missing_one() -> None:
    rules = make_rules(4, 4)
    # Guei 2023, figure 15 and its description: the largest missing tile is 256, and the largest tile is 32768.
    board = ((15, 14, 13, 12), (11, 10, 9, 7), (6, 5, 4, 3), (2, 1, 0, 0))
    smaller = ((14, 13, 12, 11), (10, 9, 8, 7), (6, 5, 4, 3), (2, 1, 0, 0))
    threshold = np.uint64(32768)
    for exception, seen in ((0, smaller), (32768 + 16384, board), (32768 + 256, smaller), (16384 + 8192, smaller)):
        assert to_reference(rules, downgraded(to_board(board), threshold, np.uint64(exception), False)) == seen
    rng = np.random.default_rng(5)
    for _ in range(300):
        cells = as_board(rng.integers(0, 18, (4, 4)) * (rng.random((4, 4)) < 0.8))
        if not any(game.cells(cells)):
            continue
        for limit in (2, 32768, 32768 + 8192, 131072):
            present = sorted(set(game.cells(cells)) - {0})
            for exception in ([], [16, 14], present[-1:], present[1::2]):
                tiles = np.uint64(sum(2**level for level in exception))
                once = reference.downgraded(cells, limit, exception)
                assert to_reference(rules, downgraded(to_board(cells), np.uint64(limit), tiles, False)) == once
                while once != (again := reference.downgraded(once, limit, exception)):
                    once = again
                assert to_reference(rules, downgraded(to_board(cells), np.uint64(limit), tiles, True)) == once


def test_downgrading_again_ends_below_the_tiles_of_the_threshold() -> None:
    rules, board = make_rules(4, 4), ((15, 13, 0, 0), (1, 3, 0, 0), (0, 0, 0, 0), (0, 0, 0, 0))
    once, again = (downgraded(to_board(board), np.uint64(16384), np.uint64(0), repeats) for repeats in (False, True))
    assert to_reference(rules, once)[0] == (14, 13, 0, 0)
    assert to_reference(rules, again)[0] == (13, 12, 0, 0)


@pytest.mark.parametrize(("tile", "exception", "times"), [(16, 4, 1), (4, 5, 5)])
def test_downgrading_searches_the_smaller_board(tile: int, exception: int, times: int) -> None:
    rules, network, rng = make_rules(3, 3), random_network(), np.random.default_rng(3)
    boards = [
        as_board(rng.integers(1, 7, (3, 3)) * (np.arange(9) < rng.integers(1, 9)).reshape(3, 3)) for _ in range(60)
    ]
    config = ExpectimaxConfig(plies=2, downgrade=(tile,), downgrade_except=(2**exception,), downgrade_repeats=times > 1)
    player = ExpectimaxPlayer(rules, network, config, threads=1)
    plain = ExpectimaxPlayer(rules, network, ExpectimaxConfig(plies=2), threads=1)
    steps = [boards]
    for _ in range(times):
        steps.append([reference.downgraded(board, tile, [exception]) for board in steps[-1]])
    changed = [sum(map(operator.ne, *pair)) for pair in itertools.pairwise(steps)]
    assert all(changed[:2])
    assert changed[0] < sum(board != reference.downgraded(board, tile) for board in boards)
    np.testing.assert_array_equal(analyse(player, boards)[1], analyse(plain, steps[-1])[1])


def test_deeper_values_serve_on_request() -> None:
    """With `takes_deeper`, remembered values of deeper searches are used, so some values differ."""
    rules, network = make_rules(3, 3), random_network()
    boards = spread_boards(3, 3, 12)
    exact = analyse(ExpectimaxPlayer(rules, network, ExpectimaxConfig(plies=4), 1), boards)[1]
    deeper = analyse(ExpectimaxPlayer(rules, network, ExpectimaxConfig(plies=4, takes_deeper=True), 1), boards)[1]
    legal = np.isfinite(exact)
    np.testing.assert_array_equal(np.isfinite(deeper), legal)
    different = np.abs(deeper[legal] - exact[legal]) > 0.1
    assert 0 < different.mean() < 0.7


def test_a_time_limit_deepens_while_there_is_time() -> None:
    rules, network = make_rules(3, 3), random_network()
    boards = [board for board in spread_boards(3, 3, 30) if not game.is_over(board)]
    timed = ExpectimaxPlayer(rules, network, ExpectimaxConfig(plies=12, seconds=0.01), threads=1)
    analyse(timed, boards[:1])
    began = time.perf_counter()
    _, values, effort = analyse(timed, boards)
    assert time.perf_counter() - began < 0.01 * len(boards) + 2  # 2 s of tolerance for a loaded machine
    for i, board in enumerate(boards):
        reached = effort[i].max()
        assert 1 <= reached <= 12
        same = analyse(ExpectimaxPlayer(rules, network, ExpectimaxConfig(plies=int(reached)), 1), [board])[1]
        np.testing.assert_allclose(values[i], same[0], rtol=1e-5, atol=1e-2)
    assert len({int(plies.max()) for plies in effort}) > 1


def test_games_are_those_of_the_rules() -> None:
    rules, network = make_rules(3, 3), random_network()
    player = ExpectimaxPlayer(rules, network, ExpectimaxConfig(plies=2), threads=2)
    for played in player.play_each(range(4), seed=9):
        board: game.Board = ((0,) * 3,) * 3
        for code in played.opening:
            board = game.spawn(board, code)
        score = 0
        boards = []
        for action, code, reward in zip(played.actions, played.spawns, played.rewards, strict=True):
            boards.append(board)
            after, earned = game.afterstate(board, action)
            assert after != board
            assert earned == reward
            score += earned
            board = game.spawn(after, code)
        assert game.is_over(board)
        assert (played.score, played.max_tile) == (score, 2 ** max(game.cells(board)))
        assert (played.milliseconds > 0).all()
        actions, _, _ = analyse(player, boards)
        np.testing.assert_array_equal(actions, played.actions)


def test_games_depend_on_seed_and_number_alone() -> None:
    rules, network = make_rules(3, 3), random_network()
    config = ExpectimaxConfig(plies=3, takes_deeper=True)
    one, two = (ExpectimaxPlayer(rules, network, config, threads) for threads in (1, 3))
    reads: list[Callable[[], SoFar]] = []
    games = one.play(6, 4, reads.append)
    assert reads[0]().left == 0.0
    assert reads[0]().finished.score.tolist() == games.score.tolist()
    np.testing.assert_array_equal(games.score, two.play(6, seed=4).score)
    (again,) = two.play_each([3], seed=4)
    assert (again.number, again.score, again.actions.size) == (3, games.score[3], games.moves[3])


def test_a_game_under_way_stops_when_asked_to() -> None:
    config = ExpectimaxConfig(plies=16, seconds=0.2)
    player = ExpectimaxPlayer(make_rules(4, 4), make_network("0123", 4, 4, 0.0), config, 1)
    player.prepare()
    stopped = threading.Event()
    timer = threading.Timer(1.0, stopped.set)
    timer.start()
    assert player._play(0, 1, stopped) is None  # a game of 100 moves would take 20 s
    timer.join()


def test_games_end_when_nobody_asks_on() -> None:
    """Closing the iterator of games ends its threads."""
    games = ExpectimaxPlayer(make_rules(3, 3), make_network("0123", 3, 3, 0.0), ExpectimaxConfig(), 2).play_each(
        itertools.count(), seed=1
    )
    assert next(games).number in (0, 1)
    games.close()  # type: ignore[attr-defined]
    assert not any("ThreadPoolExecutor" in thread.name for thread in threading.enumerate())


def test_values_that_are_no_numbers_end_no_game() -> None:
    """Values of NaN raise an error; they do not count as the end of a game."""
    network = make_network("0123", 3, 3, 0.0)
    network.weights[:] = np.nan
    player = ExpectimaxPlayer(make_rules(3, 3), network, ExpectimaxConfig(plies=1), 1)
    with pytest.raises(ValueError, match="no numbers"):
        player.play(2, seed=1)
    with pytest.raises(ValueError, match="no numbers"):
        analyse(player, [((0, 0, 1), (0, 1, 0), (0, 0, 0))])


def test_heuristic_values() -> None:
    config = HeuristicConfig(empty=100, merges=10, monotonicity=1, monotonicity_power=1, sum=0.5, sum_power=2)
    lines = make_heuristic(config, 2, 3)
    word = 1 | 1 << 4 | 3 << 8  # 2 2 8: one merge; decreases by 0 and increases by 2; 0.5 (1 + 1 + 9)
    assert lines.rows[word] == 10 - 5.5
    assert lines.rows[3 | 1 << 4 | 3 << 8] == -2 - 9.5  # 8 2 8: decreases by 2 and increases by 2
    assert lines.rows[1 | 1 << 8] == 100 + 10 - 1 - 1  # 2 . 2: decreases by 1 and increases by 1
    assert lines.columns[2 | 2 << 4] == 10 - 4
    assert lines.columns[0] == 200


def test_the_heuristic_searches() -> None:
    """The search is the same, with heuristic values at its leaves."""
    config = ExpectimaxConfig(plies=2)
    player = make_heuristic_player(3, 3, config)
    heuristic = make_heuristic(config.heuristic, 3, 3)

    def leaf(board: game.Board) -> float:
        rows = sum(heuristic.rows[sum(cell << 4 * i for i, cell in enumerate(row))] for row in board)
        return float(
            rows + sum(heuristic.columns[sum(c << 4 * i for i, c in enumerate(r))] for r in zip(*board, strict=True))
        )

    boards = spread_boards(3, 3, 20)
    expected = [reference.Expectimax(cache(leaf)).moves(board, 2) for board in boards]
    np.testing.assert_allclose(analyse(player, boards)[1], expected, rtol=2e-6, atol=0.1)


@pytest.mark.parametrize(
    "mistake",
    [
        *({"limits": limits} for limits in ([[6]], [[8, 2], [6, 1]], [[17, 2]], [[6, 0]])),
        *({"downgrade": tiles} for tiles in ((16384, 16384), (3,))),
    ],
)
def test_settings_that_no_search_can_have(mistake: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(mistake))):
        ExpectimaxConfig(**mistake)


@pytest.fixture(scope="module")
def trained() -> Network:
    """Return the network 4x6 after a short training."""
    learner = NTupleLearner(NTupleConfig(env_steps=3_000_000, report_env_steps=3_000_000, threads=1), seed=1)
    learner.advance()
    return learner.network


@pytest.mark.parametrize(
    ("plies", "count"),
    [(3, 200), *(pytest.param(plies, 10_000, marks=pytest.mark.slow) for plies in (1, 2, 3))],
)
def test_the_moves_of_plain_recursion_in_recorded_games(trained: Network, plies: int, count: int) -> None:
    """The positions come from all parts of twenty games of the trained network."""
    rules = make_rules(4, 4)
    greedy = ExpectimaxPlayer(rules, trained, ExpectimaxConfig(plies=1), threads=2)
    played = sorted(greedy.play_each(range(20), seed=2), key=lambda one: one.number)
    words = np.concatenate([states_of(rules, one.opening, one.actions, one.spawns) for one in played])
    words = words[np.linspace(0, len(words) - 1, count).astype(int)]
    assert len(np.unique(words, axis=0)) > 0.99 * count
    expected = np.zeros((count, 4))
    plain_moves(rules, trained, make_lookup(trained, 1), words, plies, expected)
    boards = [to_reference(rules, Board(*word)) for word in words]
    actions, values, _ = analyse(ExpectimaxPlayer(rules, trained, ExpectimaxConfig(plies=plies), threads=2), boards)
    np.testing.assert_allclose(values, expected, rtol=2e-6, atol=1e-3)
    ranked = np.sort(expected, axis=1)
    close = ranked[:, 3] - ranked[:, 2] < 1e-6 * ranked[:, 3]  # a tie within the rounding of float32
    assert close.mean() < 0.03
    np.testing.assert_array_equal(actions[~close], expected.argmax(axis=1)[~close])
