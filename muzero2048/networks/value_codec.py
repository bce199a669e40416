"""Codecs of scalars, the outputs of value heads: the invertible transform h of MuZero (appendix F), and codes of h(x).

    h(x)    = sign(x) (sqrt(|x| + 1) - 1) + eps x,                      eps = 0.001
    h^-1(y) = sign(y) (((sqrt(1 + 4 eps (|y| + 1 + eps)) - 1) / (2 eps))^2 - 1)

two_hot:   weights on the two points around h(x) such that their mean is h(x) (MuZero, appendix F)
hl_gauss:  p_i ~ Phi((z_i + w/2 - h(x)) / sigma) - Phi((z_i - w/2 - h(x)) / sigma), normalised over the support, with
           Phi the normal distribution function, w the distance of the points z_i and sigma = smoothing w
           (Imani & White 2018; Farebrother et al. 2024, "Stop regressing", sec. 3.1)
"""

import math
from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int

from ntuple.core.settings import Settings, setting

EPSILON = 0.001


def transform(x: Float[Array, "*B"]) -> Float[Array, "*B"]:
    """Compute h(x), which compresses scores of 10^5 to a few hundred."""
    return jnp.sign(x) * (jnp.sqrt(jnp.abs(x) + 1.0) - 1.0) + EPSILON * x


def inverse_transform(y: Float[Array, "*B"]) -> Float[Array, "*B"]:
    """Compute h^-1(y).

    With d = |y| and s = sqrt(1 + 4 eps (d + 1 + eps)), the term (s - 1) / (2 eps) is computed as
    2 (d + 1 + eps) / (s + 1). The two are equal, but near 0 the first loses all digits of float32 by cancellation.
    """
    shifted = jnp.abs(y) + 1.0 + EPSILON
    root = 2.0 * shifted / (jnp.sqrt(1.0 + 4.0 * EPSILON * shifted) + 1.0)
    return jnp.sign(y) * (root**2 - 1.0)


