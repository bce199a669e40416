import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from reference import exact
from reference import mcts as reference
from reference import rules as game
from reference.positions import spread_boards
from reference.splitmix import GAMMA, WORD, Spawns, stream

from ntuple import Analysis, MCTSConfig, MCTSPlayer, NTuplePlayer, make_rules
from ntuple.game.bitboard import Rules
from ntuple.game.episode import AFTER_HI, AFTER_LO, BOARD_HI, BOARD_LO, COLUMNS, RNG
from ntuple.game.jit import kernel
from ntuple.game.rollout import open_game
from ntuple.mcts.play import choose_move
from ntuple.mcts.player import SEARCH_STREAMS
from ntuple.mcts.search import make_search, search_tree
from ntuple.mcts.tree import NONE, MCTSTree, afterstate_of, block_size, keep, state_of
from ntuple.tables.network import Network, make_network
from tests.ntuple.drivers import exact_network, random_network, to_board, to_reference, value
from tests.slow import others_slow

SEED = 9


def searched(rules: Rules, network: Network, config: MCTSConfig, board: game.Board) -> MCTSTree:
    """Return the tree of the kernel, with the random numbers that `analyse` has for SEED."""
    search = MCTSPlayer(rules, network, config, threads=1).new_search(SEED, 0)
    search_tree(search, to_board(board), False)
    return search.tree


def plain_search(rules: Rules, network: Network, config: MCTSConfig) -> reference.Search:
    """Return the same search in plain Python."""
    known: dict[game.Board, float] = {}

    def leaf(board: game.Board) -> float:
        return known.setdefault(board, float(value(rules, network, board)))

    is_mean = config.backup == "mean"
    return reference.Search(
        leaf, Spawns(stream(SEED ^ int(SEARCH_STREAMS), 0)).draw, config.c, config.v_norm or None, is_mean
    )


def states_below(
    rules: Rules, tree: MCTSTree, node: int, state: reference.State
) -> Iterator[tuple[int, reference.State]]:
    """Yield each node of a kernel's tree with the state of the plain tree at the same place."""
    yield node, state
    for action, move in state.moves.items():
        if tree.blocks[node, action] == NONE:
            assert not move.spawns
            continue
        after = afterstate_of(tree, node, action)
        assert to_reference(rules, after) == move.after
        first = int(tree.blocks[node, action])
        nodes = [n for n in tree.slots[first : first + block_size(rules, after)].tolist() if n != NONE]
        below = {to_reference(rules, state_of(tree, n)): n for n in nodes}
        assert len(below) == len(nodes) == len(move.spawns)
        for spawned in move.spawns.values():
            yield from states_below(rules, tree, below[spawned.board], spawned)


def assert_equal_nodes(rules: Rules, tree: MCTSTree, plain: reference.Search, root: reference.State) -> int:
    """Check legal moves, visits and Q of all nodes of a kernel's tree; return their number."""
    nodes = list(states_below(rules, tree, 0, root))
    assert len(nodes) == tree.used[0]
    for node, state in nodes:
        assert [tree.rewards[node, a] >= 0 for a in game.ACTIONS] == [a in state.moves for a in game.ACTIONS]
        for action, move in state.moves.items():
            assert tree.visits[node, action] == len(move.returns)
            assert tree.q_values[node, action] == pytest.approx(plain.q(move), rel=1e-9, abs=1e-6)
    return len(nodes)


SEARCHES = [
    {"backup": "mean", "c": 0.0},
    {"backup": "mean", "c": 0.1},
    {"backup": "mean", "c": 0.3, "v_norm": 200.0},
    {"backup": "expectimax", "c": 0.0},
    {"backup": "expectimax", "c": 0.1},
]


@pytest.mark.parametrize("settings", others_slow(SEARCHES, SEARCHES[1], SEARCHES[4]))
@pytest.mark.parametrize(
    ("rows", "columns", "simulations"), [pytest.param(2, 3, 30, marks=pytest.mark.slow), (3, 3, 90)]
)
def test_equals_plain_python_node_by_node(rows: int, columns: int, simulations: int, settings: dict[str, Any]) -> None:
    rules, config = make_rules(rows, columns), MCTSConfig(simulations=simulations, **settings)
    network = exact_network(rows, columns, "012,0134")
    for board in spread_boards(rows, columns, 8):
        plain = plain_search(rules, network, config)
        root = plain.run(board, simulations)
        assert_equal_nodes(rules, searched(rules, network, config, board), plain, root)


@kernel
def drawn_moves(settings, tree, moves):
    for i in range(moves.size):
        moves[i] = choose_move(settings, tree)


def analyse(player: MCTSPlayer, boards: list[game.Board]) -> Analysis:
    return player.analyse(np.array(boards, np.uint8), np.arange(len(boards), dtype=np.uint32))


