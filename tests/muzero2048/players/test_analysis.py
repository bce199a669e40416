"""Tests that analysis gives the moves of whole games, and the results of the search when it is called directly."""

import dataclasses
import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx
from reference import positions, rules

from muzero2048.deep_td.config import DeepTDConfig
from muzero2048.deep_td.value_player import AfterstateSearch, OnePlySetting
from muzero2048.game.env import Board, Game2048
from muzero2048.game.family_env import make_board_game
from muzero2048.muzero.network_player import NetworkSetting
from muzero2048.players.analysis import Judge, JudgedBoards, make_analyse, with_event_codes
from muzero2048.players.ntuple_player import NTupleSetting
from muzero2048.players.search_player import Params, PlayerSetting, SearchPlayer, SearchSetting
from muzero2048.search.base import Plan
from muzero2048.search.config import SearchConfig
from muzero2048.search.plan_move import make_root, plan
from ntuple.core.interfaces import Analysis
from tests.muzero2048.deep_td.toy_network import random_network, values_of
from tests.muzero2048.deep_td.toy_network import small_config as deep_config
from tests.muzero2048.toy_model import random_model, small_config
from tests.settings import configured

GAME = Game2048(2, 3)
OVER = ((1, 2, 1), (2, 1, 2))
PATTERNS = ((0, 1, 2, 3), (1, 4))  # of the n-tuple network; 8 levels per cell on 2x3
GUMBEL = SearchConfig(simulations=6)
PUCT = SearchConfig(simulations=5, root="puct", chance="sampled", model="simulator")
ONE_STEP = configured(SearchConfig, simulations=2, considered_actions=2, model="simulator")


class Case(NamedTuple):
    setting: PlayerSetting
    params: Params

    @property
    def player(self) -> SearchPlayer:
        return SearchPlayer(*self)


def network_case(search: SearchConfig, game: Game2048 = GAME) -> Case:
    config = small_config(rows=game.rows, columns=game.columns, search=search)
    graphdef, params = nnx.split(random_model(config, seed=0))
    return Case(NetworkSetting(game, config.discount, search, graphdef), params)


def ntuple_case(search: SearchConfig, scale: float) -> Case:
    weights = scale * np.random.default_rng(1).standard_normal(8**4 + 8**2, np.float32)
    return Case(NTupleSetting(GAME, 1.0, search, PATTERNS), jnp.asarray(weights))


def one_ply_config(name: str) -> DeepTDConfig:
    return deep_config(output="scalar") if name == "scalar" else deep_config(name)


def deep_case(method: str, search: SearchConfig | None = None) -> Case:
    config = one_ply_config(method)
    graphdef, params = nnx.split(random_network(config))
    if search is None:
        return Case(OnePlySetting(GAME, config.discount, graphdef), params)
    return Case(AfterstateSearch(GAME, config.discount, search, graphdef), params)


SEARCHES = {
    "gumbel": functools.partial(network_case, GUMBEL),
    "puct": functools.partial(network_case, PUCT),
    "one step": functools.partial(network_case, ONE_STEP),
    "mctx": functools.partial(network_case, dataclasses.replace(GUMBEL, engine="mctx")),
    "n-tuples": functools.partial(ntuple_case, dataclasses.replace(PUCT, read_out="expectimax"), 20.0),
    "ties": functools.partial(ntuple_case, dataclasses.replace(GUMBEL, model="simulator"), 0.0),
    "afterstates": functools.partial(deep_case, "td_afterstate", dataclasses.replace(GUMBEL, model="simulator")),
}
ONE_PLY = {method: functools.partial(deep_case, method) for method in ("td_afterstate", "q_learning", "scalar")}
CASES = SEARCHES | ONE_PLY


@functools.cache
def case_of(name: str) -> Case:
    return CASES[name]()


def some_boards(count: int = 7) -> np.ndarray:
    """Return `count` boards on which a move is legal, then one on which the game is over."""
    rng, boards = np.random.default_rng(2), []
    while len(boards) < count:
        board = positions.random_board(rng, 2, 3, largest=6)
        boards += [] if rules.is_over(board) else [board]
    return np.array([*boards, OVER], np.uint8)


def seeds_of(boards: np.ndarray) -> np.ndarray:
    return np.arange(len(boards), dtype=np.uint32)


