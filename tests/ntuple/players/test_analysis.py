"""`analyse` selects the same moves as `play` in whole games, and its values equal those of plain Python."""

import itertools

import numpy as np
import pytest
from reference import ntuple as reference
from reference import positions, rules

from ntuple import Analysis, GreedyPlayer, NTuplePlayer, RandomPlayer, make_rules
from ntuple.game.baselines import draw_move
from ntuple.game.bitboard import afterstate, decode, turned_afterstate
from ntuple.game.episode import COLUMNS, RNG, begin_game, board_of, go_on, set_board, write_result
from ntuple.game.jit import kernel
from ntuple.game.rng import stream
from ntuple.tables.file_order import read_field
from ntuple.tables.network import make_network
from ntuple.tables.patterns import parse_network
from ntuple.td.state_and_q import AFTERSTATES, KINDS
from tests.ntuple.drivers import random_network, to_board, to_reference
from tests.ntuple.td.test_state_and_q import ActionNetwork, move_value

TEXT = "012,0134"
OVER = ((1, 2, 1), (2, 1, 2), (1, 2, 1))
PLAYERS = [NTuplePlayer, RandomPlayer, GreedyPlayer]


def make_player(kind: type, rows: int = 3, columns: int = 3) -> NTuplePlayer | RandomPlayer:
    game = make_rules(rows, columns)
    if kind is NTuplePlayer:
        return NTuplePlayer(game, random_network(rows, columns, "01"), 1)
    return kind(game, 1)


def some_boards(rows: int = 3, columns: int = 3, count: int = 100, largest: int = 6) -> list[rules.Board]:
    rng = np.random.default_rng(2)
    return [positions.random_board(rng, rows, columns, largest) for _ in range(count)]


def analysis_of(player: NTuplePlayer | RandomPlayer, boards: list[rules.Board]) -> Analysis:
    """Analyse boards with the seeds 0, 1, 2, ..."""
    return player.analyse(np.array(boards, np.uint8), np.arange(len(boards), dtype=np.uint32))


@kernel
def make_move(rules, row, action, turned):
    """Make a move as the kernel of play does; with `turned` the game continues on a view of the board."""
    if turned:
        _, after, reward = turned_afterstate(rules, board_of(row), action)
    else:
        after, reward = afterstate(rules, board_of(row), action)
    go_on(rules, row, after, reward)


def combinations() -> list[object]:
    """Return boards, networks, kinds of values and symmetry; each one compiles anew, so most of them are slow."""
    fast = [(3, kind, True) for kind in KINDS] + [(2, "afterstate", False), (4, "afterstate", True)]
    networks = {(3, 3): TEXT, (2, 3): "0123,14", (4, 4): "0123,048c"}
    every = itertools.product(networks.items(), KINDS, (True, False))
    return [
        pytest.param(*shape, text, kind, symmetry, marks=() if (shape[0], kind, symmetry) in fast else pytest.mark.slow)
        for (shape, text), kind, symmetry in every
    ]


@pytest.mark.parametrize(("rows", "columns", "text", "kind", "symmetry"), combinations())
def test_games_by_analysis_are_those_of_play(rows: int, columns: int, text: str, kind: str, symmetry: bool) -> None:
    game, count = make_rules(rows, columns), 5
    player = NTuplePlayer(game, random_network(rows, columns, text, values=kind, symmetry=symmetry), 1, KINDS[kind])
    table, results = np.zeros((count, COLUMNS), np.uint64), np.zeros((count, 3), np.int64)
    for i, row in enumerate(table):
        begin_game(game, row, np.uint64(stream(np.uint64(7), np.uint64(i))))
    while True:
        cells = np.array([decode(game, board_of(row)) for row in table], np.uint8)
        analysis = player.analyse(cells, np.zeros(count, np.uint32))
        if (analysis.action < 0).all():
            break
        for row, action in zip(table, analysis.action, strict=True):
            if action >= 0:
                make_move(game, row, int(action), symmetry and KINDS[kind] == AFTERSTATES)
    for row, result in zip(table, results, strict=True):
        write_result(game, row, result)
    played = player.play(count, 7)
    np.testing.assert_array_equal(results.T, [played.score, played.max_tile, played.moves])
    assert played.moves.min() > 3