def test_one_simulation_plays_as_1ply() -> None:
    rules, network = make_rules(4, 4), random_network(4, 4, "0123,4567,0145,012345")
    boards = spread_boards(4, 4, 400)
    greedy = NTuplePlayer(rules, network, threads=1).analyse(np.array(boards, np.uint8), np.zeros(400, np.uint32))
    for backup in ("mean", "expectimax"):
        found = analyse(MCTSPlayer(rules, network, MCTSConfig(simulations=1, backup=backup), threads=2), boards)
        assert found.action.tolist() == greedy.action.tolist()
        np.testing.assert_array_equal(found.value, greedy.value)
        assert not found.effort.any()


@pytest.mark.parametrize("backup", ["mean", "expectimax"])
def test_error_against_exact_values_falls(backup: str) -> None:
    """A 2x2 board with values of 0: all knowledge comes from the tree."""
    rules, network = make_rules(2, 2), make_network("01", 2, 2, 0.0)
    solution = exact.solve(2, 2)
    boards = [board for board in spread_boards(2, 2, 40) if not game.is_over(board)]
    moved = [[game.afterstate(board, action) for action in game.ACTIONS] for board in boards]
    after_values = solution.afterstates[
        solution.number(np.array([[after for after, _ in row] for row in moved]).reshape(-1, 2, 2))
    ].reshape(-1, 4)
    truth = np.array([[reward for _, reward in row] for row in moved]) + after_values
    errors = []
    for simulations in (10, 100, 1000, 10_000):
        player = MCTSPlayer(rules, network, MCTSConfig(simulations=simulations, c=0.5, v_norm=20.0, backup=backup), 2)
        found = analyse(player, boards)
        rows = np.arange(len(boards))
        errors.append(np.sqrt(np.mean((found.value[rows, found.action] - truth[rows, found.action]) ** 2)))
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 0.25 * errors[0]


# Without exploration expectations that are equal but for their rounding decide moves.
@pytest.mark.parametrize("settings", [*SEARCHES[:3], SEARCHES[4]])
def test_kept_tree_is_what_was_below_the_move(settings: dict[str, Any]) -> None:
    rules, config = make_rules(3, 3), MCTSConfig(simulations=100, **settings)
    network = exact_network(3, 3, "01,034,0124")
    kept = 0
    for board in spread_boards(3, 3, 6):
        plain = plain_search(rules, network, config)
        root = plain.run(board, config.simulations)
        for move in root.moves.values():
            for state in move.spawns.values():
                tree, row = searched(rules, network, config, board), np.zeros(COLUMNS, np.uint64)
                row[AFTER_LO], row[AFTER_HI] = to_board(move.after)
                row[BOARD_LO], row[BOARD_HI] = to_board(state.board)
                assert keep(rules, tree, row)
                kept += assert_equal_nodes(rules, tree, plain, state)
    assert kept > 300


def test_a_board_that_is_not_in_the_tree_empties_it() -> None:
    rules, network = make_rules(3, 3), random_network()
    boards = spread_boards(3, 3, 5)
    tree = searched(rules, network, MCTSConfig(simulations=50), boards[1])
    row = np.zeros(COLUMNS, np.uint64)
    row[BOARD_LO], row[BOARD_HI] = to_board(boards[3])
    assert not keep(rules, tree, row)
    assert tree.used.tolist() == [0, 0]


def test_reuse_needs_fewer_simulations_for_as_many_visits() -> None:
    rules, network = make_rules(3, 3), random_network()
    players = [MCTSPlayer(rules, network, MCTSConfig(simulations=200, reuse=reuse), 1) for reuse in (False, True)]
    plain, kept = (player.play(40, 3) for player in players)
    assert kept.score.mean() > 0.7 * plain.score.mean()
    assert (kept.score != plain.score).any()


def test_stopping_early_changes_no_move() -> None:
    rules, network, config = make_rules(3, 3), random_network(), MCTSConfig(simulations=200, c=0.05, backup="mean")
    stopped = 0
    for board in spread_boards(3, 3, 60):
        whole, early = (make_search(rules, network, config) for _ in range(2))
        search_tree(whole, to_board(board), False)
        made = search_tree(early, to_board(board), True)
        moves = [np.zeros(1, np.int64) for _ in range(2)]
        for one, move in zip((whole, early), moves, strict=True):
            drawn_moves(one.settings, one.tree, move)
        assert moves[0] == moves[1]
        stopped += made < 200
    assert stopped > 20


def test_moves_are_drawn_by_their_visits() -> None:
    """pi(a) = N(a)^z / sum_b N(b)^z over the moves with N(a) >= R_th max N."""
    rules, network = make_rules(3, 3), random_network()
    cases = 0
    for z, r_th in ((0.0, 0.0), (1.0, 0.0), (2.0, 0.3), (-1.0, 0.1), (0.5, 0.5)):
        config = MCTSConfig(simulations=100, c=0.3, choice="drawn", z=z, r_th=r_th)
        for board in spread_boards(3, 3, 8):
            tree = searched(rules, network, config, board)
            visits = np.where(tree.rewards[0] >= 0, tree.visits[0], 0).astype(float)
            if not visits.any():
                continue
            weights = np.array([n**z if n > 0 and n >= r_th * visits.max() else 0.0 for n in visits])
            moves = np.zeros(20_000, np.int64)
            drawn_moves(make_search(rules, network, config).settings, tree, moves)
            shares = np.bincount(moves, minlength=4) / moves.size
            np.testing.assert_allclose(shares, weights / weights.sum(), atol=0.02)
            cases += 0.05 < shares.max() < 0.95
    assert cases > 7


