"""A model given as tables, and small random ones of each kind, for the tests of search and losses."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from reference.search import Tables

from muzero2048.config import ChanceConfig, MuZeroConfig, NetworkConfig, ReplayConfig
from muzero2048.learner import make_learner
from muzero2048.model import AfterstatePrediction, Model, Prediction, make_model
from muzero2048.value_codec import ValueCodec

KINDS = ("residual_mlp", "se_resnet", "grounded")


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
        "network": NetworkConfig(
            kind=kind, blocks=1, width=16, tile_levels=10, cell_width=4, line_width=8, tuple_width=2
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


def random_tables(seed: int, states: int = 30, codes: int = 5, scale: float = 10.0) -> Tables:
    """Rewards and values of the size `scale`."""
    rng = np.random.default_rng(seed)
    afterstates = 2 * states
    return Tables(
        policy_logits=rng.normal(size=(states, 4)).astype(np.float32),
        value=(scale * rng.normal(size=states)).astype(np.float32),
        afterstate=rng.integers(0, afterstates, (states, 4)).astype(np.int32),
        reward=(scale * rng.random((states, 4))).astype(np.float32),
        afterstate_value=(scale * rng.normal(size=afterstates)).astype(np.float32),
        chance_logits=rng.normal(size=(afterstates, codes)).astype(np.float32),
        next_state=rng.integers(0, states, (afterstates, codes)).astype(np.int32),
    )