@pytest.mark.parametrize("symmetry", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_values_equal_the_reference(kind: str, symmetry: bool) -> None:
    network, patterns = random_network(3, 3, TEXT, values=kind, symmetry=symmetry), list(parse_network(TEXT, 3, 3))
    boards = [*some_boards(count=40), OVER, ((0,) * 3,) * 3]
    found = analysis_of(NTuplePlayer(make_rules(3, 3), network, 1, KINDS[kind]), boards)
    views = len(network.symmetries)
    plain, truth = read_field(network), (ActionNetwork if kind == "action" else reference.Network)(patterns, views)
    truth.levels = 11  # the largest tile of 3x3 is 2^10
    starts = [*network.tables.tolist(), network.weights.size]

    def weight(entry: reference.Entry) -> float:
        first, m, number = entry  # `first` is the action for action values, otherwise the stage, which is 0
        size = (starts[m + 1] - starts[m]) // (4 if kind == "action" else 1)
        return float(plain[starts[m] + first * size + number])

    truth.weight = weight
    for i, board in enumerate(boards):
        for action, legal in enumerate(rules.legal_actions(board)):
            after, reward = rules.afterstate(board, action)
            if not legal:
                assert (found.reward[i, action], found.value[i, action], found.effort[i, action]) == (-1, -np.inf, 0)
                continue
            value = reward + truth.value(after) if kind == "afterstate" else move_value(truth, kind, board, action)
            assert found.value[i, action] == pytest.approx(float(value), abs=1e-3)
            assert (found.reward[i, action], found.effort[i, action]) == (reward, 1)
        over = rules.is_over(board)
        assert found.action[i] == (-1 if over else np.argmax(found.value[i]))
    assert (found.action[-2:] == -1).all()


def test_moves_of_equal_value_leave_the_lowest() -> None:
    player = NTuplePlayer(make_rules(2, 2), make_network("01", 2, 2, 0.0), 1)
    boards = [((1, 0), (0, 0)), ((0, 0), (0, 1)), ((1, 1), (1, 1))]
    found = analysis_of(player, boards)
    assert found.action.tolist() == [1, 0, 0]  # the lowest of: right and down; up and left; all four
    assert found.value.tolist() == [[-np.inf, 0, 0, -np.inf], [0, -np.inf, -np.inf, 0], [8] * 4]


@pytest.mark.parametrize("kind", [RandomPlayer, GreedyPlayer])
def test_drawn_moves_are_those_of_the_kernel_of_play(kind: type[RandomPlayer]) -> None:
    game, boards, row = make_rules(3, 3), [*some_boards(), OVER], np.zeros(COLUMNS, np.uint64)
    found = analysis_of(kind(game, 1), boards)
    for i, board in enumerate(boards):
        set_board(row, to_board(board))
        row[RNG] = stream(np.uint64(i), np.uint64(0))
        drawn = to_reference(game, draw_move(game, kind.greedy, row)[1])
        legal = np.array(rules.legal_actions(board))
        moved = [legal[a] and rules.afterstate(board, a)[0] == drawn for a in range(4)]
        assert found.action[i] == (np.flatnonzero(moved).item() if legal.any() else -1)
        rewards = [rules.afterstate(board, a)[1] if legal[a] else -1 for a in range(4)]
        assert found.reward[i].tolist() == rewards
        assert np.isnan(found.value[i]).tolist() == legal.tolist()
        assert (found.value[i][~legal] == -np.inf).all()
    assert (found.effort == 0).all()  # the values are unknown, so nothing was computed for them


@pytest.mark.parametrize(("kind", "shares"), [(RandomPlayer, [1 / 4] * 4), (GreedyPlayer, [0, 1 / 2, 0, 1 / 2])])
def test_moves_are_drawn_evenly_by_their_seeds(kind: type[RandomPlayer], shares: list[float]) -> None:
    board = ((0, 0, 0), (0, 2, 2), (0, 0, 0))  # two tiles merge by right and left only
    found = analysis_of(kind(make_rules(3, 3), 1), [board] * 4000)
    np.testing.assert_allclose(np.bincount(found.action, minlength=4) / 4000, shares, atol=0.03)


@pytest.mark.parametrize("kind", PLAYERS)
def test_a_board_alone_gets_the_same_analysis(kind: type) -> None:
    boards, player = np.array([*some_boards(count=20), OVER], np.uint8), make_player(kind)
    together = player.analyse(boards, np.arange(21, dtype=np.uint32))
    for i in range(21):
        alone = player.analyse(boards[i : i + 1], np.array([i], np.uint32))
        for one, all_of_them in zip(alone[:4], together[:4], strict=True):
            np.testing.assert_array_equal(one[0], all_of_them[i])
    assert together.variation is None
    for field, dtype in zip(together[:4], (np.int8, np.int64, np.float64, np.int64), strict=True):
        assert field.dtype == dtype
        assert field.flags.c_contiguous
    none = player.analyse(boards[:0], np.zeros(0, np.uint32))
    assert [field.shape for field in none[:4]] == [(0,), (0, 4), (0, 4), (0, 4)]


@pytest.mark.parametrize("kind", PLAYERS)
def test_boards_of_any_tile_and_memory_order(kind: type) -> None:
    player, boards = make_player(kind, 4, 4), np.array(some_boards(4, 4, 50, largest=17), np.uint8)
    boards[0, 0] = [17, 17, 16, 16]
    found = player.analyse(np.asfortranarray(boards), np.arange(100, dtype=np.uint32)[::2])
    for board, reward in zip(boards, found.reward, strict=True):
        plain = positions.as_board(board)
        legal = rules.legal_actions(plain)
        assert reward.tolist() == [rules.afterstate(plain, a)[1] if legal[a] else -1 for a in range(4)]
    assert found.reward[0, 3] >= 2**18 + 2**17


@pytest.mark.parametrize("kind", PLAYERS)
@pytest.mark.parametrize(("boards", "seeds", "message"), [
    (np.full((2, 3, 3), 18, np.uint8), np.zeros(2, np.uint32), r"cells of 18\.\.18: give levels of tiles, 0\.\.17"),
    (np.full((2, 3, 3), -1), np.zeros(2, np.uint32), r"cells of -1\.\.-1"),
    (np.zeros((2, 3, 3)), np.zeros(2, np.uint32), "boards are of type float64: give integers"),
    (np.zeros((2, 4, 4), np.uint8), np.zeros(2, np.uint32), r"shape \(2, 4, 4\): give \[boards, 3, 3\]"),
    (np.zeros((3, 3), np.uint8), np.zeros(3, np.uint32), r"shape \(3, 3\)"),
    (np.zeros((2, 3, 3), np.uint8), np.zeros(3, np.uint32), r"seeds are of shape \(3,\): give one for each of 2"),
    (np.zeros((1, 3, 3), np.uint8), np.array([2**32]), "give numbers of 32 bits"),
])  # fmt: skip
def test_what_is_no_board_is_refused(kind: type, boards: np.ndarray, seeds: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        make_player(kind).analyse(boards, seeds)
    assert "\n" not in str(caught.value)