def search_directly(case: Case, boards: np.ndarray, seeds: np.ndarray) -> Plan:
    setting = case.setting
    assert isinstance(setting, SearchSetting)

    @jax.jit
    def search(params: Params) -> Plan:
        words = GAME.from_cells(jnp.asarray(boards))
        dynamics = setting.dynamics(params)
        root = make_root(dynamics, GAME, words, jnp.asarray(seeds), None, setting.search)
        return plan(dynamics, root, setting.search, setting.discount)[0]

    return jax.device_get(search(case.params))


@pytest.mark.parametrize("name", [
    *(pytest.param(name, marks=pytest.mark.slow) for name in ("gumbel", "puct", "n-tuples", "q_learning")),
    "td_afterstate",
])  # fmt: skip
def test_games_by_analysis_are_those_of_play(name: str) -> None:
    """Play games by analysis; the random numbers depend on seed, game and number of the move, as in `play`."""
    player, count = case_of(name).player, 8

    def draw(number: jax.Array, move: jax.Array) -> jax.Array:
        return jax.random.bits(jax.random.fold_in(jax.random.fold_in(jax.random.key(7), number), move), (2,))

    draws = jax.jit(jax.vmap(draw, (0, None), out_axes=1))
    board = GAME.init_from_bits(draws(jnp.arange(count), 0)[0])
    score, moves = np.zeros(count, np.int64), np.zeros(count, np.int64)
    for move in range(1, 500):
        spawn_bits, seeds = draws(jnp.arange(count), move)
        found = player.analyse(np.asarray(GAME.to_cells(board)), np.asarray(seeds))
        live = found.action >= 0
        np.testing.assert_array_equal(live, ~np.asarray(GAME.is_over(board)))
        if not live.any():
            break
        after, _ = GAME.afterstate(board, jnp.maximum(jnp.asarray(found.action), 0))
        spawned, _ = GAME.spawn_from_bits(spawn_bits, after)
        board = tuple(jnp.where(live, new, old) for new, old in zip(spawned, board, strict=True))
        score += np.where(live, found.reward[np.arange(count), found.action], 0)
        moves += live
    played = player.play(count, seed=7)
    np.testing.assert_array_equal(score, played.score)
    np.testing.assert_array_equal(moves, played.moves)
    assert played.moves.min() > 1


@pytest.mark.parametrize("name", [
    "gumbel", "puct",
    *(pytest.param(name, marks=pytest.mark.slow) for name in ("n-tuples", "afterstates", "one step", "mctx", "ties")),
])  # fmt: skip
def test_analysis_is_what_the_search_says(name: str) -> None:
    case, boards = case_of(name), some_boards()[1:]  # seven boards, padded to eight
    found, expected = case.player.analyse(boards, seeds_of(boards)), search_directly(case, boards, seeds_of(boards))
    for i, board in enumerate(boards):
        legal = np.array(rules.legal_actions(positions.as_board(board)))
        points = [rules.afterstate(positions.as_board(board), a)[1] if legal[a] else -1 for a in range(4)]
        assert found.reward[i].tolist() == points
        assert found.action[i] == (expected.action[i] if legal.any() else -1)
        np.testing.assert_array_equal(found.effort[i], expected.visits[i] * legal)
        known = found.effort[i] > 0
        np.testing.assert_allclose(found.value[i][known], expected.q_values[i][known], rtol=1e-5, atol=1e-4)
        assert np.isnan(found.value[i][legal & ~known]).all()
        assert (found.value[i][~legal] == -np.inf).all()
        assert known.sum() > 0 or not legal.any()
    assert found.action[-1] == -1


def test_outcomes_and_line_of_a_tree() -> None:
    """In the simulator: the probabilities of the rules; a line that begins with the move, of legal spawns and moves."""
    boards, lengths = some_boards(), []
    found = case_of("n-tuples").player.analyse(boards, seeds_of(boards))
    assert found.outcomes is not None
    assert found.variation is not None
    assert found.policy is not None
    assert found.names_spawns
    np.testing.assert_allclose(found.policy.sum(axis=1), [1] * 7 + [0], atol=1e-5)
    assert (found.variation[-1] == -1).all()
    assert (found.outcomes[-1, :, :2] == 0).all()
    for cells, action, outcomes, line, effort in zip(
        boards[:-1], found.action, found.outcomes, found.variation, found.effort, strict=False
    ):
        board = positions.as_board(cells)
        after, _ = rules.afterstate(board, int(action))
        expected = rules.chance_probabilities(after)
        np.testing.assert_allclose(outcomes[:, 0], [float(expected.get(code, 0)) for code in range(12)], atol=1e-6)
        assert outcomes[:, 1].sum() == effort[action] - 1  # the first visit ends at the afterstate
        np.testing.assert_array_equal(np.isnan(outcomes[:, 2]), outcomes[:, 1] == 0)
        steps = line[line[:, 0] >= 0].tolist()
        assert steps[0] == [action, outcomes[:, 1].argmax() if outcomes[:, 1].any() else -1]
        for move, code in steps:
            assert rules.legal_actions(board)[move]
            if code >= 0:
                board = rules.spawn(rules.afterstate(board, move)[0], code)
        lengths.append(len(steps))
    assert max(lengths) > 1


