"""Models and positions for tests of search and losses: models given as tables, small random models of each kind."""

import dataclasses
import functools
import operator
from typing import NamedTuple

import jax
import jax.numpy as jnp
import mctx
import numpy as np
from flax import nnx
from reference import positions, rules, search
from reference.search import Position, Settings, Tables

from muzero2048.game.env import Board, Game2048
from muzero2048.models.base import AfterstatePrediction, Model, Prediction
from muzero2048.models.make import make_model
from muzero2048.muzero.batches import Sequence
from muzero2048.muzero.config import ChanceConfig, MuZeroConfig
from muzero2048.muzero.train_step import MuZeroPrograms, make_learner
from muzero2048.networks.config import NetworkConfig
from muzero2048.networks.value_codec import ValueCodec
from muzero2048.search.base import ILLEGAL, Dynamics, Plan, Root
from muzero2048.search.config import SearchConfig
from muzero2048.search.dynamics import LearnedDynamics, NetworkEvaluator, SimulatorDynamics
from muzero2048.training.config import ReplayConfig
from muzero2048.training.replay import ReplayState
from ntuple.core.settings import keys_of
from tests.settings import configured

NETWORKS = {
    "residual_mlp": NetworkConfig(model="latent", trunk="residual_mlp"),
    "se_resnet": NetworkConfig(model="latent", trunk="se_resnet"),
    "tuples": configured(
        NetworkConfig, model="latent", trunk="tuples", norm="rms", tuple_trunk={"shapes": ("lines", "rects")}
    ),
    "grounded": NetworkConfig(model="grounded", trunk="tuples"),
    "grounded_se_resnet": NetworkConfig(model="grounded", trunk="se_resnet", norm="rms"),
    "cells": configured(NetworkConfig, model="cells", cells={"cell_width": 4, "line_width": 8, "tuple_width": 2}),
}
KINDS = tuple(NETWORKS)
GAME = Game2048(2, 3)


def small_config(kind: str = "residual_mlp", rows: int = 2, columns: int = 3, **changes: object) -> MuZeroConfig:
    """Return a config with a model and training steps as small as possible."""
    settings = {
        "env_steps": 640,
        "report_env_steps": 200,
        "rows": rows,
        "columns": columns,
        "num_envs": 16,
        "chunk": 8,
        "unroll_steps": 2,
        "network": configured(
            NETWORKS[kind],
            blocks=1,
            width=16,
            tile_levels=10,
            tuple_trunk={"width": 2},
            grounded={"cell_width": 4, "line_width": 8},
        ),
        "value": ValueCodec(16, 30.0),
        "chance": ChanceConfig("learned", 12),
        "replay": ReplayConfig(capacity=16 * 32, batch_size=64),
    }
    return MuZeroConfig(**{**settings, **changes})


compiled = functools.cache(make_learner)


def shared_learner(config: MuZeroConfig) -> MuZeroPrograms:
    """Return the programs of a config, compiled once for all tests: they do not read the length of a report."""
    return compiled(dataclasses.replace(config, report_env_steps=200))


def random_model(config: MuZeroConfig, seed: int) -> Model:
    """Return the model of the config with random parameters, also in heads and tables that are initially 0."""
    rng = np.random.default_rng(seed)
    graphdef, shapes = nnx.split(nnx.eval_shape(lambda: make_model(config, seed=0)))
    return nnx.merge(graphdef, jax.tree.map(lambda x: jnp.asarray(0.5 * rng.normal(size=x.shape), x.dtype), shapes))


class PlainCodec:
    """A codec whose logits are the values."""

    def decode(self, logits: jax.Array) -> jax.Array:
        return logits[..., 0]


class ToyModel(Model):
    """A model whose functions are look-ups in `Tables`; a latent is a row number."""

    def __init__(self, tables: Tables):
        self.tables = nnx.data(jax.tree.map(jnp.asarray, tables))
        self.codes = tables.chance_logits.shape[1]
        self.codec = PlainCodec()

    def representation(self, cells: jax.Array) -> jax.Array:
        return cells[:, 0].astype(jnp.int32)

    def prediction(self, state: jax.Array) -> Prediction:
        return Prediction(self.tables.policy_logits[state], self.tables.value[state][:, None])

    def afterstate_dynamics(self, state: jax.Array, action: jax.Array) -> tuple[jax.Array, jax.Array]:
        return self.tables.afterstate[state, action], self.tables.reward[state, action]

    def afterstate_prediction(self, afterstate: jax.Array) -> AfterstatePrediction:
        return AfterstatePrediction(
            self.tables.chance_logits[afterstate], self.tables.afterstate_value[afterstate][:, None]
        )

    def dynamics(self, afterstate: jax.Array, code: jax.Array) -> jax.Array:
        return self.tables.next_state[afterstate, jnp.argmax(code, axis=-1)]

    def reward(self, reward_head: jax.Array) -> jax.Array:
        return reward_head


