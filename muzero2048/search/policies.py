"""Planning a move on each board of a batch.

`plan` chooses by itself: with a Gumbel root and simulations <= considered_actions every considered action is visited
at most once, the tree has depth 1 and the search is one batch of afterstates (`plan_one_step`); else the tree is
grown. Both give the same result at positions with at least n legal moves; with fewer, the tree visits some of them
again, one level deeper, where the batch leaves its spare evaluations unused.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, UInt32

from muzero2048.game.env import NUM_ACTIONS, Board, Game2048
from muzero2048.models.base import State
from muzero2048.search.action_selection import possible
from muzero2048.search.base import ILLEGAL, Afterstate, Dynamics, Plan, Root, Statistics
from muzero2048.search.config import SearchConfig
from muzero2048.search.mctx_engine import search_with_mctx
from muzero2048.search.policy_output import read_out, root_statistics
from muzero2048.search.tree_search import grow_tree


def make_root(
    dynamics: Dynamics,
    game: Game2048,
    board: Board,
    seeds: UInt32[Array, "B"],
    key: PRNGKeyArray | None,
    config: SearchConfig,
) -> Root:
    """Evaluate the boards, mask illegal actions, and draw the noise of self-play from `key`, or none (None)."""
    found = dynamics.root(board)
    legal = game.legal_actions(board)
    logits = jnp.where(legal, found.policy_logits, ILLEGAL)
    root = Root(found.state, logits, found.value, legal, jnp.zeros_like(logits), seeds)
    return root if key is None else add_noise(key, root, config)


def add_noise(key: PRNGKeyArray, root: Root, config: SearchConfig) -> Root:
    """The root with the noise of self-play: Gumbel's for the choice, and Dirichlet's in the prior of a PUCT root."""
    gumbel_key, dirichlet_key = jax.random.split(key)
    logits = root.policy_logits
    if config.root == "puct":
        logits = add_dirichlet_noise(dirichlet_key, logits, config)
    gumbel = config.gumbel_scale * jax.random.gumbel(gumbel_key, logits.shape)
    return root._replace(policy_logits=logits, gumbel=gumbel)


def add_dirichlet_noise(key: PRNGKeyArray, logits: Float[Array, "B A"], config: SearchConfig) -> Float[Array, "B A"]:
    """Logits log((1 - f) P + f eta), eta ~ Dirichlet(alpha) over the legal actions (AlphaZero, 2018, methods)."""
    allowed = possible(logits)
    # Gamma variates that are normalised are Dirichlet; their logarithms do not underflow at small alpha.
    gammas = jnp.where(allowed, jax.random.loggamma(key, config.puct.dirichlet_alpha, logits.shape), ILLEGAL)
    fraction = config.puct.dirichlet_fraction
    mixed = (1 - fraction) * jax.nn.softmax(logits) + fraction * jax.nn.softmax(gammas)
    return jnp.where(allowed, jnp.log(jnp.maximum(mixed, jnp.finfo(jnp.float32).tiny)), ILLEGAL)


def plan(dynamics: Dynamics, root: Root, config: SearchConfig, discount: float) -> Plan:
    """Search from the root."""
    if config.one_step:
        return plan_one_step(dynamics, root, config, discount)
    if config.engine == "mctx":
        found = search_with_mctx(dynamics, root, config, discount)
    else:
        found = root_statistics(grow_tree(dynamics, root, config, discount), config, discount)
    return read_out(root, found, config)


def plan_one_step(dynamics: Dynamics, root: Root, config: SearchConfig, discount: float) -> Plan:
    """The search of depth 1: the afterstates of the n considered actions in one batch."""
    count = min(config.simulations, NUM_ACTIONS)
    scores = jnp.where(root.legal, root.gumbel + root.policy_logits, -jnp.inf)
    order = jnp.argsort(-scores, axis=-1)
    rank = jnp.argsort(order, axis=-1)
    if count == NUM_ACTIONS:  # all, as they stand: there is nothing to gather
        after = move_all(dynamics, root.state)
        q_values = (after.reward + discount * after.value).reshape(-1, NUM_ACTIONS)
    else:
        after = move_each(dynamics, root.state, order[:, :count])
        found = (after.reward + discount * after.value).reshape(-1, count)
        q_values = jnp.take_along_axis(found, jnp.minimum(rank, count - 1), axis=-1)
    visits = (root.legal & (rank < count)).astype(jnp.int32)
    met = jnp.where(visits > 0, q_values, root.value[:, None])
    bounds = jnp.stack([jnp.minimum(met.min(axis=-1), root.value), jnp.maximum(met.max(axis=-1), root.value)], axis=-1)
    return read_out(root, Statistics(q_values, visits, bounds), config)


def move_all(dynamics: Dynamics, state: State) -> Afterstate:
    """What every action makes of every state: B * A rows, the four of a state side by side."""
    batch = len(jax.tree.leaves(state)[0])
    return move_each(dynamics, state, jnp.tile(jnp.arange(NUM_ACTIONS), (batch, 1)))


def move_each(dynamics: Dynamics, state: State, actions: Int[Array, "B n"]) -> Afterstate:
    """What n actions of each state make of it: B * n rows, those of a state side by side."""
    states = jax.tree.map(lambda x: jnp.repeat(x, actions.shape[1], axis=0), state)
    return dynamics.move(states, actions.ravel())