def test_codes_of_a_learned_model_name_no_spawns() -> None:
    found = case_of("gumbel").player.analyse(some_boards(), seeds_of(some_boards()))
    assert not found.names_spawns
    assert found.outcomes is not None
    np.testing.assert_allclose(found.outcomes[:-1, :, 0].sum(axis=1), 1, rtol=1e-5)  # over all codes


def test_a_move_that_was_not_visited_has_no_value() -> None:
    board = np.array([[[1, 0, 0], [0, 2, 0]]], np.uint8)
    found = case_of("one step").player.analyse(board, np.zeros(1, np.uint32))
    assert sorted(found.effort[0].tolist()) == [0, 0, 1, 1]
    np.testing.assert_array_equal(np.isnan(found.value), found.effort == 0)


@pytest.mark.parametrize("name", ONE_PLY)
def test_values_of_the_four_moves_are_those_of_the_network(name: str) -> None:
    config = one_ply_config(name)
    values, boards = values_of(random_network(config)), some_boards()
    found = case_of(name).player.analyse(boards, seeds_of(boards))
    for i, cells in enumerate(boards):
        board = positions.as_board(cells)
        moves, legal = [rules.afterstate(board, a) for a in range(4)], np.array(rules.legal_actions(board))
        rewards = np.array([reward for _, reward in moves])
        if config.method == "td_afterstate":
            q = rewards + config.discount * values([after for after, _ in moves])[:, 0]
        else:
            q = values([board])[0]
        np.testing.assert_allclose(found.value[i], np.where(legal, q, -np.inf), rtol=1e-5, atol=1e-4)
        assert found.effort[i].tolist() == legal.astype(int).tolist()
        assert found.reward[i].tolist() == np.where(legal, rewards, -1).tolist()
        assert found.action[i] == (np.argmax(np.where(legal, q, -np.inf)) if legal.any() else -1)


