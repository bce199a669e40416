"""Which slot of a node to follow: the rules at the root, at decision nodes and at chance nodes.

Every rule is a function of the statistics of one node, batched over leading axes. What a rule draws comes from a seed
and the number of the visit, so that a search can be repeated, and each of its rows alone.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, UInt32

from muzero2048.search.base import ILLEGAL, Root, Statistics
from muzero2048.search.config import SearchConfig
from muzero2048.search.qtransforms import Bounds, complete_q, normalize, scale_q

GOLDEN_RATIO = np.uint32(0x9E3779B9)  # 2^32 / phi: multiples of it, modulo 2^32, spread most evenly


def halving_schedule(considered: int, simulations: int) -> list[int]:
    """Sequential Halving: the visits that an action must have to be next, for each simulation.

    The ceil(log2 m) phases share the simulations; in each the actions that are left are visited equally often, and the
    worse half of them is dropped (Gumbel MuZero, sec. 3.4 and algorithm 2).
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


def select_root_gumbel(
    root: Root, found: Statistics, simulation: Int[Array, ""], config: SearchConfig
) -> Int[Array, "B"]:
    """The action of argmax g + logits + sigma(completed q) among those that Sequential Halving has still to visit."""
    most = config.gumbel.considered_actions
    table = np.array([halving_schedule(considered, config.simulations) for considered in range(most + 1)], np.int32)
    considered = jnp.minimum(root.legal.sum(axis=-1), most)
    visits = jnp.asarray(table)[considered, simulation]
    return best_of_considered(root, found, visits, config)


def best_of_considered(root: Root, found: Statistics, visits: Int[Array, "B"], config: SearchConfig) -> Int[Array, "B"]:
    """The action of argmax g + logits + sigma(completed q) among the legal ones with so many visits (sec. 3)."""
    completed = complete_q(found.q_values, found.visits, root.policy_logits, root.value)
    sigma = scale_q(completed, found.visits, found.bounds, config)
    considered = root.legal & (found.visits == visits[:, None])
    return argmax(jnp.where(considered, root.gumbel + root.policy_logits + sigma, -jnp.inf))


def select_puct(
    q_values: Float[Array, "*B A"],
    visits: Int[Array, "*B A"],
    prior_logits: Float[Array, "*B A"],
    node_value: Float[Array, "*B"],
    bounds: Bounds,
    config: SearchConfig,
) -> Int[Array, "*B"]:
    """PUCT: argmax_a q(a) + P(a) sqrt(N) / (1 + N(a)) (c_1 + log((N + c_2 + 1) / c_2))   (MuZero, appendix B, eq. 2).

    q is normalised over the visited actions and the value of the node, which stands in for unvisited ones.
    """
    q = jnp.where(visits > 0, q_values, node_value[..., None])
    low, high = jnp.minimum(q.min(axis=-1), node_value), jnp.maximum(q.max(axis=-1), node_value)
    unit = normalize(q, low, high, bounds, config)
    total = 1 + visits.sum(axis=-1, keepdims=True)  # with the node's own evaluation: else the prior has no say at first
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
    """Gumbel inside: argmax_a pi'(a) - N(a) / (1 + sum N), pi' = softmax(logits + sigma(q))   (Gumbel MuZero, 5)."""
    completed = complete_q(q_values, visits, prior_logits, raw_value)
    improved = jax.nn.softmax(prior_logits + scale_q(completed, visits, bounds, config))
    lead = improved - visits / (1 + visits.sum(axis=-1, keepdims=True))
    return argmax(jnp.where(possible(prior_logits), lead, -jnp.inf))


def select_code(
    probabilities: Float[Array, "*B C"],
    visits: Int[Array, "*B C"],
    seed: UInt32[Array, "*B"],
    config: SearchConfig,
) -> Int[Array, "*B"]:
    """The chance code of the next visit; `visits` counts those before, `seed` is the node's."""
    count = visits.sum(axis=-1)
    match config.chance:
        case "ratio":  # p / (n + 1), the rule of Stochastic MuZero (appendix A)
            return argmax(probabilities / (visits + 1))
        case "deficit":
            return argmax(deficit(probabilities, visits))
        case "weighted":  # each outcome once, the likely ones first: the weighted mean sees to the proportions
            fresh = jnp.where(visits > 0, 0.0, probabilities)
            rank = jnp.where((fresh > 0).any(axis=-1, keepdims=True), fresh, deficit(probabilities, visits))
            return argmax(rank)
        case "quasi_random":
            return inverse_cdf(probabilities, seed + count.astype(jnp.uint32) * GOLDEN_RATIO)
        case "sampled":
            return inverse_cdf(probabilities, mix(seed + count.astype(jnp.uint32) * GOLDEN_RATIO))


def deficit(probabilities: Float[Array, "*B C"], visits: Int[Array, "*B C"]) -> Float[Array, "*B C"]:
    """Each code's p(c) (N + 1) - N(c): how far the visits of a code lag behind its share."""
    return probabilities * (visits.sum(axis=-1, keepdims=True) + 1) - visits


def inverse_cdf(probabilities: Float[Array, "*B C"], draw: UInt32[Array, "*B"]) -> Int[Array, "*B"]:
    """The code whose interval of the cumulative distribution holds draw / 2^32."""
    cumulated = jnp.cumsum(probabilities, axis=-1)
    # 23 bits: with 24 the product could round up to the end of the last interval.
    fraction = (draw >> np.uint32(9)).astype(jnp.float32) * 2.0**-23
    ahead = cumulated > fraction[..., None] * cumulated[..., -1:]
    # A backend may add prefix sums in another order; a code of probability 0 could then seem to own a rounding error.
    return argmax(jnp.where(probabilities > 0, ahead.astype(jnp.float32), -1.0))


def node_seed(seed: UInt32[Array, "*B"], node: Int[Array, "*B"]) -> UInt32[Array, "*B"]:
    """The seed of a node of the tree of `seed`."""
    return mix(seed ^ mix(node.astype(jnp.uint32) + GOLDEN_RATIO))


def mix(x: UInt32[Array, "*B"]) -> UInt32[Array, "*B"]:
    """A bijection of 32-bit words whose output bits each depend on all input bits (the finalizer of MurmurHash3)."""
    x = (x ^ (x >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    x = (x ^ (x >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return x ^ (x >> np.uint32(16))


def possible(logits: Float[Array, "*B A"]) -> Bool[Array, "*B A"]:
    """Actions that are not known to be illegal."""
    return logits > ILLEGAL / 2


def argmax(scores: Float[Array, "*B S"]) -> Int[Array, "*B"]:
    """The first index of the largest score; scores must not be NaN.

    Compared as integers, whose order is that of the floats: XLA vectorises the maximum of integers on a CPU, not that
    of floats, where NaN has a say (32 codes of 256 boards: 10 us instead of 23).
    """
    bits = jax.lax.bitcast_convert_type(scores, jnp.int32)
    keys = jnp.where(bits < 0, bits ^ np.int32(0x7FFFFFFF), bits)
    size = scores.shape[-1]
    last_first = jnp.broadcast_to(jnp.arange(size, 0, -1), keys.shape)
    return size - jnp.max(jnp.where(keys == keys.max(axis=-1, keepdims=True), last_first, 0), axis=-1)
