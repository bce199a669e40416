"""Tests of expectimax in JAX against plain Python: on tables, and with the same networks on small boards."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx
from reference import positions, rules
from reference.expectimax import World, search_plies
from reference.search import Tables, softmax

from muzero2048.deep_td.value_player import AfterstateSearch, OnePlySetting
from muzero2048.game.env import Game2048
from muzero2048.models.base import Model
from muzero2048.muzero.network_player import NetworkSetting
from muzero2048.players.expectimax_player import ExpectimaxSetting, make_expectimax_player
from muzero2048.players.search_player import SearchPlayer
from muzero2048.search import expectimax
from muzero2048.search.base import ILLEGAL, Decision
from muzero2048.search.config import NetworkExpectimaxConfig, SearchConfig
from muzero2048.search.dynamics import LearnedDynamics, NetworkEvaluator
from tests.muzero2048.deep_td.toy_network import random_network
from tests.muzero2048.deep_td.toy_network import small_config as deep_config
from tests.muzero2048.toy_model import ToyModel, random_model, random_tables, small_config, toy_dynamics

DISCOUNT = 0.9
PRIOR = 0.4  # in some states no move has it


def possible_moves(found: Decision) -> jax.Array:
    """Return the moves of tables that know the rules; none where the game is over."""
    return found.policy_logits > ILLEGAL / 2


RULES = {
    "all": (expectimax.all_moves, lambda logits: range(4)),
    "likely": (
        functools.partial(expectimax.likely_moves, PRIOR),
        lambda logits: [a for a in range(4) if softmax(logits)[a] >= min(PRIOR, softmax(logits).max())],
    ),
    "possible": (possible_moves, lambda logits: [a for a in range(4) if logits[a] > ILLEGAL / 2]),
}


def world_of(tables: Tables, moves: Any) -> World:
    """Return tables as a world of the plain search, in float64."""

    def move(row: int, action: int) -> tuple[int, float, float, dict[int, float]]:
        after = int(tables.afterstate[row, action])
        chances = enumerate(softmax(tables.chance_logits[after]).tolist())
        reward, value = float(tables.reward[row, action]), float(tables.afterstate_value[after])
        return after, reward, value, {code: p for code, p in chances if p > 0}

    return World(
        move, lambda after, code: int(tables.next_state[after, code]), lambda row: moves(tables.policy_logits[row])
    )


@pytest.mark.parametrize("plies", [1, 3])
@pytest.mark.parametrize("rule", RULES)
def test_tables_equal_the_plain_search(rule: str, plies: int) -> None:
    """With the rules of the game, a third of the codes is impossible, and a sixth of the states is over."""
    tables = random_tables(4, states=12, knows_the_rules=rule == "possible")
    considered, plain_moves = RULES[rule]

    @jax.jit
    def q_values(model: ToyModel) -> jax.Array:
        dynamics = toy_dynamics(model)
        return expectimax.search_plies(dynamics, considered, jnp.arange(12), plies, DISCOUNT)

    plain = [search_plies(world_of(tables, plain_moves), row, plies, DISCOUNT) for row in range(12)]
    np.testing.assert_allclose(q_values(ToyModel(tables)), plain, rtol=1e-5, atol=1e-4)


def network_player(
    model: Model, game: Game2048, config: NetworkExpectimaxConfig, discount: float = DISCOUNT
) -> SearchPlayer:
    graphdef, params = nnx.split(model)
    return make_expectimax_player(NetworkSetting(game, discount, SearchConfig(), graphdef), params, config)


def some_boards(rows: int, columns: int, count: int) -> list[rules.Board]:
    """Return boards on which a move is legal, with few empty cells, so that some games end within two moves."""
    rng, boards = np.random.default_rng(5), []
    while len(boards) < count:
        board = positions.random_board(rng, rows, columns, largest=4)
        boards += [board] if not rules.is_over(board) and rules.cells(board).count(0) <= 3 else []
    return boards


def check(player: SearchPlayer, boards: list[rules.Board], q_values: list[list[float]]) -> None:
    """Compare the analysis of a player with the Q-values of the plain search."""
    seeds = np.zeros(len(boards), np.uint32)
    found = player.analyse(np.array(boards, np.uint8), seeds)
    for i, board in enumerate(boards):
        legal = np.array(rules.legal_actions(board))
        expected = np.where(legal, q_values[i], -np.inf)
        np.testing.assert_allclose(found.value[i], expected, rtol=1e-4, atol=1e-3)
        assert found.action[i] == expected.argmax()


@pytest.mark.parametrize(("rows", "columns", "plies"), [(2, 2, 3), (2, 3, 2)])
def test_a_network_in_the_simulator_equals_the_plain_search(rows: int, columns: int, plies: int) -> None:
    game, config = Game2048(rows, columns), small_config("grounded", rows=rows, columns=columns)
    model = random_model(config, seed=2)

    @jax.jit
    def values(cells: jax.Array) -> jax.Array:
        board = game.from_cells(jnp.repeat(cells[None], 4, axis=0))
        after, _ = game.afterstate(board, jnp.arange(4))
        return NetworkEvaluator(model, game).afterstates(board, jnp.arange(4), after)

    @functools.cache
    def all_values(board: rules.Board) -> np.ndarray:
        return np.asarray(values(jnp.asarray(np.array(board, np.uint8))), float)

    def move(board: rules.Board, action: int) -> tuple[rules.Board, float, float, dict[int, float]]:
        after, reward = rules.afterstate(board, action)
        if after == board:  # below the root it is not considered, at the root not compared
            return after, reward, 0.0, {}
        chances = {code: float(p) for code, p in rules.chance_probabilities(after).items()}
        return after, reward, float(all_values(board)[action]), chances

    world = World(move, rules.spawn, lambda board: [a for a, ok in enumerate(rules.legal_actions(board)) if ok])
    boards = some_boards(rows, columns, 4)
    player = network_player(model, game, NetworkExpectimaxConfig(plies=plies, model="simulator"))
    check(player, boards, [search_plies(world, board, plies, DISCOUNT) for board in boards])


@pytest.mark.parametrize("least_prior", [0.0, PRIOR])
def test_a_network_in_its_own_model_equals_the_plain_search(least_prior: float) -> None:
    game, model = Game2048(2, 2), random_model(small_config(rows=2, columns=2), seed=3)
    dynamics = LearnedDynamics(model, game)
    move_one = jax.jit(lambda state, action: dynamics.move(state, action[None]))
    spawn_one = jax.jit(lambda state, code: dynamics.spawn(state, code[None]))

    def move(found: Decision, action: int) -> tuple[Any, float, float, dict[int, float]]:
        after = move_one(found.state, jnp.asarray(action))
        chances = dict(enumerate(np.asarray(after.probabilities[0], float).tolist()))
        return after.state, float(after.reward[0]), float(after.value[0]), chances

    def moves(found: Decision) -> list[int]:
        prior = softmax(np.asarray(found.policy_logits[0]))
        return [a for a in range(4) if prior[a] >= min(least_prior, prior.max())]

    world = World(move, lambda after, code: spawn_one(after, jnp.asarray(code)), moves)
    boards = some_boards(2, 2, 3)
    roots = [dynamics.root(game.from_cells(jnp.asarray(np.array([board], np.uint8)))) for board in boards]
    player = network_player(model, game, NetworkExpectimaxConfig(plies=2, least_prior=least_prior))
    check(player, boards, [search_plies(world, root, 2, DISCOUNT) for root in roots])


def test_one_ply_is_the_greedy_player_of_deep_td() -> None:
    config = deep_config("td_afterstate")
    game = Game2048(config.rows, config.columns)
    graphdef, params = nnx.split(random_network(config))
    greedy = SearchPlayer(OnePlySetting(game, config.discount, graphdef), params)
    world = AfterstateSearch(game, config.discount, SearchConfig(), graphdef)
    searcher = make_expectimax_player(world, params, NetworkExpectimaxConfig(plies=1, model="simulator"))
    boards = np.array(some_boards(config.rows, config.columns, 5), np.uint8)
    one, other = (player.analyse(boards, np.zeros(5, np.uint32)) for player in (greedy, searcher))
    np.testing.assert_array_equal(one.action, other.action)
    np.testing.assert_allclose(one.value, other.value, rtol=1e-5, atol=1e-4)


def test_it_plays_whole_games_and_the_lanes_bound_the_memory() -> None:
    config = small_config(rows=2, columns=2)
    graphdef, _ = nnx.split(random_model(config, seed=0))
    world = NetworkSetting(Game2048(2, 2), 1.0, config.search, graphdef)
    sizes = ((1, 1, 512), (2, 1, 512), (3, 1, 512), (4, 1, 128), (2, 8, 256), (3, 8, 64), (4, 8, 16))
    for plies, views, lanes in sizes:
        search = NetworkExpectimaxConfig(plies=plies, views=views)
        assert ExpectimaxSetting(world.game, world.discount, world, search).lanes == lanes
    player = network_player(random_model(config, seed=0), Game2048(2, 2), NetworkExpectimaxConfig(model="simulator"))
    games = player.play(10, seed=1)
    assert (games.moves > 1).all()
    assert player.effort_unit == "ply"