def test_time_limit() -> None:
    rules, network = make_rules(4, 4), random_network(4, 4, "0123,4567")
    config = MCTSConfig(simulations=50_000, seconds=0.002)
    board, search = to_board(spread_boards(4, 4, 3)[1]), make_search(rules, network, config)
    search_tree(make_search(rules, network, MCTSConfig(simulations=2)), board, False)  # compiles
    began = time.perf_counter()
    made = search_tree(search, board, False)
    assert 1 < made < 50_000
    assert time.perf_counter() - began < 1.0


def test_games_depend_on_seed_and_number_alone() -> None:
    rules, network, config = make_rules(3, 3), random_network(), MCTSConfig(simulations=30)
    one, two = (MCTSPlayer(rules, network, config, threads).play(12, 4) for threads in (1, 2))
    assert one.score.tolist() == two.score.tolist()
    other = MCTSPlayer(rules, network, config, 2).play(12, 5)
    assert one.score.tolist() != other.score.tolist()
    part = [played.score for played in MCTSPlayer(rules, network, config, 1).play_each([7], 4)]
    assert part == [one.score[7]]


def test_searches_do_not_draw_the_spawns_of_the_game() -> None:
    """A search with the stream of the game would know the spawns."""
    network, number = random_network(), 0
    player = MCTSPlayer(make_rules(3, 3), network, MCTSConfig(), 1)
    row = np.zeros(COLUMNS, np.uint64)
    open_game(make_rules(3, 3), 4, number, row)
    distance = int(player.new_search(4, number).tree.rng[0]) - int(row[RNG])
    steps = distance * pow(GAMMA, -1, WORD) % WORD
    assert min(steps, WORD - steps) > 2**40


def test_variation_is_a_line_of_the_tree() -> None:
    rules, network = make_rules(3, 3), random_network()
    for board in spread_boards(3, 3, 10)[:-1]:
        found = analyse(MCTSPlayer(rules, network, MCTSConfig(simulations=300), 1), [board])
        assert found.variation is not None
        line = found.variation[0]
        assert line[0, 0] == found.action[0]
        length = int((line[:, 0] >= 0).sum())
        assert length > 1
        for action, code in line[: length - 1].tolist():
            after, _ = game.afterstate(board, action)
            assert after != board
            board = game.spawn(after, code)


def test_outcomes_are_the_spawns_after_the_move() -> None:
    """Probabilities of the rules; where all were visited, r + their expectation is Q, and each is in its cell."""
    rules, network = make_rules(2, 3), exact_network(2, 3, "012,0134")
    player = MCTSPlayer(rules, network, MCTSConfig(simulations=300), threads=1)
    complete = 0
    for board in spread_boards(2, 3, 12):
        found = analyse(player, [board])
        assert found.outcomes is not None
        (outcomes,), action = found.outcomes, int(found.action[0])
        if action < 0:
            assert (outcomes[:, :2] == 0).all()
            continue
        after, reward = game.afterstate(board, action)
        expected = game.chance_probabilities(after)
        probabilities = [float(expected.get(code, 0)) for code in range(12)]
        np.testing.assert_allclose(outcomes[:, 0], probabilities, rtol=1e-6)
        seen, is_over = outcomes[:, 1] > 0, [game.is_over(game.spawn(after, code)) for code in expected]
        if not any(is_over):
            assert outcomes[:, 1].sum() == found.effort[0, action] - 1  # the first visit ends at the afterstate
        np.testing.assert_array_equal(np.isnan(outcomes[:, 2]), ~seen)
        for code in np.flatnonzero(seen).tolist():
            if game.is_over(game.spawn(after, code)):
                assert outcomes[code, 2] == 0
        if seen[outcomes[:, 0] > 0].all():
            complete += 1
            expectation = (outcomes[seen, 0] * outcomes[seen, 2]).sum()
            assert reward + expectation == pytest.approx(found.value[0, action], rel=1e-6)
    assert complete > 5


def test_a_finished_game_has_no_move() -> None:
    board = ((1, 2), (2, 1))
    found = analyse(MCTSPlayer(make_rules(2, 2), random_network(2, 2, "01"), MCTSConfig(), 1), [board])
    assert found.action.tolist() == [-1]
    assert found.reward.tolist() == [[-1] * 4]
    assert found.variation is not None
    assert (found.variation == -1).all()


def test_values_that_are_no_numbers_are_refused() -> None:
    network = random_network()
    network.weights[:] = np.nan
    player = MCTSPlayer(make_rules(3, 3), network, MCTSConfig(simulations=20), 1)
    with pytest.raises(ValueError, match="no numbers"):
        player.play(1, 0)
    with pytest.raises(ValueError, match="no numbers"):
        analyse(player, spread_boards(3, 3, 3)[:1])
