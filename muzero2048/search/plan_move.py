"""Planning a move on each board of a batch.

`plan` selects the method. If the root rule visits every considered action at most once (a Gumbel root with simulations
<= considered_actions), the tree has depth 1 and the search is one batch of afterstates (`plan_one_step`). Otherwise a
tree is grown.

Both methods agree on positions with at least n = simulations legal moves. With fewer legal moves the tree visits some
of them again, one level deeper; the batch leaves the remaining evaluations unused.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, PRNGKeyArray, UInt32

from muzero2048.game.env import NUM_ACTIONS, Board, BoardGame
from muzero2048.models.base import State
from muzero2048.search.base import ILLEGAL, Afterstate, Dynamics, Plan, Root, Share, Statistics
from muzero2048.search.config import SearchConfig
from muzero2048.search.mctx_engine import search_with_mctx
from muzero2048.search.root_rules import ROOT_RULES, read_out
from muzero2048.search.tree import Trees, root_statistics
from muzero2048.search.tree_search import grow_tree


def make_root(
    dynamics: Dynamics,
    game: BoardGame,
    board: Board,
    seeds: UInt32[Array, "B"],
    key: PRNGKeyArray | None,
    config: SearchConfig,
    share: Share = 0.0,
) -> Root:
    """Evaluate the boards, mask illegal actions and add the noise of self-play.

    Noise is drawn from `key`; None: no noise. It can depend on `share`, the share of the training that is made.
    """
    decision = dynamics.root(board)
    legal = game.legal_actions(board)
    logits = jnp.where(legal, decision.policy_logits, ILLEGAL)
    root = Root(decision.state, logits, decision.value, legal, jnp.zeros_like(logits), seeds)
    return root if key is None else ROOT_RULES[config.root].add_noise(key, root, share, config)


def plan(dynamics: Dynamics, root: Root, config: SearchConfig, discount: float) -> tuple[Plan, Trees | None]:
    """Search from the roots; the tree is None if the search is one batch, or if mctx keeps it."""
    if ROOT_RULES[config.root].is_one_batch(config):
        return plan_one_step(dynamics, root, config, discount), None
    if config.engine == "mctx":
        return read_out(root, search_with_mctx(dynamics, root, config, discount), config), None
    tree = grow_tree(dynamics, root, config, discount)
    return read_out(root, root_statistics(tree, config, discount), config), tree


def plan_one_step(dynamics: Dynamics, root: Root, config: SearchConfig, discount: float) -> Plan:
    """Search to depth 1: evaluate the afterstates of the n actions of largest g + logits in one batch."""
    count = min(config.simulations, NUM_ACTIONS)
    scores = jnp.where(root.legal, root.gumbel + root.policy_logits, -jnp.inf)
    order = jnp.argsort(-scores, axis=-1)
    rank = jnp.argsort(order, axis=-1)
    if count == NUM_ACTIONS:  # all actions in their own order: no gather is needed
        after = move_all(dynamics, root.state)
        q_values = (after.reward + discount * after.value).reshape(-1, NUM_ACTIONS)
    else:
        after = move_each(dynamics, root.state, order[:, :count])
        visited_q = (after.reward + discount * after.value).reshape(-1, count)
        q_values = jnp.take_along_axis(visited_q, jnp.minimum(rank, count - 1), axis=-1)
    visits = (root.legal & (rank < count)).astype(jnp.int32)
    known = jnp.where(visits > 0, q_values, root.value[:, None])
    bounds = jnp.stack(
        [jnp.minimum(known.min(axis=-1), root.value), jnp.maximum(known.max(axis=-1), root.value)], axis=-1
    )
    return read_out(root, Statistics(q_values, visits, bounds), config)


def move_all(dynamics: Dynamics, state: State) -> Afterstate:
    """Return the afterstates of every action: B * A rows, the four of a state next to each other."""
    batch = len(jax.tree.leaves(state)[0])
    return move_each(dynamics, state, jnp.tile(jnp.arange(NUM_ACTIONS), (batch, 1)))


def move_each(dynamics: Dynamics, state: State, actions: Int[Array, "B n"]) -> Afterstate:
    """Compute the afterstates of n actions for each state."""
    states = jax.tree.map(lambda x: jnp.repeat(x, actions.shape[1], axis=0), state)
    return dynamics.move(states, actions.ravel())
