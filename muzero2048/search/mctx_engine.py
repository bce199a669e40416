"""The same search composed of mctx's public parts: the engine `mctx`, and the check of the own loop.

mctx has one kind of node, so both kinds share one axis of A + C slots: slots 0..A-1 are the actions of a decision
node, slots A..A+C-1 the codes of a chance node. A slot that does not apply has prior logit ILLEGAL and is never
chosen. Edges follow the conventions of models/base.py, with one discount per move:

    edge                    reward          discount   value of the child
    move                    of the move     gamma      V(as)
    chance event            0               1          V(s)

A Gumbel root is selected by mctx's own function. All other rules at the nodes are those of search/root_rules.py and
search/inner_rules.py.
"""

import dataclasses
import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import mctx
from jaxtyping import Array, Bool, Float, Int

from muzero2048.game.env import NUM_ACTIONS
from muzero2048.models.base import State
from muzero2048.search.base import ILLEGAL, Dynamics, Root, Statistics
from muzero2048.search.config import SearchConfig
from muzero2048.search.inner_rules import DECISION_RULES, node_seed, possible, select_code
from muzero2048.search.qtransforms import complete_q, scale_q
from muzero2048.search.root_rules import ROOT_RULES


class Node(NamedTuple):
    """Embedding of a node of either kind."""

    state: State
    is_chance: Bool[Array, "B"]
    is_over: Bool[Array, "B"]  # no action was possible here or at an ancestor: all later values are 0


class Extra(NamedTuple):
    """What the rules read in addition to the tree."""

    root_gumbel: Float[Array, "B A"]  # mctx reads this name
    root: Root


def search_with_mctx(dynamics: Dynamics, root: Root, config: SearchConfig, discount: float) -> Statistics:
    """Run `config.simulations` simulations, each of which expands one node."""
    batch = len(root.value)
    blank = jnp.full((batch, dynamics.codes), ILLEGAL)
    tree = mctx.search(
        params=(),
        rng_key=jax.random.key(0),  # not used by any rule
        root=mctx.RootFnOutput(
            prior_logits=jnp.concatenate([root.policy_logits, blank], axis=-1),
            value=root.value,
            embedding=Node(root.state, jnp.zeros((batch,), bool), ~root.legal.any(axis=-1)),
        ),
        recurrent_fn=functools.partial(_expand, dynamics, discount),
        root_action_selection_fn=functools.partial(_select_at_root, config),
        interior_action_selection_fn=functools.partial(_select_inside, config),
        num_simulations=config.simulations,
        invalid_actions=jnp.concatenate([~root.legal, jnp.ones_like(blank, bool)], axis=-1).astype(jnp.float32),
        extra_data=Extra(root.gumbel, root),
    )
    q_values = tree.qvalues(jnp.zeros((batch,), jnp.int32))[:, :NUM_ACTIONS]
    visits = tree.children_visits[:, mctx.Tree.ROOT_INDEX, :NUM_ACTIONS]
    return Statistics(q_values, visits, _no_bounds(root.value))


