"""Calibration: compare predicted values with the returns that were achieved, at one marked position of each game.

    V  the value that targets bootstrap from (search/root_rules.py), at the marked position
    G  = sum_k gamma^k r_{t+k}, the return from the marked move to the end of the game, as it was played

All positions of a game share its end, so their errors are nearly the same. One position of each game gives almost as
much information as all of them. It is drawn uniformly over the moves of the game, so the estimates are unbiased.
Reservoir sampling does this without knowing the length: at move t = 1, 2, .. the mark moves there with probability 1/t.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, UInt32

LAST_WORD = np.uint32(0xFFFFFFFF)


class Mark(NamedTuple):
    """The marked positions of E games in progress."""

    value: Float[Array, "*E"]  # V, in points
    gain: Float[Array, "*E"]  # discounted sum of the rewards from the marked move on
    weight: Float[Array, "*E"]  # gamma^k of the next reward


class Pairs(NamedTuple):
    """Pairs (V, G) of the games that ended in a chunk: their means, and sums about the means."""

    games: Int[Array, ""]
    value_mean: Float[Array, ""]
    return_mean: Float[Array, ""]
    error_sum: Float[Array, ""]  # sum |V - G|
    # The sums are centred: at values of 10^5 float32 is too coarse to subtract sums of squares.
    value_square: Float[Array, ""]  # sum (V - mean V)^2
    return_square: Float[Array, ""]  # sum (G - mean G)^2
    product: Float[Array, ""]  # sum (V - mean V) (G - mean G)


def init_mark(num_envs: int) -> Mark:
    """Return marks for new games; `follow` always marks the first position of a game."""
    return Mark(*(jnp.zeros((num_envs,)) for _ in Mark._fields))


def follow(
    mark: Mark,
    bits: UInt32[Array, "E"],
    number: Int[Array, "E"],
    value: Float[Array, "E"],
    reward: Int[Array, "E"],
    discount: float,
) -> Mark:
    """Update the marks by one more move of each game.

    `number` is t, the number of the move in its game, counted from 1; `value` is V of the position before the move.
    """
    moves_here = bits <= LAST_WORD // number.astype(jnp.uint32)  # probability 1 / t, exact to t / 2^32
    weight = jnp.where(moves_here, 1.0, mark.weight)
    gain = jnp.where(moves_here, 0.0, mark.gain) + weight * reward
    return Mark(jnp.where(moves_here, value, mark.value), gain, discount * weight)


def count_pairs(mark: Mark, ended: Bool[Array, "*E"]) -> Pairs:
    """Summarise the pairs of the games that ended."""
    games = ended.sum()

    def total(x: Float[Array, "*E"]) -> Float[Array, ""]:
        return jnp.sum(jnp.where(ended, x, 0.0))

    value_mean, return_mean = (total(x) / jnp.maximum(games, 1) for x in (mark.value, mark.gain))
    value, gain = mark.value - value_mean, mark.gain - return_mean
    return Pairs(
        games=games,
        value_mean=value_mean,
        return_mean=return_mean,
        error_sum=total(jnp.abs(mark.value - mark.gain)),
        value_square=total(value**2),
        return_square=total(gain**2),
        product=total(value * gain),
    )


def add_pairs(first: Pairs, second: Pairs) -> Pairs:
    """Merge the pairs of n and of m games.

    With d_x and d_y the differences of the two means of x and of y, a sum about the common means is (Chan et al. 1983)

        sum (x - mean x) (y - mean y) = its two parts, each about its own means, + d_x d_y n m / (n + m).
    """
    games = first.games + second.games
    share = second.games / jnp.maximum(games, 1)
    value, gain = second.value_mean - first.value_mean, second.return_mean - first.return_mean
    between = first.games * share
    return Pairs(
        games=games,
        value_mean=first.value_mean + share * value,
        return_mean=first.return_mean + share * gain,
        error_sum=first.error_sum + second.error_sum,
        value_square=first.value_square + second.value_square + between * value**2,
        return_square=first.return_square + second.return_square + between * gain**2,
        product=first.product + second.product + between * value * gain,
    )


def calibration_metrics(pairs: Pairs) -> dict[str, float]:
    """Compute the metrics of the pairs: none without a game, no correlation if all V or all G are equal."""
    if not pairs.games:
        return {}
    metrics = {
        "value/bias": pairs.value_mean - pairs.return_mean,
        "value/error": pairs.error_sum / pairs.games,
        "value/return_mean": pairs.return_mean,
    }
    if pairs.value_square > 0 and pairs.return_square > 0:
        metrics["value/correlation"] = pairs.product / np.sqrt(float(pairs.value_square) * float(pairs.return_square))
    return {name: float(metric) for name, metric in metrics.items()}