def random_tables(
    seed: int, states: int = 30, codes: int = 5, scale: float = 10.0, knows_the_rules: bool = False
) -> Tables:
    """Return random tables with rewards and values of the order of `scale`.

    With `knows_the_rules`, some actions are illegal, some states are over, and some codes are impossible; every
    fifth afterstate has only one possible code. All values of the other states are positive, so a state that is over,
    with value 0, is the worst.
    """
    rng = np.random.default_rng(seed)
    afterstates = 2 * states
    tables = Tables(
        policy_logits=rng.normal(size=(states, 4)).astype(np.float32),
        value=(scale * rng.normal(size=states)).astype(np.float32),
        afterstate=rng.integers(0, afterstates, (states, 4)).astype(np.int32),
        reward=(scale * rng.random((states, 4))).astype(np.float32),
        afterstate_value=(scale * rng.normal(size=afterstates)).astype(np.float32),
        chance_logits=rng.normal(size=(afterstates, codes)).astype(np.float32),
        next_state=rng.integers(0, states, (afterstates, codes)).astype(np.int32),
    )
    if knows_the_rules:
        illegal = rng.random((states, 4)) < 0.4
        illegal[::6] = True
        tables.policy_logits[illegal] = ILLEGAL
        tables.value[:] = np.where(illegal.all(axis=1), 0.0, np.abs(tables.value) + 2 * scale)
        tables.afterstate_value[:] = np.abs(tables.afterstate_value) + 2 * scale
        impossible = rng.random((afterstates, codes)) < 0.3
        impossible[::5] = True
        impossible[np.arange(afterstates), rng.integers(0, codes, afterstates)] = False
        tables.chance_logits[impossible] = -np.inf
    return tables


def roots_of(tables: Tables, seed: int = 0) -> Root:
    """Return every state of the tables as a root with noise; state 1 is always over, state 2 has one legal move."""
    rng, states = np.random.default_rng(seed), len(tables.value)
    legal = (rng.random((states, 4)) < 0.7) & (tables.policy_logits > ILLEGAL)
    legal[1], legal[2] = False, np.arange(4) == tables.policy_logits[2].argmax()
    return Root(
        state=jnp.arange(states),
        policy_logits=jnp.where(legal, tables.policy_logits, ILLEGAL),
        value=jnp.asarray(tables.value),
        legal=jnp.asarray(legal),
        gumbel=jnp.asarray(rng.gumbel(size=(states, 4)), jnp.float32),
        seeds=jnp.asarray(rng.integers(0, 2**32, states), jnp.uint32),
    )


def plain_position(root: Root, row: int) -> Position:
    """Return a root of the tables in the form of the plain search."""
    gumbel = np.asarray(root.gumbel[row], float)
    return Position(int(root.state[row]), np.asarray(root.legal[row]).tolist(), gumbel, int(root.seeds[row]))


def plain_settings(config: SearchConfig, discount: float) -> Settings:
    """Return the settings of the plain search that correspond to the config."""
    names = {key.name.rpartition(".")[2]: key.name for key in keys_of(SearchConfig)}
    return Settings(discount, *(operator.attrgetter(names[name])(config) for name in Settings._fields[1:]))


def plain_plans(tables: Tables, root: Root, config: SearchConfig, discount: float) -> Plan:
    """Search from every root by the plain search."""
    root, settings = jax.device_get(root), plain_settings(config, discount)
    results = [search.search(tables, plain_position(root, row), settings) for row in range(len(root.value))]
    return Plan(*(np.array(column) for column in zip(*results, strict=True)))


def assert_same_plan(one: Plan, other: Plan, size: float) -> None:
    """Compare plans; where values of about `size` cancel, the error of their rounding remains."""
    np.testing.assert_array_equal(one.visits, other.visits)
    np.testing.assert_array_equal(one.action, other.action)
    np.testing.assert_allclose(one.q_values, other.q_values, rtol=1e-5, atol=1e-6 * size)
    np.testing.assert_allclose(one.value, other.value, rtol=1e-5, atol=1e-6 * size)
    np.testing.assert_allclose(one.policy_target, other.policy_target, rtol=1e-4, atol=1e-5)


def toy_dynamics(model: ToyModel) -> LearnedDynamics:
    """Return the dynamics of the tables, used as a learned model."""
    return LearnedDynamics(model, GAME)


def network_dynamics(model: Model, simulator: bool) -> Dynamics:
    """Return the network's own dynamics, or the simulator with the network's values."""
    return SimulatorDynamics(GAME, NetworkEvaluator(model, GAME)) if simulator else LearnedDynamics(model, GAME)


def plain_value(board: rules.Board) -> float:
    """Compute an arbitrary function of a board: sum_i (i + 1) cell_i."""
    return float(sum((i + 1) * cell for i, cell in enumerate(rules.cells(board))))


