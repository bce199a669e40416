"""Rules inside the tree: which slot a simulation follows at a decision node and at a chance node.

Every rule is a function of the statistics of one node, batched over leading axes. Random draws are computed from the
seed of the node and the number of the visit, so a search can be repeated, and each of its rows can be repeated alone.
The rules at the root are in search/root_rules.py.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, UInt32

from muzero2048.game.packed_lines import mix
from muzero2048.search.base import ILLEGAL
from muzero2048.search.config import SearchConfig
from muzero2048.search.qtransforms import Bounds, complete_q, normalize, scale_q

GOLDEN_RATIO = np.uint32(0x9E3779B9)  # 2^32 / phi: its multiples modulo 2^32 are spread most evenly


class DecisionRule(NamedTuple):
    """A rule at the decision nodes below the root."""

    # (Q-values, visits, prior logits, value of the node, bounds, config) -> action
    select: Callable[..., Int[Array, "*B"]]
    reads_raw_value: bool  # the value of the node is the model's evaluation, otherwise the backed-up value


class ChanceRule(NamedTuple):
    """A rule at the chance nodes."""

    # (probabilities, visits of each code so far, seed of the node) -> code of the next visit
    select: Callable[[Float[Array, "*B C"], Int[Array, "*B C"], UInt32[Array, "*B"]], Int[Array, "*B"]]
    backs_up_expectation: bool = False  # `tree.expected_value`, over all outcomes; otherwise the mean over visits


def select_puct(
    q_values: Float[Array, "*B A"],
    visits: Int[Array, "*B A"],
    prior_logits: Float[Array, "*B A"],
    node_value: Float[Array, "*B"],
    bounds: Bounds,
    config: SearchConfig,
) -> Int[Array, "*B"]:
    """Select an action by PUCT (MuZero, appendix B, eq. 2).

    argmax_a q(a) + P(a) sqrt(N) / (1 + N(a)) (c_1 + log((N + c_2 + 1) / c_2))

    The value of the node stands in for the q of unvisited actions. q is then normalised over all actions and the value
    of the node. With `puct.unvisited` = zero, the normalised q of unvisited actions is 0, the least of the range,
    instead (Stochastic MuZero, appendix I, ucb_score). N counts the visits of all actions and the node's own
    evaluation.
    """
    q = jnp.where(visits > 0, q_values, node_value[..., None])
    low, high = jnp.minimum(q.min(axis=-1), node_value), jnp.maximum(q.max(axis=-1), node_value)
    unit = normalize(q, low, high, bounds, config)
    if config.puct.unvisited == "zero":
        unit = jnp.where(visits > 0, unit, 0.0)
    total = 1 + visits.sum(axis=-1, keepdims=True)  # at least 1: with N = 0 the prior would not matter
    rate = config.puct.c_init + jnp.log((total + config.puct.c_base + 1) / config.puct.c_base)
    exploration = jax.nn.softmax(prior_logits) * jnp.sqrt(total) / (1 + visits) * rate
    return argmax(jnp.where(possible(prior_logits), unit + exploration, -jnp.inf))


def select_gumbel(
    q_values: Float[Array, "*B A"],
    visits: Int[Array, "*B A"],
    prior_logits: Float[Array, "*B A"],
    raw_value: Float[Array, "*B"],
    bounds: Bounds,
    config: SearchConfig,
) -> Int[Array, "*B"]:
    """Select an action by the interior rule of Gumbel MuZero (sec. 5).

    argmax_a pi'(a) - N(a) / (1 + sum_b N(b)),   pi' = softmax(logits + sigma(completed q))
    """
    completed = complete_q(q_values, visits, prior_logits, raw_value, config)
    improved = jax.nn.softmax(prior_logits + scale_q(completed, visits, bounds, config))
    lead = improved - visits / (1 + visits.sum(axis=-1, keepdims=True))
    return argmax(jnp.where(possible(prior_logits), lead, -jnp.inf))


DECISION_RULES = {
    "puct": DecisionRule(select_puct, reads_raw_value=False),
    "gumbel": DecisionRule(select_gumbel, reads_raw_value=True),
}


def select_code(
    probabilities: Float[Array, "*B C"], visits: Int[Array, "*B C"], seed: UInt32[Array, "*B"], config: SearchConfig
) -> Int[Array, "*B"]:
    """Select the chance code of the next visit by the rule that `search.chance` names."""
    return CHANCE_RULES[config.chance].select(probabilities, visits, seed)


def _weighted(probabilities: Float[Array, "*B C"], visits: Int[Array, "*B C"], seed: UInt32[Array, "*B"]) -> Array:
    """Select each outcome once, in order of probability, then by deficit; the back-up weights the outcomes."""
    del seed
    fresh = jnp.where(visits > 0, 0.0, probabilities)
    rank = jnp.where((fresh > 0).any(axis=-1, keepdims=True), fresh, deficit(probabilities, visits))
    return argmax(rank)


CHANCE_RULES = {
    # Stochastic MuZero, footnote 1 of sec. 4.2, after Ozair et al. 2021
    "ratio": ChanceRule(lambda probabilities, visits, seed: argmax(probabilities / (visits + 1))),
    "deficit": ChanceRule(lambda probabilities, visits, seed: argmax(deficit(probabilities, visits))),
    "weighted": ChanceRule(_weighted, backs_up_expectation=True),
    # the golden-ratio sequence, shifted by the seed
    "quasi_random": ChanceRule(
        lambda probabilities, visits, seed: inverse_cdf(probabilities, _golden_sequence(visits, seed))
    ),
    # a hash of the seed and the number of the visit
    "sampled": ChanceRule(
        lambda probabilities, visits, seed: inverse_cdf(probabilities, mix(_golden_sequence(visits, seed)))
    ),
}


def _golden_sequence(visits: Int[Array, "*B C"], seed: UInt32[Array, "*B"]) -> UInt32[Array, "*B"]:
    return seed + visits.sum(axis=-1).astype(jnp.uint32) * GOLDEN_RATIO


def deficit(probabilities: Float[Array, "*B C"], visits: Int[Array, "*B C"]) -> Float[Array, "*B C"]:
    """Return p(c) (N + 1) - N(c): by how many visits a code is below its share."""
    return probabilities * (visits.sum(axis=-1, keepdims=True) + 1) - visits


def inverse_cdf(probabilities: Float[Array, "*B C"], draw: UInt32[Array, "*B"]) -> Int[Array, "*B"]:
    """Return the code whose interval of the cumulative distribution contains draw / 2^32."""
    cumulated = jnp.cumsum(probabilities, axis=-1)
    # 23 bits: with 24 the product could round up to the end of the last interval.
    fraction = (draw >> np.uint32(9)).astype(jnp.float32) * 2.0**-23
    ahead = cumulated > fraction[..., None] * cumulated[..., -1:]
    # A backend may add prefix sums in another order. The rounding error must not select a code of probability 0.
    return argmax(jnp.where(probabilities > 0, ahead.astype(jnp.float32), -1.0))


def node_seed(seed: UInt32[Array, "*B"], node: Int[Array, "*B"]) -> UInt32[Array, "*B"]:
    """Return the seed of a node in the tree of `seed`."""
    return mix(seed ^ mix(node.astype(jnp.uint32) + GOLDEN_RATIO))


def possible(logits: Float[Array, "*B A"]) -> Bool[Array, "*B A"]:
    """Return which actions are not known to be illegal."""
    return logits > ILLEGAL / 2


def argmax(scores: Float[Array, "*B S"]) -> Int[Array, "*B"]:
    """Return the first index of the largest score; scores must not be NaN.

    Scores are compared as integers with the same order. XLA on a CPU vectorises the maximum of integers, but not that
    of floats, which must propagate NaN (32 codes of 256 boards: 10 us instead of 23).
    """
    bits = jax.lax.bitcast_convert_type(scores, jnp.int32)
    keys = jnp.where(bits < 0, bits ^ np.int32(0x7FFFFFFF), bits)
    size = scores.shape[-1]
    last_first = jnp.broadcast_to(jnp.arange(size, 0, -1), keys.shape)
    return size - jnp.max(jnp.where(keys == keys.max(axis=-1, keepdims=True), last_first, 0), axis=-1)