def _expand(
    dynamics: Dynamics, discount: float, params: Any, key: Array, slot: Int[Array, "B"], node: Node
) -> tuple[mctx.RecurrentFnOutput, Node]:
    """Follow the chosen slot: compute both kinds of edge for every row, and select by the kind of the row's node."""
    del params, key
    after_move = dynamics.move(node.state, jnp.minimum(slot, NUM_ACTIONS - 1))
    after_chance = dynamics.spawn(node.state, jnp.maximum(slot - NUM_ACTIONS, 0))
    batch = len(slot)

    def select(chance: Array, move: Array) -> Array:
        return jnp.where(node.is_chance.reshape(-1, *(1,) * (move.ndim - 1)), chance, move)

    no_actions = jnp.full((batch, NUM_ACTIONS), ILLEGAL)
    no_codes = jnp.full((batch, dynamics.codes), ILLEGAL)
    # Impossible codes get the finite logit too: softmax then gives them exactly 0.
    chance_logits = jnp.maximum(jnp.log(after_move.probabilities), ILLEGAL)
    alive = (~node.is_over).astype(jnp.float32)
    output = mctx.RecurrentFnOutput(
        reward=alive * select(jnp.zeros((batch,)), after_move.reward),
        discount=select(jnp.ones((batch,)), jnp.full((batch,), discount)),
        prior_logits=select(
            jnp.concatenate([after_chance.policy_logits, no_codes], axis=-1),
            jnp.concatenate([no_actions, chance_logits], axis=-1),
        ),
        value=alive * select(after_chance.value, after_move.value),
    )
    ends = node.is_chance & ~possible(after_chance.policy_logits).any(axis=-1)
    state = jax.tree.map(select, after_chance.state, after_move.state)
    return output, Node(state, ~node.is_chance, node.is_over | ends)


def _select_at_root(config: SearchConfig, key: Array, tree: mctx.Tree, node: Int[Array, ""]) -> Int[Array, ""]:
    """Select at the root of one tree; the rules that are not mctx's get a batch axis of one board."""
    actions = _decision_view(tree)
    if config.root == "gumbel":
        return mctx.gumbel_muzero_root_action_selection(
            key,
            actions,
            node,
            num_simulations=config.simulations,
            max_num_considered_actions=config.gumbel.considered_actions,
            qtransform=functools.partial(_sigma, config),
        )
    visits, value = actions.children_visits[node], actions.node_values[node]
    statistics = Statistics(actions.qvalues(node), visits, _no_bounds(value))
    root, statistics, value = jax.tree.map(lambda x: x[None], (tree.extra_data.root, statistics, value))
    return ROOT_RULES[config.root].select(root, statistics, value, visits.sum(), config)[0]


def _sigma(config: SearchConfig, tree: mctx.Tree, node: Int[Array, ""]) -> Float[Array, "A"]:
    visits, value = tree.children_visits[node], tree.raw_values[node]
    completed = complete_q(tree.qvalues(node), visits, tree.children_prior_logits[node], value, config)
    return scale_q(completed, visits, _no_bounds(value), config)


def _select_inside(
    config: SearchConfig, key: Array, tree: mctx.Tree, node: Int[Array, ""], depth: Array
) -> Int[Array, ""]:
    del key, depth
    probabilities = jax.nn.softmax(tree.children_prior_logits[node][NUM_ACTIONS:])
    seed = node_seed(tree.extra_data.root.seeds, node)
    code = select_code(probabilities, tree.children_visits[node][NUM_ACTIONS:], seed, config)
    return jnp.where(tree.embeddings.is_chance[node], NUM_ACTIONS + code, _select_action(config, tree, node))


def _select_action(config: SearchConfig, tree: mctx.Tree, node: Int[Array, ""]) -> Int[Array, ""]:
    q_values, visits, logits = (
        x[:NUM_ACTIONS] for x in (tree.qvalues(node), tree.children_visits[node], tree.children_prior_logits[node])
    )
    rule = DECISION_RULES[config.inside]
    value = (tree.raw_values if rule.reads_raw_value else tree.node_values)[node]
    return rule.select(q_values, visits, logits, value, _no_bounds(value), config)


def _no_bounds(value: Float[Array, "*B"]) -> Float[Array, "*B 2"]:
    """Return bounds for the normalisations that do not read them."""
    return jnp.stack([value, value], axis=-1)


def _decision_view(tree: mctx.Tree) -> mctx.Tree:
    """Return the tree of one board with the slots of the actions only."""
    fields = [field.name for field in dataclasses.fields(tree) if field.name.startswith("children_")]
    actions = {name: getattr(tree, name)[:, :NUM_ACTIONS] for name in fields}
    return tree.replace(root_invalid_actions=tree.root_invalid_actions[:NUM_ACTIONS], **actions)
