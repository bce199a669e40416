"""Scalars as the output of a network: the invertible transform h of MuZero (appendix F), and codes of h(x).

    h(x)    = sign(x) (sqrt(|x| + 1) - 1) + eps x,                      eps = 0.001
    h^-1(y) = sign(y) (((sqrt(1 + 4 eps (|y| + 1 + eps)) - 1) / (2 eps))^2 - 1)

two_hot:   the two points around h(x), weighted so that their mean is h(x) (MuZero, appendix F)
hl_gauss:  with Phi the normal distribution function, w the distance of the points z_i and sigma = smoothing w,
           p_i ~ Phi((z_i + w/2 - h(x)) / sigma) - Phi((z_i - w/2 - h(x)) / sigma), normalised over the support
           (Imani & White 2018; Farebrother et al. 2024, "Stop regressing", sec. 3.1)
"""

from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int

from ntuple.settings import Settings, setting

EPSILON = 0.001


def transform(x: Float[Array, "*B"]) -> Float[Array, "*B"]:
    """h(x): compresses scores of 10^5 to a few hundred."""
    return jnp.sign(x) * (jnp.sqrt(jnp.abs(x) + 1.0) - 1.0) + EPSILON * x


def inverse_transform(y: Float[Array, "*B"]) -> Float[Array, "*B"]:
    """h^-1(y).

    With d = |y| and s = sqrt(1 + 4 eps (d + 1 + eps)), (s - 1) / (2 eps) is computed as 2 (d + 1 + eps) / (s + 1),
    the same number without the cancellation that costs float32 all its digits near 0.
    """
    shifted = jnp.abs(y) + 1.0 + EPSILON
    root = 2.0 * shifted / (jnp.sqrt(1.0 + 4.0 * EPSILON * shifted) + 1.0)
    return jnp.sign(y) * (root**2 - 1.0)


@dataclass(frozen=True)
class ValueCodec(Settings, prefix="value"):
    """Coding on `bins` evenly spaced points of [0, h_max]."""

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
        """The points in units of h."""
        return jnp.linspace(0.0, self.h_max, self.bins)

    def encode(self, x: Float[Array, "*B"]) -> Float[Array, "*B bins"]:
        """Probabilities of the points; values outside the support saturate at its ends.

        Near an end hl_gauss cuts a part of the normal off, which draws its mean inwards: 0 becomes 0.37 w.
        """
        position = jnp.clip(transform(x) / self.h_max, 0.0, 1.0) * (self.bins - 1)
        if self.coding == "hl_gauss":
            edges = jnp.arange(self.bins + 1) - 0.5
            below = jax.scipy.special.ndtr(-jnp.subtract.outer(position, edges) / self.smoothing)
            return jnp.diff(below, axis=-1) / (below[..., -1:] - below[..., :1])
        # A hat function of width one bin around the position is exactly the two-hot code, without a scatter.
        return jnp.maximum(0.0, 1.0 - jnp.abs(jnp.subtract.outer(position, jnp.arange(self.bins))))

    def decode(self, logits: Float[Array, "*B bins"]) -> Float[Array, "*B"]:
        """The scalar that the distribution stands for, in points of the game."""
        probabilities = jax.nn.softmax(logits.astype(jnp.float32), axis=-1)
        if self.decoding == "inverse_of_mean":
            return inverse_transform(probabilities @ self.support)
        return probabilities @ inverse_transform(self.support)

    def to_centre(self, x: Float[Array, "*B"]) -> Float[Array, "*B"]:
        """The number whose mean decodes to the value: h(x), or x itself where the mean of h^-1 is decoded."""
        return transform(x) if self.decoding == "inverse_of_mean" else x

    def logits_near(self, centre: Float[Array, "B"]) -> Float[Array, "B bins"]:
        """Logits of a normal distribution around the centre (`to_centre`), one bin wide: it decodes to the centre.

        Within two bins of 0 the support cuts a part of it off, and it decodes higher: with 96 bins to 450 a 0 to 10.9
        points, 3 to 14.4, 35 to 41.4. All that is nearly lost reads about 8 points too high, in the same order.
        """
        place = centre if self.decoding == "inverse_of_mean" else transform(centre)
        width = self.h_max / (self.bins - 1)
        return -0.5 * ((place[:, None] - self.support[None]) / width) ** 2

    @property
    def largest(self) -> float:
        """The last point of the support, in points of the game."""
        return float(inverse_transform(jnp.float32(self.h_max)))

    @property
    def least(self) -> float:
        """Where values begin: a twentieth of the support in h, low but within reach of all bins (`logits_of`)."""
        with jax.ensure_compile_time_eval():
            return float(inverse_transform(jnp.float32(self.h_max / 20)))

    def logits_of(self, value: float) -> Float[Array, "bins"]:
        """Logits that decode to `value`: l * support, a straight line, with l found by bisection.

        Of all distributions with this mean bin it has the most entropy, so no bin is out of reach of the updates to
        come, as the far ones of a narrow peak would be.
        """
        steepest = 50.0 * (self.bins - 1) / self.h_max  # a factor of e^50 from bin to bin: one end has it all

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
        """Cross-entropy of the logits against the code of the target."""
        return -jnp.sum(self.encode(target) * jax.nn.log_softmax(logits.astype(jnp.float32), axis=-1), axis=-1)

    def saturated(self, x: Float[Array, "*B"]) -> Bool[Array, "*B"]:
        """Values beyond the support: what they add cannot be learned."""
        return transform(x) > self.h_max


@dataclass(frozen=True)
class ScalarCodec:
    """One number, h(x) itself, in the place of a distribution."""

    bins: int = 1
    least: float = 0.0  # where values begin

    def logits_of(self, value: float) -> Float[Array, "1"]:
        """What decodes to `value`."""
        return transform(jnp.full((1,), value))

    def decode(self, logits: Float[Array, "*B bins"]) -> Float[Array, "*B"]:
        """The scalar in points of the game."""
        return inverse_transform(logits[..., 0])

    def loss(self, logits: Float[Array, "*B bins"], target: Float[Array, "*B"]) -> Float[Array, "*B"]:
        """Huber loss between transformed values."""
        return optax.huber_loss(logits[..., 0], transform(target))

    def saturated(self, x: Float[Array, "*B"]) -> Bool[Array, "*B"]:
        """No value is beyond the support."""
        return jnp.zeros(x.shape, bool)
