"""Rules at the root of the search: noise, action selection, and the read-out of the plan.

    gumbel   Sequential Halving over actions sampled by Gumbel top-m (Gumbel MuZero, sec. 3)
    puct     PUCT with Dirichlet noise in the prior; the move is drawn by the visits (MuZero)

A further rule needs its functions and a row of ROOT_RULES in this file, and its name in `SearchConfig.root`.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from muzero2048.search.base import ILLEGAL, Plan, Root, Share, Statistics
from muzero2048.search.config import SearchConfig
from muzero2048.search.inner_rules import argmax, possible, select_puct
from muzero2048.search.qtransforms import complete_q, scale_q


class RootRule(NamedTuple):
    """The functions of a rule."""

    # (key, root, share of the training that is made, config) -> the root with the noise of self-play
    add_noise: Callable[[PRNGKeyArray, Root, Share, SearchConfig], Root]
    # (root, statistics, backed-up value of the root [B], number of the simulation, config)
    # -> the action that each board's next simulation follows
    select: Callable[[Root, Statistics, Float[Array, "B"], Int[Array, ""], SearchConfig], Int[Array, "B"]]
    # (root, statistics, config) -> the move, and the policy target (0 on illegal actions)
    read_out: Callable[[Root, Statistics, SearchConfig], tuple[Int[Array, "B"], Float[Array, "B A"]]]
    # config -> whether the search visits, once each, the n legal actions of largest gumbel + policy_logits. The search
    # is then one batch of afterstates (plan_move.plan_one_step).
    is_one_batch: Callable[[SearchConfig], bool]


def halving_schedule(considered: int, simulations: int) -> list[int]:
    """Sequential Halving: return, for each simulation, the visit count of the actions among which it selects.

    The ceil(log2 m) phases share the simulations. In each phase the remaining actions are visited equally often; after
    it the worse half of them is dropped (Gumbel MuZero, sec. 3.4 and algorithm 2).
    """
    if considered <= 1:
        return list(range(simulations))
    phases = math.ceil(math.log2(considered))
    schedule: list[int] = []
    left, visits = considered, 0
    while len(schedule) < simulations:
        for _ in range(max(1, simulations // (phases * left))):
            schedule += [visits] * left
            visits += 1
        left = max(2, left // 2)
    return schedule[:simulations]


def _select_gumbel_root(
    root: Root, statistics: Statistics, node_value: Float[Array, "B"], simulation: Int[Array, ""], config: SearchConfig
) -> Int[Array, "B"]:
    """Select the best action of the current phase of Sequential Halving; arguments as in `RootRule.select`."""
    del node_value
    most = config.gumbel.considered_actions
    table = np.array([halving_schedule(considered, config.simulations) for considered in range(most + 1)], np.int32)
    considered = jnp.minimum(root.legal.sum(axis=-1), most)
    visits = jnp.asarray(table)[considered, simulation]
    return best_of_considered(root, statistics, visits, config)


def best_of_considered(
    root: Root, statistics: Statistics, visits: Int[Array, "B"], config: SearchConfig
) -> Int[Array, "B"]:
    """Select argmax g + logits + sigma(completed q) among the legal actions with `visits` (Gumbel MuZero, sec. 3)."""
    completed = complete_q(statistics.q_values, statistics.visits, root.policy_logits, root.value, config)
    sigma = scale_q(completed, statistics.visits, statistics.bounds, config)
    considered = root.legal & (statistics.visits == visits[:, None])
    return argmax(jnp.where(considered, root.gumbel + root.policy_logits + sigma, -jnp.inf))


def _read_out_gumbel(
    root: Root, statistics: Statistics, config: SearchConfig
) -> tuple[Int[Array, "B"], Float[Array, "B A"]]:
    """Choose the best of the most visited actions; the target is softmax(logits + sigma(completed q)) (eq. 11)."""
    completed = complete_q(statistics.q_values, statistics.visits, root.policy_logits, root.value, config)
    action = best_of_considered(root, statistics, statistics.visits.max(axis=-1), config)
    logits = root.policy_logits + scale_q(completed, statistics.visits, statistics.bounds, config)
    return action, jax.nn.softmax(jnp.where(root.legal, logits, ILLEGAL), axis=-1) * root.legal


def _add_gumbel_noise(key: PRNGKeyArray, root: Root, share: Share, config: SearchConfig) -> Root:
    del share
    gumbel_key, _ = jax.random.split(key)
    return root._replace(gumbel=config.gumbel_scale * jax.random.gumbel(gumbel_key, root.policy_logits.shape))


def _select_puct_root(
    root: Root, statistics: Statistics, node_value: Float[Array, "B"], simulation: Int[Array, ""], config: SearchConfig
) -> Int[Array, "B"]:
    del simulation
    return select_puct(
        statistics.q_values, statistics.visits, root.policy_logits, node_value, statistics.bounds, config
    )


def _read_out_puct(
    root: Root, statistics: Statistics, config: SearchConfig
) -> tuple[Int[Array, "B"], Float[Array, "B A"]]:
    """Draw the move from N^(1/T), with T the scale of the Gumbel noise (T = 0: the most visited); target N / sum N."""
    share = statistics.visits * root.legal / jnp.maximum(statistics.visits.sum(axis=-1, keepdims=True), 1)
    # Gumbel-max trick: argmax of log N + T g is a draw from N^(1/T).
    action = argmax(jnp.where(root.legal & (statistics.visits > 0), jnp.log(share) + root.gumbel, -jnp.inf))
    return action, share


def _add_puct_noise(key: PRNGKeyArray, root: Root, share: Share, config: SearchConfig) -> Root:
    """Add Dirichlet noise to the prior, and the Gumbel noise that draws the move from the visits."""
    gumbel_key, dirichlet_key = jax.random.split(key)
    logits = add_dirichlet_noise(dirichlet_key, root.policy_logits, config)
    noise = visit_temperature(share, config) * jax.random.gumbel(gumbel_key, logits.shape)
    return root._replace(policy_logits=logits, gumbel=noise)


def visit_temperature(share: Share, config: SearchConfig) -> Float[Array, ""]:
    """Return the temperature T of the visit counts after a share of the training (Stochastic MuZero, appendix C).

    T is that of the last pair of `puct.temperature_steps` whose share is reached, before the first one `gumbel_scale`.
    """
    temperature = jnp.asarray(config.gumbel_scale, jnp.float32)
    for begin, later in config.puct.temperature_steps:
        temperature = jnp.where(share >= begin, later, temperature)
    return temperature


def add_dirichlet_noise(key: PRNGKeyArray, logits: Float[Array, "B A"], config: SearchConfig) -> Float[Array, "B A"]:
    """Mix Dirichlet noise into a policy (AlphaZero, 2018, methods).

    log((1 - f) P + f eta),   eta ~ Dirichlet(alpha) over the legal actions,   ILLEGAL on the others
    """
    allowed = possible(logits)
    # Normalised gamma variates are Dirichlet distributed; their logarithms do not underflow at small alpha.
    gammas = jnp.where(allowed, jax.random.loggamma(key, config.puct.dirichlet_alpha, logits.shape), ILLEGAL)
    fraction = config.puct.dirichlet_fraction
    mixed = (1 - fraction) * jax.nn.softmax(logits) + fraction * jax.nn.softmax(gammas)
    return jnp.where(allowed, jnp.log(jnp.maximum(mixed, jnp.finfo(jnp.float32).tiny)), ILLEGAL)


GUMBEL = RootRule(
    add_noise=_add_gumbel_noise,
    select=_select_gumbel_root,
    read_out=_read_out_gumbel,
    is_one_batch=lambda config: config.simulations <= config.gumbel.considered_actions,
)
PUCT = RootRule(
    add_noise=_add_puct_noise, select=_select_puct_root, read_out=_read_out_puct, is_one_batch=lambda config: False
)
ROOT_RULES = {"gumbel": GUMBEL, "puct": PUCT}


def read_out(root: Root, statistics: Statistics, config: SearchConfig) -> Plan:
    """Compute the plan from the statistics of the root.

    Its Q-values are completed; its value is the best visited Q, 0 if the game is over.
    """
    action, target = ROOT_RULES[config.root].read_out(root, statistics, config)
    completed = complete_q(statistics.q_values, statistics.visits, root.policy_logits, root.value, config)
    best = jnp.max(jnp.where(statistics.visits > 0, statistics.q_values, -jnp.inf), axis=-1)
    value = jnp.where(root.legal.any(axis=-1), best, 0.0)
    return Plan(action.astype(jnp.int32), target, completed, statistics.visits, value)


def bootstrap_value(root: Root, plan: Plan, rule: str) -> Float[Array, "B"]:
    """Compute the value of the root that targets bootstrap from.

    best_child:       max of Q over the visited actions (Guei 2023, eq. 35)
    played:           Q of the action played
    improved_policy:  sum_a pi'(a) Q(a), pi' the policy target, Q completed (Gumbel MuZero, eq. 11 and 33)
    visit_mean:       sum_a N(a) Q(a) / sum_a N(a)
    network:          V(s), without the search

    The value is in points; 0 if the game is over.
    """
    visits = jnp.maximum(plan.visits.sum(axis=-1), 1)
    value = {
        "best_child": plan.value,
        "played": jnp.take_along_axis(plan.q_values, plan.action[:, None], axis=-1)[:, 0],
        "improved_policy": jnp.sum(plan.policy_target * plan.q_values, axis=-1),
        "visit_mean": jnp.sum(plan.visits * plan.q_values, axis=-1) / visits,
        "network": root.value,
    }[rule]
    return jnp.where(root.legal.any(axis=-1), value, 0.0)