def assert_same(one: Analysis, other: Analysis) -> None:
    for name in ("action", "reward", "effort"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_allclose(one.value, other.value, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("name", ["puct", "td_afterstate"])
def test_a_board_alone_gets_the_same_analysis(name: str) -> None:
    player, boards = case_of(name).player, some_boards(4)
    together = player.analyse(boards, seeds_of(boards))
    for i in range(len(boards)):
        alone = player.analyse(boards[i : i + 1], np.array([i], np.uint32))
        assert_same(alone, Analysis(*(field[i : i + 1] for field in together[:4])))
    for field, dtype in zip(together[:4], (np.int8, np.int64, np.float64, np.int64), strict=True):
        assert field.dtype == dtype
    none = player.analyse(boards[:0], seeds_of(boards[:0]))[:4]
    assert [field.shape for field in none] == [(0,), (0, 4), (0, 4), (0, 4)]


def test_a_search_that_draws_goes_by_the_seeds() -> None:
    player, boards = case_of("puct").player, np.repeat(some_boards(), 16, axis=0)
    many, one = (player.analyse(boards, seeds) for seeds in (seeds_of(boards), np.full(len(boards), 5)))
    found = [len(np.unique(np.nan_to_num(analysis.value), axis=0)) for analysis in (one, many)]
    assert found[0] == 8  # one result for each board
    assert found[1] > 16


def test_batches_of_a_size_share_a_program() -> None:
    traced = []

    def judge(params: Params) -> Judge:
        def judge(board: Board, seeds: jax.Array) -> JudgedBoards:
            traced.append(len(seeds))
            ones = jnp.ones((len(seeds), 4), jnp.int32)
            return JudgedBoards(seeds.astype(jnp.int32) % 4, params * ones, ones)

        return judge

    analyse = make_analyse(GAME, judge, 8)
    for size in (5, 6, 7, 8, 1, 3, 4, 2, 1, 6):
        boards = some_boards()[:size]
        assert len(analyse(jnp.float32(size), boards, seeds_of(boards)).action) == size
    assert sorted(traced) == [1, 2, 4, 8]
    boards = np.concatenate([some_boards()] * 9)[:19]  # more than 8 boards: blocks of 8, 8 and 3
    in_blocks = analyse(jnp.float32(1), boards, seeds_of(boards))
    assert sorted(traced) == [1, 2, 4, 8]
    assert_same(in_blocks, make_analyse(GAME, judge, 32)(jnp.float32(1), boards, seeds_of(boards)))


def test_no_boards_of_a_game_with_hints_need_no_draws() -> None:
    game = make_board_game("threes", 4, 4)

    def judge(_: Params) -> Judge:
        return lambda board, seeds: JudgedBoards(seeds.astype(jnp.int32), jnp.zeros((1, 4)), jnp.ones((1, 4), int))

    none = make_analyse(game, judge, 8)(None, np.zeros((0, 4, 4), np.uint8), np.zeros(0, np.uint32))
    assert [field.shape for field in none[:4]] == [(0,), (0, 4), (0, 4), (0, 4)]


def test_the_largest_tiles() -> None:
    game, rng = Game2048(4, 4), np.random.default_rng(3)
    boards = np.array([positions.random_board(rng, 4, 4, largest=17) for _ in range(8)], np.uint8)
    boards[0, 0] = [17, 17, 16, 16]
    found = network_case(configured(ONE_STEP, simulations=4, considered_actions=4), game).player.analyse(
        boards, seeds_of(boards)
    )
    for board, reward, value in zip(boards, found.reward, found.value, strict=True):
        plain = positions.as_board(board)
        legal = np.array(rules.legal_actions(plain))
        points = np.array([rules.afterstate(plain, a)[1] for a in range(4)])
        assert reward.tolist() == np.where(legal, points, -1).tolist()
        assert np.isfinite(value).tolist() == legal.tolist()
    assert found.reward[0, 3] >= 2**18 + 2**17


@pytest.mark.parametrize(("boards", "seeds", "message"), [
    (np.full((2, 2, 3), 18, np.uint8), np.zeros(2, np.uint32), r"cells of 18\.\.18: give levels of tiles, 0\.\.17"),
    (np.full((2, 2, 3), -1), np.zeros(2, np.uint32), r"cells of -1\.\.-1"),
    (np.zeros((2, 2, 3)), np.zeros(2, np.uint32), "boards are of type float64: give integers"),
    (np.zeros((2, 3, 2), np.uint8), np.zeros(2, np.uint32), r"shape \(2, 3, 2\): give \[boards, 2, 3\]"),
    (np.zeros((2, 3), np.uint8), np.zeros(2, np.uint32), r"shape \(2, 3\)"),
    (np.zeros((2, 2, 3), np.uint8), np.zeros(3, np.uint32), r"seeds are of shape \(3,\): give one for each of 2"),
    (np.zeros((1, 2, 3), np.uint8), np.array([2**32]), "give numbers of 32 bits"),
])  # fmt: skip
@pytest.mark.parametrize("name", ["gumbel", "td_afterstate"])
def test_what_is_no_board_is_refused(name: str, boards: np.ndarray, seeds: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        case_of(name).player.analyse(boards, seeds)
    assert "\n" not in str(caught.value)


def test_outcomes_and_lines_get_the_codes_of_records() -> None:
    outcomes = np.array([[[0.1, 2, 5.0], [0.9, 0, np.nan]]])
    analysis = Analysis(*[np.zeros(1)] * 4, np.array([[[2, 1], [0, -1]]], np.int16), outcomes=outcomes)
    found = with_event_codes(analysis, np.array([3, 1], np.int16))
    assert found.variation.tolist() == [[[2, 1], [0, -1]]]
    np.testing.assert_array_equal(found.outcomes[0], [[0, 0, np.nan], [0.9, 0, np.nan], [0, 0, np.nan], [0.1, 2, 5]])
    assert with_event_codes(analysis, np.array([3, 7], np.int16)).variation.tolist() == [[[2, 7], [0, -1]]]