def fast_value(board: Board) -> jax.Array:
    """Compute `plain_value` of packed boards."""
    return jnp.einsum("...n,n->...", GAME.flat_cells(board).astype(jnp.float32), jnp.arange(1.0, 7.0))


class PlainEvaluator:
    """An evaluator with arbitrary values and policies; it does not mask illegal moves or ended games."""

    def states(self, board: Board, legal: jax.Array) -> tuple[jax.Array, jax.Array]:
        value = fast_value(board)
        return value, jnp.stack([value, 80.0 - value, 2 * value - 40.0, 0 * value], axis=-1) / 20.0

    def afterstates(self, board: Board, action: jax.Array, afterstate: Board) -> jax.Array:
        return 3 * fast_value(afterstate) - fast_value(board) + action


class Boards(NamedTuple):
    """2x3 boards, in plain Python and packed."""

    plain: list[rules.Board]
    words: Board
    legal: np.ndarray  # bool[B, A]


def boards_with(*legal_moves: range, count: int, seed: int = 3) -> Boards:
    """Return `count` boards for each range of the number of legal moves, from nearly empty to full."""
    rng = np.random.default_rng(seed)
    plain: list[rules.Board] = []
    for allowed in legal_moves:
        wanted = len(plain) + count
        while len(plain) < wanted:
            board = positions.random_board(rng, GAME.rows, GAME.columns, largest=6)
            if any(rules.cells(board)) and sum(rules.legal_actions(board)) in allowed:
                plain.append(board)
    return packed(plain)


def packed(plain: list[rules.Board]) -> Boards:
    """Return the boards with their packed form and their legal moves."""
    words = GAME.from_cells(jnp.asarray(np.array(plain, np.uint8)))
    return Boards(plain, words, np.array([rules.legal_actions(board) for board in plain]))


def sequences(
    rng: np.random.Generator, shape: tuple[int, int], moves: int, count: int
) -> tuple[Sequence, list[list[positions.Step]]]:
    """Return sequences of `moves` consecutive moves, in which one game follows the other, and their steps."""
    steps: list[positions.Step] = []
    while len(steps) < moves + count:
        steps += positions.random_game(rng, *shape)
    starts = rng.choice(len(steps) - moves, count, replace=False)
    rows = [steps[start : start + moves] for start in starts]

    def field(name: str, dtype: type) -> jax.Array:
        return jnp.asarray(np.array([[getattr(step, name) for step in row] for row in rows], dtype))

    policy = rng.dirichlet(np.ones(4), (count, moves)).astype(np.float32)
    return Sequence(
        cells=field("board", np.uint8).reshape(count, moves, -1),
        action=field("action", np.int8),
        reward=field("reward", np.float32),
        done=field("done", bool),
        spawn_code=field("spawn_code", np.int8),
        policy=jnp.asarray(policy),
        value=jnp.asarray(rng.uniform(1.0, 100.0, (count, moves)).astype(np.float32)),
    ), rows


def buffer_of(rng: np.random.Generator, shape: tuple[int, int]) -> ReplayState:
    """Return a full buffer of random games: 8 moves of each of 16 environments."""
    return ReplayState(sequences(rng, shape, moves=8, count=16)[0], None, jnp.asarray(0), jnp.asarray(8))


class Nodes(NamedTuple):
    """Statistics of decision nodes."""

    policy_logits: jax.Array  # [B, A]
    q_values: jax.Array  # [B, A]
    value: jax.Array  # [B]
    visits: jax.Array  # int [B, A]


def random_nodes(rng: np.random.Generator, least_visits: int, batch: int = 256) -> Nodes:
    """Return nodes with random statistics and at least `least_visits` visits of each action."""
    return Nodes(
        jnp.asarray(rng.normal(size=(batch, 4)), jnp.float32),
        jnp.asarray(rng.normal(100.0, 50.0, (batch, 4)), jnp.float32),
        jnp.asarray(rng.normal(100.0, 50.0, batch), jnp.float32),
        jnp.asarray(least_visits + rng.integers(0, 4, (batch, 4)), jnp.int32),
    )


def nodes_of_mctx(nodes: Nodes) -> mctx.Tree:
    """Return the nodes as mctx trees of one node each, for functions of mctx under vmap."""

    def tree(logits: jax.Array, q: jax.Array, value: jax.Array, visits: jax.Array) -> mctx.Tree:
        zeros = jnp.zeros((1, 4))
        return mctx.Tree(
            node_visits=1 + visits.sum()[None], raw_values=value[None], node_values=value[None],
            parents=jnp.zeros(1, int), action_from_parent=jnp.zeros(1, int), children_index=jnp.zeros((1, 4), int),
            children_prior_logits=logits[None], children_visits=visits[None], children_rewards=q[None],
            children_discounts=zeros, children_values=zeros, embeddings=jnp.zeros(1),
            root_invalid_actions=jnp.zeros(4), extra_data=None,
        )  # fmt: skip

    return jax.vmap(tree)(*nodes)
