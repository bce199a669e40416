"""The same search composed from mctx's public parts: the check of the own loop, and the fallback.

mctx knows one kind of node, so both kinds share one axis of A + C slots: slots 0..A-1 are the actions of a decision
node, slots A..A+C-1 the codes of a chance node. A slot that does not apply has prior logit ILLEGAL and is never
chosen. The edge of a move carries its reward, the discount gamma and the value of the afterstate; the edge of a
chance event carries reward 0, discount 1 and the value of the state (conventions of models/base.py: one discount a
move). The rules at the nodes are those of search/action_selection.py.
"""

import dataclasses
import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import mctx
from jaxtyping import Array, Bool, Float, Int, UInt32

from muzero2048.game.env import NUM_ACTIONS
from muzero2048.models.base import State
from muzero2048.search.action_selection import node_seed, possible, select_code, select_gumbel, select_puct
from muzero2048.search.base import ILLEGAL, Dynamics, Root, Statistics
from muzero2048.search.config import SearchConfig
from muzero2048.search.qtransforms import complete_q, scale_q


class Node(NamedTuple):
    """Embedding of a node of either kind."""

    state: State
    is_chance: Bool[Array, "B"]
    is_over: Bool[Array, "B"]  # no action was possible here or above: worth 0, whatever comes after it


class Extra(NamedTuple):
    """What the selection rules read beside the tree."""

    root_gumbel: Float[Array, "B A"]  # the name that mctx asks for
    seeds: UInt32[Array, "B"]


def search_with_mctx(dynamics: Dynamics, root: Root, config: SearchConfig, discount: float) -> Statistics:
    """The search of `config.simulations` simulations; each expands one node."""
    batch = len(root.value)
    blank = jnp.full((batch, dynamics.codes), ILLEGAL)
    tree = mctx.search(
        params=(),
        rng_key=jax.random.key(0),  # nothing is drawn from it
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
        extra_data=Extra(root.gumbel, root.seeds),
    )
    q_values = tree.qvalues(jnp.zeros((batch,), jnp.int32))[:, :NUM_ACTIONS]
    visits = tree.children_visits[:, mctx.Tree.ROOT_INDEX, :NUM_ACTIONS]
    return Statistics(q_values, visits, _no_bounds(root.value))


def _expand(
    dynamics: Dynamics, discount: float, params: Any, key: Array, slot: Int[Array, "B"], node: Node
) -> tuple[mctx.RecurrentFnOutput, Node]:
    """Follow the chosen slot; both kinds of edge are computed for every row, and the row's kind selects."""
    del params, key
    behind_move = dynamics.move(node.state, jnp.minimum(slot, NUM_ACTIONS - 1))
    behind_chance = dynamics.spawn(node.state, jnp.maximum(slot - NUM_ACTIONS, 0))
    batch = len(slot)

    def select(chance: Array, move: Array) -> Array:
        return jnp.where(node.is_chance.reshape(-1, *(1,) * (move.ndim - 1)), chance, move)

    no_actions = jnp.full((batch, NUM_ACTIONS), ILLEGAL)
    no_codes = jnp.full((batch, dynamics.codes), ILLEGAL)
    # Impossible codes get the finite logit too: softmax then gives them exactly 0.
    chance_logits = jnp.maximum(jnp.log(behind_move.probabilities), ILLEGAL)
    alive = (~node.is_over).astype(jnp.float32)
    output = mctx.RecurrentFnOutput(
        reward=alive * select(jnp.zeros((batch,)), behind_move.reward),
        discount=select(jnp.ones((batch,)), jnp.full((batch,), discount)),
        prior_logits=select(
            jnp.concatenate([behind_chance.policy_logits, no_codes], axis=-1),
            jnp.concatenate([no_actions, chance_logits], axis=-1),
        ),
        value=alive * select(behind_chance.value, behind_move.value),
    )
    ends = node.is_chance & ~possible(behind_chance.policy_logits).any(axis=-1)
    state = jax.tree.map(select, behind_chance.state, behind_move.state)
    return output, Node(state, ~node.is_chance, node.is_over | ends)


def _select_at_root(config: SearchConfig, key: Array, tree: mctx.Tree, node: Int[Array, ""]) -> Int[Array, ""]:
    if config.root == "puct":
        return _select_move("puct", config, tree, node)
    return mctx.gumbel_muzero_root_action_selection(
        key,
        _decision_view(tree),
        node,
        num_simulations=config.simulations,
        max_num_considered_actions=config.gumbel.considered_actions,
        qtransform=functools.partial(_sigma, config),
    )


def _sigma(config: SearchConfig, tree: mctx.Tree, node: Int[Array, ""]) -> Float[Array, "A"]:
    visits = tree.children_visits[node]
    completed = complete_q(tree.qvalues(node), visits, tree.children_prior_logits[node], tree.raw_values[node])
    return scale_q(completed, visits, _no_bounds(tree.raw_values[node]), config)


def _select_inside(
    config: SearchConfig, key: Array, tree: mctx.Tree, node: Int[Array, ""], depth: Array
) -> Int[Array, ""]:
    del key, depth
    probabilities = jax.nn.softmax(tree.children_prior_logits[node][NUM_ACTIONS:])
    seed = node_seed(tree.extra_data.seeds, node)
    code = select_code(probabilities, tree.children_visits[node][NUM_ACTIONS:], seed, config)
    return jnp.where(
        tree.embeddings.is_chance[node], NUM_ACTIONS + code, _select_move(config.inside, config, tree, node)
    )


def _select_move(rule: str, config: SearchConfig, tree: mctx.Tree, node: Int[Array, ""]) -> Int[Array, ""]:
    q_values, visits, logits = (
        x[:NUM_ACTIONS] for x in (tree.qvalues(node), tree.children_visits[node], tree.children_prior_logits[node])
    )
    select, values = (select_puct, tree.node_values) if rule == "puct" else (select_gumbel, tree.raw_values)
    return select(q_values, visits, logits, values[node], _no_bounds(values[node]), config)


def _no_bounds(value: Float[Array, "*B"]) -> Float[Array, "*B 2"]:
    """Bounds for the normalisations that do not read them."""
    return jnp.stack([value, value], axis=-1)


def _decision_view(tree: mctx.Tree) -> mctx.Tree:
    """The (unbatched) tree with the slots of the actions alone."""
    fields = [field.name for field in dataclasses.fields(tree) if field.name.startswith("children_")]
    actions = {name: getattr(tree, name)[:, :NUM_ACTIONS] for name in fields}
    return tree.replace(root_invalid_actions=tree.root_invalid_actions[:NUM_ACTIONS], **actions)
