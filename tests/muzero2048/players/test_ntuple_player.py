"""Tests that the n-tuple values in the tree search and the moves of its 1-ply case equal those of ntuple's kernels."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import ntuple as reference
from reference import rules as reference_rules
from reference.positions import random_board

from muzero2048.game.env import Board, Game2048
from muzero2048.players import ntuple_player
from muzero2048.players.ntuple_player import NTupleSetting, afterstate_values, load_value_player
from muzero2048.search.config import SearchConfig
from muzero2048.search.plan_move import make_root, plan
from ntuple import NTupleConfig, NTupleLearner, make_rules
from ntuple.game.jit import kernel
from ntuple.players.greedy import best_move, look_ahead, make_scratch
from ntuple.tables.file_order import read_field, write_field
from ntuple.tables.network import Network, make_network
from ntuple.tables.patterns import parse_network
from tests.ntuple.drivers import to_board, value
from tests.settings import configured

# Cells in and out of order, adjacent and apart, tuples that continue in the next row; one tuple and several.
CASES = [
    *(pytest.param(4, 4, name, marks=pytest.mark.slow) for name in ("4x6", "4x6-matsuzaki")),  # 67 million weights
    (4, 4, "01245,569ae"),
    (3, 4, "0123,4589,b7"),
    (3, 3, "0134,012,258"),
    (2, 3, "0123,14"),
]
ONE_PLY = configured(SearchConfig, model="simulator", simulations=4, considered_actions=4)
SMALL = NTupleConfig(
    rows=2, columns=2, network=("0123", "01"), env_steps=20_000, report_env_steps=20_000, threads=1, v_init=60.0
)


def random_network(text: str, rows: int, columns: int, scale: float = 1.0) -> Network:
    network = make_network(text, rows, columns, 0.0)
    write_field(network, np.random.default_rng(1).standard_normal(network.weights.size, np.float32) * scale)
    return network


def pack(game: Game2048, boards: list[reference_rules.Board]) -> Board:
    return game.from_cells(jnp.asarray(np.array(boards, np.uint8)))


@pytest.mark.parametrize(("rows", "columns", "text"), CASES)
def test_values_equal_the_kernels_and_the_reference(rows: int, columns: int, text: str) -> None:
    game, rules, patterns = Game2048(rows, columns), make_rules(rows, columns), parse_network(text, rows, columns)
    network = random_network(text, rows, columns)
    rng = np.random.default_rng(2)
    boards = [random_board(rng, rows, columns, largest=17) for _ in range(200)]
    assert max(max(reference_rules.cells(board)) for board in boards) == 17  # 131072, beyond the levels of the index
    plain = read_field(network)
    weights = jnp.asarray(plain)
    found = jax.jit(afterstate_values, static_argnums=(0, 1))(game, patterns, weights, pack(game, boards))
    np.testing.assert_allclose(found, [value(rules, network, board) for board in boards], atol=1e-5, rtol=1e-5)
    truth = reference.Network(list(patterns), len(network.symmetries))
    for board, v in zip(boards[:20], found.tolist(), strict=False):
        positions = [int(network.tables[m]) + index for _, m, index in truth.entries(board)]
        assert len(positions) == len(patterns) * (8 if rows == columns else 4)
        assert v == pytest.approx(plain[positions].astype(float).sum(), abs=1e-5)


def test_boards_may_have_any_leading_axes() -> None:
    game, patterns = Game2048(2, 3), parse_network("0123,14", 2, 3)
    weights = jnp.asarray(read_field(random_network("0123,14", 2, 3)))
    flat = pack(game, [random_board(np.random.default_rng(i), 2, 3) for i in range(12)])
    expected = afterstate_values(game, patterns, weights, flat)
    for shape in ((3, 4), (2, 3, 2)):
        found = afterstate_values(game, patterns, weights, tuple(word.reshape(shape) for word in flat))
        np.testing.assert_array_equal(found, expected.reshape(shape))
    np.testing.assert_array_equal(afterstate_values(game, patterns, weights, tuple(w[5] for w in flat)), expected[5])


@kernel
def _best_move(rules, network, board, scratch):
    look_ahead(rules, network, board, scratch, 0)
    move = best_move(network, scratch, 0)
    return move.action, move.value


def _q(rules, network: Network, board: reference_rules.Board, action: int) -> float:
    after, reward = reference_rules.afterstate(board, action)
    return reward + value(rules, network, after)


def test_four_simulations_at_a_gumbel_root_are_the_1ply_search() -> None:
    rows, columns, text = 2, 3, "0123,14"
    game, rules = Game2048(rows, columns), make_rules(rows, columns)
    network = random_network(text, rows, columns, scale=100.0)
    rng = np.random.default_rng(3)
    boards = [random_board(rng, rows, columns) for _ in range(600)]
    boards = [board for board in boards if not reference_rules.is_over(board)][:400]
    setting = NTupleSetting(game, 1.0, ONE_PLY, parse_network(text, rows, columns))
    seeds = jnp.zeros(len(boards), jnp.uint32)
    dynamics = setting.dynamics(jnp.asarray(read_field(network)))
    root = make_root(dynamics, game, pack(game, boards), seeds, None, ONE_PLY)
    found = plan(dynamics, root, ONE_PLY, setting.discount)[0]
    chosen = found.action.tolist()
    expected = [_best_move(rules, network, to_board(board), make_scratch(network)) for board in boards]
    for board, action, (best, q) in zip(boards, chosen, expected, strict=True):
        assert action == best or _q(rules, network, board, action) == pytest.approx(q, rel=1e-5)  # or a tie
    assert len(boards) > 300
    assert min(np.bincount(chosen, minlength=4)) > 30


def test_root_and_prior_are_those_of_the_four_moves() -> None:
    game, rules, text = Game2048(2, 3), make_rules(2, 3), "0123,14"
    network = random_network(text, 2, 3, scale=20.0)
    search = SearchConfig(model="simulator", value_scale=50.0)
    setting = NTupleSetting(game, 1.0, search, parse_network(text, 2, 3))
    board = ((1, 2, 2), (1, 0, 3))
    found = setting.dynamics(jnp.asarray(read_field(network))).root(pack(game, [board]))
    legal = np.array(reference_rules.legal_actions(board))
    q = np.array([_q(rules, network, board, action) for action in range(4)])
    assert found.value[0] == pytest.approx(q[legal].max(), rel=1e-5)
    odds = np.exp((q - q[legal].max()) / 50.0) * legal
    np.testing.assert_allclose(jax.nn.softmax(found.policy_logits)[0], odds / odds.sum(), rtol=1e-4)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ntuple")
    learner = NTupleLearner(SMALL, seed=1)
    learner.advance()
    learner.save(folder)
    (folder / "training.safetensors").unlink()  # a player needs the weights only
    return folder


def test_one_ply_games_score_like_those_of_ntuple(checkpoint: Path) -> None:
    learner = NTupleLearner(SMALL, seed=1)
    learner.advance()
    own, games = learner.player().play(4000, 5), load_value_player(checkpoint, SMALL, ONE_PLY).play(4000, 5)
    error = np.hypot(own.score.std(), games.score.std()) / 4000**0.5
    assert games.score.mean() == pytest.approx(own.score.mean(), abs=4 * error)
    assert games.score.mean() > 40  # greedy play scores 24, so the learned values are used


@pytest.mark.slow
def test_games_by_tree_search_are_reproducible(checkpoint: Path) -> None:
    search = SearchConfig(model="simulator", simulations=12, root="puct", chance="weighted")
    player = load_value_player(checkpoint, SMALL, search)
    games, again, other = player.play(60, 7), player.play(60, 7), player.play(60, 8)
    np.testing.assert_array_equal(games.score, again.score)
    np.testing.assert_array_equal(games.moves, again.moves)
    assert not np.array_equal(games.score, other.score)
    assert games.score.mean() > 40
    assert set(games.max_tile.tolist()) <= {4, 8, 16, 32}


def test_weights_are_an_argument_of_a_shared_program(checkpoint: Path, tmp_path: Path) -> None:
    NTupleLearner(SMALL, seed=1).save(tmp_path)  # untrained: all values are equal
    trained, untrained = load_value_player(checkpoint, SMALL, ONE_PLY), load_value_player(tmp_path, SMALL, ONE_PLY)
    assert trained._compile is untrained._compile
    assert trained.play(500, 3).score.mean() > untrained.play(500, 3).score.mean() + 5


def test_files_that_do_not_fit_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    NTupleLearner(SMALL, seed=1).save(tmp_path)
    file = tmp_path / "weights.safetensors"
    whole = file.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(ntuple_player, "MOST_WEIGHTS", 9)
        with pytest.raises(ValueError, match="has 1,332 weights, tree search takes 9"):
            load_value_player(tmp_path, SMALL, ONE_PLY)
    for damaged in (whole[: len(whole) // 2], whole[:5], b"", b"not a checkpoint at all"):
        file.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"weights\.safetensors: missing or damaged") as caught:
            load_value_player(tmp_path, SMALL, ONE_PLY)
        assert "\n" not in str(caught.value)
