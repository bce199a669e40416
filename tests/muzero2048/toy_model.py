"""A model given as tables, small random ones of each kind, and positions, for the tests of search and losses."""

import functools
import operator
from typing import NamedTuple

import jax
import jax.numpy as jnp
import mctx
import numpy as np
from flax import nnx
from reference import positions, rules
from reference.search import Position, Settings, Tables

from muzero2048.game.env import Board, Game2048
from muzero2048.models.base import AfterstatePrediction, Model, Prediction
from muzero2048.models.make import make_model
from muzero2048.muzero.config import ChanceConfig, MuZeroConfig
from muzero2048.muzero.train_step import make_learner
from muzero2048.networks.config import NetworkConfig
from muzero2048.networks.value_codec import ValueCodec
from muzero2048.search.base import ILLEGAL, Dynamics, Root
from muzero2048.search.config import SearchConfig
from muzero2048.search.dynamics import LearnedDynamics, NetworkEvaluator, SimulatorDynamics
from muzero2048.training.config import ReplayConfig
from tests.settings import configured

NETWORKS = {
    "residual_mlp": NetworkConfig(model="latent", trunk="residual_mlp"),
    "se_resnet": NetworkConfig(model="latent", trunk="se_resnet"),
    "tuples": configured(NetworkConfig, model="latent", trunk="tuples", norm="rms", tuples="lines rects"),
    "grounded": NetworkConfig(model="grounded", trunk="tuples"),
    "grounded_se_resnet": NetworkConfig(model="grounded", trunk="se_resnet", norm="rms"),
}
KINDS = tuple(NETWORKS)
GAME = Game2048(2, 3)


def small_config(kind: str = "residual_mlp", rows: int = 2, columns: int = 3, **changes: object) -> MuZeroConfig:
    """A config whose model and training steps are as small as they get."""
    settings = {
        "env_steps": 640,
        "report_env_steps": 200,
        "rows": rows,
        "columns": columns,
        "num_envs": 16,
        "chunk": 8,
        "unroll_steps": 2,
        "network": configured(
            NETWORKS[kind], blocks=1, width=16, tile_levels=10, cell_width=4, line_width=8, tuple_width=2
        ),
        "value": ValueCodec(16, 30.0),
        "chance": ChanceConfig("learned", 12),
        "replay": ReplayConfig(capacity=16 * 32, batch_size=64),
    }
    return MuZeroConfig(**{**settings, **changes})


# One compilation for all tests of one config.
shared_learner = functools.cache(make_learner)


def random_model(config: MuZeroConfig, seed: int) -> Model:
    """The model of the config with random parameters, heads and tables that begin at zero too."""
    rng = np.random.default_rng(seed)
    graphdef, shapes = nnx.split(nnx.eval_shape(lambda: make_model(config, seed=0)))
    return nnx.merge(graphdef, jax.tree.map(lambda x: jnp.asarray(0.5 * rng.normal(size=x.shape), x.dtype), shapes))


class PlainCodec:
    """Values as they are."""

    def decode(self, logits: jax.Array) -> jax.Array:
        return logits[..., 0]


class ToyModel(Model):
    """The functions as rows of `Tables`; a latent is the number of its row."""

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
    """Rewards and values of the size `scale`.

    Where the model knows the rules, some actions are illegal, some states over, some codes impossible, at every fifth
    afterstate all but one; and values are positive, so that an end, worth 0, is the worst there is.
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
    """Every state of the tables as a root with noise; one is over, one has a single move, whatever the model knows."""
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
    """A root of the tables, for the plain search."""
    gumbel = np.asarray(root.gumbel[row], float)
    return Position(int(root.state[row]), np.asarray(root.legal[row]).tolist(), gumbel, int(root.seeds[row]))


def plain_settings(config: SearchConfig, discount: float) -> Settings:
    """The settings of the plain search."""
    former = {former: operator.attrgetter(present)(config) for former, present in SearchConfig.former_keys.items()}
    return Settings(discount, *(former.get(name, getattr(config, name, None)) for name in Settings._fields[1:]))


def toy_dynamics(model: ToyModel) -> LearnedDynamics:
    """The tables as a learned model."""
    return LearnedDynamics(model, GAME)


def network_dynamics(model: Model, simulator: bool) -> Dynamics:
    """A network's own dynamics, or the simulator with the network's values."""
    return SimulatorDynamics(GAME, NetworkEvaluator(model, GAME)) if simulator else LearnedDynamics(model, GAME)


def plain_value(board: rules.Board) -> float:
    """Any function of a board."""
    return float(sum((i + 1) * cell for i, cell in enumerate(rules.cells(board))))


def fast_value(board: Board) -> jax.Array:
    """The same of packed ones."""
    return jnp.einsum("...n,n->...", GAME.flat_cells(board).astype(jnp.float32), jnp.arange(1.0, 7.0))


class PlainEvaluator:
    """Any values and policies of boards; it does not mind what is illegal or over."""

    def states(self, board: Board, legal: jax.Array) -> tuple[jax.Array, jax.Array]:
        value = fast_value(board)
        return value, jnp.stack([value, 80.0 - value, 2 * value - 40.0, 0 * value], axis=-1) / 20.0

    def afterstates(self, board: Board, action: jax.Array, afterstate: Board) -> jax.Array:
        return 3 * fast_value(afterstate) - fast_value(board) + action


class Boards(NamedTuple):
    """2x3 boards by the rules, and packed."""

    plain: list[rules.Board]
    words: Board
    legal: np.ndarray  # bool[B, A]


def boards_with(*legal_moves: range, count: int, seed: int = 3) -> Boards:
    """`count` boards for each range of the number of legal moves, from nearly empty to full."""
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
    """The boards as the game holds them."""
    words = GAME.from_cells(jnp.asarray(np.array(plain, np.uint8)))
    return Boards(plain, words, np.array([rules.legal_actions(board) for board in plain]))


class Nodes(NamedTuple):
    """Statistics of decision nodes."""

    policy_logits: jax.Array  # [B, A]
    q_values: jax.Array  # [B, A]
    value: jax.Array  # [B]
    visits: jax.Array  # int [B, A]


def random_nodes(rng: np.random.Generator, least_visits: int, batch: int = 256) -> Nodes:
    """Nodes of any statistics, at least so many visits an action."""
    return Nodes(
        jnp.asarray(rng.normal(size=(batch, 4)), jnp.float32),
        jnp.asarray(rng.normal(100.0, 50.0, (batch, 4)), jnp.float32),
        jnp.asarray(rng.normal(100.0, 50.0, batch), jnp.float32),
        jnp.asarray(least_visits + rng.integers(0, 4, (batch, 4)), jnp.int32),
    )


def nodes_of_mctx(nodes: Nodes) -> mctx.Tree:
    """The same as trees of one node, for the functions of mctx under vmap."""

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