class ValueCodec(Settings, prefix="value"):
    """Distributions on `bins` evenly spaced points of [0, h_max], in units of h."""

    bins: int = setting(601, "Points of the support.", at_least=2, at_most=2**16)
    h_max: float = setting(
        600.0,
        "Last point of the support, in units of h: h^-1(600) = 178,500 points, h^-1(2000) = 1,000,000.",
        above=0,
        at_most=1e6,
    )
    decoding: Literal["inverse_of_mean", "mean_of_inverse"] = setting(
        "inverse_of_mean",
        "h^-1 of the mean bin, as published, which is averse to risk since h is concave; or the mean of h^-1.",
    )
    coding: Literal["two_hot", "hl_gauss"] = setting("two_hot", "Code of the targets.")
    smoothing: float = setting(
        0.75,
        "sigma of hl_gauss in distances of two points (Farebrother et al. 2024).",
        above=0,
        at_most=1e6,
        only_if="value.coding=hl_gauss",
    )

    @property
    def support(self) -> Float[Array, "bins"]:
        """The points of the support, in units of h."""
        return jnp.linspace(0.0, self.h_max, self.bins)

    def encode(self, x: Float[Array, "*B"]) -> Float[Array, "*B bins"]:
        """Return the probabilities of the points; values outside the support are clipped to its ends.

        Near an end of the support hl_gauss cuts off a part of the normal distribution, which moves its mean inwards:
        0 becomes 0.37 w.
        """
        position = jnp.clip(transform(x) / self.h_max, 0.0, 1.0) * (self.bins - 1)
        if self.coding == "hl_gauss":
            edges = jnp.arange(self.bins + 1) - 0.5
            below = jax.scipy.special.ndtr(-jnp.subtract.outer(position, edges) / self.smoothing)
            return jnp.diff(below, axis=-1) / (below[..., -1:] - below[..., :1])
        # A hat function around the position that is 0 one bin away is exactly the two-hot code, without a scatter.
        return jnp.maximum(0.0, 1.0 - jnp.abs(jnp.subtract.outer(position, jnp.arange(self.bins))))

    def decode(self, logits: Float[Array, "*B bins"]) -> Float[Array, "*B"]:
        """Decode logits to a scalar in points of the game."""
        probabilities = jax.nn.softmax(logits.astype(jnp.float32), axis=-1)
        if self.decoding == "inverse_of_mean":
            return inverse_transform(probabilities @ self.support)
        return probabilities @ inverse_transform(self.support)

    def to_centre(self, x: Float[Array, "*B"]) -> Float[Array, "*B"]:
        """Return the centre for `logits_near`: h(x), or x itself if values are decoded as the mean of h^-1."""
        return transform(x) if self.decoding == "inverse_of_mean" else x

    def logits_near(self, centre: Float[Array, "B"]) -> Float[Array, "B bins"]:
        """Return logits of a normal distribution around the centre (`to_centre`), with a standard deviation of one bin.

        The distribution decodes to the centre. With `mean_of_inverse` it lies lower, because the mean of the convex
        h^-1 over it is above h^-1 of its place by about that of two points at one standard deviation.

        Only within two bins of 0 the support cuts off a part of it, and it decodes to more: with 96 bins and h_max =
        450, 0 decodes to 10.9 points, 3 to 14.4 and 35 to 41.4. Values of nearly lost positions are thus about 8 points
        too high, but keep their order.
        """
        width = self.h_max / (self.bins - 1)
        place = centre
        if self.decoding == "mean_of_inverse":
            place = transform(centre)
            excess = (inverse_transform(place + width) + inverse_transform(place - width)) / 2 - centre
            place = transform(centre - excess)
        return -0.5 * ((place[:, None] - self.support[None]) / width) ** 2

    @property
    def largest(self) -> float:
        """The last point of the support, in points of the game.

        h^-1 without JAX: configs are checked before the processes of a training join, which must come before JAX's
        first computation.
        """
        shifted = self.h_max + 1.0 + EPSILON
        return (2.0 * shifted / (math.sqrt(1.0 + 4.0 * EPSILON * shifted) + 1.0)) ** 2 - 1.0

    @property
    def least(self) -> float:
        """Initial value in points: a twentieth of the support in h, which is low but leaves no bin unreachable."""
        with jax.ensure_compile_time_eval():
            return float(inverse_transform(jnp.float32(self.h_max / 20)))

    def logits_of(self, value: float) -> Float[Array, "bins"]:
        """Return logits that decode to `value`: l * support, a straight line, with l found by bisection.

        Of all distributions with the same mean bin this one has the most entropy. Later updates can therefore reach
        every bin; they could not reach bins far from a narrow peak.
        """
        steepest = 50.0 * (self.bins - 1) / self.h_max  # a factor of e^50 per bin: one end has all mass

        def halve(_: Int[Array, ""], bounds: tuple[Array, Array]) -> tuple[Array, Array]:
            low, high = bounds
            middle = (low + high) / 2
            above = self.decode(middle * self.support) > value
            return jnp.where(above, low, middle), jnp.where(above, middle, high)

        bounds = (jnp.float32(-steepest), jnp.float32(steepest))
        low, high = jax.lax.fori_loop(0, 60, halve, bounds)
        logits = (low + high) / 2 * self.support
        return logits - logits.max()

    def loss(self, logits: Float[Array, "*B bins"], target: Float[Array, "*B"]) -> Float[Array, "*B"]:
        """Compute the cross-entropy between the code of the target and the distribution of the logits."""
        return -jnp.sum(self.encode(target) * jax.nn.log_softmax(logits.astype(jnp.float32), axis=-1), axis=-1)

    def saturated(self, x: Float[Array, "*B"]) -> Bool[Array, "*B"]:
        """Return which values are beyond the support; these cannot be learned."""
        return transform(x) > self.h_max


@dataclass(frozen=True)
class ScalarCodec:
    """A codec with one number, h(x) itself, instead of a distribution."""

    bins: int = 1
    least: float = 0.0  # initial value in points

    def logits_of(self, value: float) -> Float[Array, "1"]:
        """Return the output that decodes to `value`."""
        return transform(jnp.full((1,), value))

    def decode(self, logits: Float[Array, "*B bins"]) -> Float[Array, "*B"]:
        """Decode the output to a scalar in points of the game."""
        return inverse_transform(logits[..., 0])

    def loss(self, logits: Float[Array, "*B bins"], target: Float[Array, "*B"]) -> Float[Array, "*B"]:
        """Compute the Huber loss between transformed values."""
        return optax.huber_loss(logits[..., 0], transform(target))

    def saturated(self, x: Float[Array, "*B"]) -> Bool[Array, "*B"]:
        """Return False for all values: there is no support."""
        return jnp.zeros(x.shape, bool)
