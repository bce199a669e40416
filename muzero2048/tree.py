"""Tree search with decision and chance nodes, composed from mctx's public parts.

mctx knows one kind of node, so both kinds share one axis of A + C slots: slots 0..A-1 are the actions of a decision
node, slots A..A+C-1 the codes of a chance node. A slot that does not apply has prior logit ILLEGAL and is never
chosen. The edge of a move carries its reward, the discount gamma and the value of the afterstate; the edge of a
chance event carries reward 0, discount 1 and the value of the state (conventions of model.py: one discount a move).

At the root Gumbel top-m with Sequential Halving, on a view of the first A slots. Inside, PUCT at decision nodes
(MuZero, appendix B) and, at chance nodes, the code whose visits lag most behind its probability.
"""

import dataclasses
import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import mctx
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from muzero2048.config import SearchConfig
from muzero2048.model import Model, State
from muzero2048.search import ILLEGAL, Plan, Root, complete_q, read_out, scale_q

NUM_ACTIONS = 4


class Node(NamedTuple):
    """Embedding of a node of either kind."""

    latent: State  # state at decision nodes, afterstate at chance nodes
    is_chance: Bool[Array, "B"]


def plan_tree(model: Model, key: PRNGKeyArray, root: Root, config: SearchConfig, discount: float) -> Plan:
    """The search of `config.simulations` simulations; each expands one node."""
    batch = root.value.shape[0]
    blank = jnp.full((batch, model.codes), ILLEGAL)
    tree = mctx.search(
        params=(),
        rng_key=key,
        root=mctx.RootFnOutput(
            prior_logits=jnp.concatenate([root.policy_logits, blank], axis=-1),
            value=root.value,
            embedding=Node(root.state, jnp.zeros((batch,), bool)),
        ),
        recurrent_fn=functools.partial(_expand, model, discount),
        root_action_selection_fn=functools.partial(_select_at_root, config),
        interior_action_selection_fn=functools.partial(_select_inside, config),
        num_simulations=config.simulations,
        invalid_actions=jnp.concatenate([~root.legal, jnp.ones_like(blank, bool)], axis=-1).astype(jnp.float32),
        extra_data=mctx.GumbelMuZeroExtraData(root_gumbel=root.gumbel),
    )
    q_values = tree.qvalues(jnp.zeros((batch,), jnp.int32))[:, :NUM_ACTIONS]
    visits = tree.children_visits[:, mctx.Tree.ROOT_INDEX, :NUM_ACTIONS]
    return read_out(root, q_values, visits, config)


def _expand(
    model: Model, discount: float, params: Any, key: PRNGKeyArray, slot: Int[Array, "B"], node: Node
) -> tuple[mctx.RecurrentFnOutput, Node]:
    """Follow the chosen slot; both kinds of edge are computed for every row, and the row's kind selects."""
    del params, key
    action = jnp.minimum(slot, NUM_ACTIONS - 1)
    code = jax.nn.one_hot(slot - NUM_ACTIONS, model.codes)
    batch = slot.shape[0]

    afterstate, reward_head = model.afterstate_dynamics(node.latent, action)
    behind_move = model.afterstate_prediction(afterstate)
    state = model.dynamics(node.latent, code)
    behind_chance = model.prediction(state)

    def select(chance: Array, move: Array) -> Array:
        return jnp.where(node.is_chance.reshape(-1, *(1,) * (move.ndim - 1)), chance, move)

    no_actions = jnp.full((batch, NUM_ACTIONS), ILLEGAL)
    no_codes = jnp.full((batch, model.codes), ILLEGAL)
    chance_logits = jax.nn.log_softmax(behind_move.chance_logits)
    output = mctx.RecurrentFnOutput(
        reward=select(jnp.zeros((batch,)), model.reward(reward_head)),
        discount=select(jnp.ones((batch,)), jnp.full((batch,), discount)),
        prior_logits=select(
            jnp.concatenate([behind_chance.policy_logits, no_codes], axis=-1),
            jnp.concatenate([no_actions, chance_logits], axis=-1),
        ),
        value=select(model.codec.decode(behind_chance.value_logits), model.codec.decode(behind_move.value_logits)),
    )
    return output, Node(jax.tree.map(select, state, afterstate), ~node.is_chance)


def _select_at_root(config: SearchConfig, key: PRNGKeyArray, tree: mctx.Tree, node: Int[Array, ""]) -> Int[Array, ""]:
    """Sequential Halving over the actions considered (Gumbel MuZero, sec. 3)."""
    return mctx.gumbel_muzero_root_action_selection(
        key,
        _decision_view(tree),
        node,
        num_simulations=config.simulations,
        max_num_considered_actions=config.considered_actions,
        qtransform=functools.partial(_sigma, config),
    )


def _sigma(config: SearchConfig, tree: mctx.Tree, node: Int[Array, ""]) -> Float[Array, "A"]:
    visits = tree.children_visits[node]
    completed = complete_q(tree.qvalues(node), visits, tree.children_prior_logits[node], tree.raw_values[node])
    return scale_q(completed, visits, config)


def _select_inside(
    config: SearchConfig, key: PRNGKeyArray, tree: mctx.Tree, node: Int[Array, ""], depth: Array
) -> Int[Array, ""]:
    del key, depth
    move = puct(
        tree.qvalues(node)[:NUM_ACTIONS],
        tree.children_visits[node][:NUM_ACTIONS],
        jax.nn.softmax(tree.children_prior_logits[node][:NUM_ACTIONS]),
        tree.node_values[node],
        config,
    )
    probabilities = jax.nn.softmax(tree.children_prior_logits[node][NUM_ACTIONS:])
    code = largest_deficit(probabilities, tree.children_visits[node][NUM_ACTIONS:])
    return jnp.where(tree.embeddings.is_chance[node], NUM_ACTIONS + code, move).astype(jnp.int32)


def puct(
    q_values: Float[Array, "A"],
    visits: Int[Array, "A"],
    prior: Float[Array, "A"],
    node_value: Float[Array, ""],
    config: SearchConfig,
) -> Int[Array, ""]:
    """argmax_a q(a) + P(a) sqrt(N) / (1 + N(a)) (c_1 + log((N + c_2 + 1) / c_2))   (MuZero, appendix B, eq. 2).

    q is rescaled to [0, 1] over the visited actions and the value of the node, which stands in for unvisited ones.
    """
    visited = visits > 0
    q = jnp.where(visited, q_values, node_value)
    low, high = jnp.minimum(q.min(), node_value), jnp.maximum(q.max(), node_value)
    q = (q - low) / jnp.maximum(high - low, config.range_floor)
    total = 1 + visits.sum()  # the node's own evaluation counts: else the first choice would ignore the prior
    exploration = config.pb_c_init + jnp.log((total + config.pb_c_base + 1) / config.pb_c_base)
    return jnp.argmax(q + prior * jnp.sqrt(total) / (1 + visits) * exploration)


def largest_deficit(probabilities: Float[Array, "C"], visits: Int[Array, "C"]) -> Int[Array, ""]:
    """argmax_c p(c) (N + 1) - N(c): the shares of the visits follow the probabilities without noise."""
    return jnp.argmax(probabilities * (visits.sum() + 1) - visits)


def _decision_view(tree: mctx.Tree) -> mctx.Tree:
    """The (unbatched) tree with the slots of the actions alone."""
    fields = [field.name for field in dataclasses.fields(tree) if field.name.startswith("children_")]
    actions = {name: getattr(tree, name)[:, :NUM_ACTIONS] for name in fields}
    return tree.replace(root_invalid_actions=tree.root_invalid_actions[:NUM_ACTIONS], **actions)
