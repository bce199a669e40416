"""Tests of the transform by hand, of the two-hot code by its mean, of HL-Gauss against scipy's normal distribution."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import norm

from muzero2048.networks.value_codec import ValueCodec, inverse_transform, transform

CODEC = ValueCodec(bins=601, h_max=600.0)
GAUSS = ValueCodec(bins=601, h_max=600.0, coding="hl_gauss")


@pytest.mark.parametrize(
    ("x", "h"),
    [
        (0.0, 0.0),
        (3.0, 1.003),  # sqrt(4) - 1 + 0.003
        (-3.0, -1.003),
        (8.0, 2.008),
        (99.0, 9.099),
        (399_999.0, np.sqrt(400_000) - 1 + 399.999),
        (1e6, 1999.0005),
    ],
)
def test_transform_by_hand(x: float, h: float) -> None:
    np.testing.assert_allclose(transform(jnp.array(x)), h, rtol=1e-6)
    np.testing.assert_allclose(inverse_transform(jnp.array(h)), x, rtol=1e-6)


def test_inverse_to_float32_over_all_scores() -> None:
    x = jnp.concatenate([jnp.arange(0.0, 2000.0, 0.5), jnp.linspace(2000.0, 4e5, 20_001)])
    # Near 0, h(x) = sqrt(x + 1) - 1 has the absolute rounding error of a number near 1.
    np.testing.assert_allclose(inverse_transform(transform(x)), x, rtol=2e-6, atol=2e-6)
    y = jnp.linspace(-1100.0, 1100.0, 4401)
    np.testing.assert_allclose(transform(inverse_transform(y)), y, rtol=2e-6, atol=2e-6)


def test_two_hot_code() -> None:
    x = jnp.concatenate([jnp.arange(0.0, 100.0), jnp.linspace(100.0, 178_000.0, 5001)])
    code = CODEC.encode(x)
    np.testing.assert_allclose(code.sum(axis=-1), 1.0, atol=1e-6)
    np.testing.assert_allclose(code @ CODEC.support, transform(x), rtol=1e-6, atol=1e-4)
    used = np.asarray(code) > 0
    assert used.sum(axis=-1).max() == 2
    first = used.argmax(axis=-1)
    second = used.shape[1] - 1 - used[:, ::-1].argmax(axis=-1)
    assert set((second - first).tolist()) <= {0, 1}  # neighbours
    # By hand: h(3) = 1.003, so point 1 has weight 0.997 and point 2 has weight 0.003.
    np.testing.assert_allclose(CODEC.encode(jnp.array(3.0))[:3], [0.0, 0.997, 0.003], atol=1e-6)
    codec = ValueCodec(bins=4, h_max=6.0)  # points 0, 2, 4, 6; h(8) = 2.008
    np.testing.assert_allclose(codec.encode(jnp.array(8.0)), [0.0, 0.996, 0.004, 0.0], atol=1e-6)


def test_saturation() -> None:
    x = jnp.array([-5.0, 0.0, 178_000.0, 179_000.0, 1e6])
    assert CODEC.saturated(x).tolist() == [False, False, False, True, True]
    code = CODEC.encode(x)
    assert code[0].tolist() == [1.0] + [0.0] * 600
    assert code[4].tolist() == [0.0] * 600 + [1.0]


def test_both_decodings() -> None:
    codec, other = ValueCodec(3, 2.0), ValueCodec(3, 2.0, decoding="mean_of_inverse")
    logits = jnp.log(jnp.array([0.5, 1e-30, 0.5]))
    # With u = sqrt(x + 1), h(x) = y is 0.001 u^2 + u = y + 1.001. So h^-1(1) = 2.98806 and h^-1(2) = 7.95235.
    np.testing.assert_allclose(codec.decode(logits), 2.98806, atol=1e-4)
    np.testing.assert_allclose(other.decode(logits), 7.95235 / 2, atol=1e-4)


@pytest.mark.parametrize("codec", [CODEC, GAUSS], ids=["two_hot", "hl_gauss"])
def test_the_loss_is_least_at_the_target(codec: ValueCodec) -> None:
    target = jnp.array([3.0, 1234.0])
    code = codec.encode(target)
    best = jnp.log(jnp.maximum(code, 1e-12))
    gradient = jax.grad(lambda logits: codec.loss(logits, target).sum())(best)
    np.testing.assert_allclose(gradient, 0.0, atol=1e-6)
    entropy = -jnp.sum(jnp.where(code > 0, code * jnp.log(jnp.maximum(code, 1e-12)), 0.0), axis=-1)
    np.testing.assert_allclose(codec.loss(best, target), entropy, atol=1e-5)
    assert (codec.loss(jnp.zeros_like(best), target) > entropy + 1).all()


def test_hl_gauss_by_hand() -> None:
    """Points 0, 2, 4, 6; h(8) = 2.008; sigma = 0.75 * 2; a point gets the mass of the interval of width 2 around it."""
    codec = ValueCodec(bins=4, h_max=6.0, coding="hl_gauss")
    below = norm.cdf([-1.0, 1.0, 3.0, 5.0, 7.0], loc=2.008, scale=1.5)  # 0.0225 0.2508 0.7457 0.9770 0.9996
    expected = np.diff(below) / (below[-1] - below[0])
    np.testing.assert_allclose(expected, [0.2337, 0.5065, 0.2367, 0.0231], atol=2e-4)
    np.testing.assert_allclose(codec.encode(jnp.array(8.0)), expected, atol=1e-6)


def test_hl_gauss_is_a_distribution_around_the_value() -> None:
    x = jnp.concatenate([jnp.arange(0.0, 100.0), jnp.linspace(100.0, 2e5, 5001)])
    code = GAUSS.encode(x)
    assert (code >= 0).all()
    np.testing.assert_allclose(code.sum(axis=-1), 1.0, atol=1e-5)
    h = np.asarray(transform(x))
    inside = (h > 4) & (h < 596)
    # With sigma = 0.75 spacings, the mean of the code differs from the mean of the normal distribution by at most
    # exp(-2 pi^2 0.75^2) / pi = 5e-6.
    np.testing.assert_allclose(np.asarray(code @ GAUSS.support)[inside], h[inside], rtol=2e-6, atol=1e-4)
    np.testing.assert_allclose(code[-1], GAUSS.encode(jnp.array(1e6)), atol=1e-6)  # saturated


def test_hl_gauss_at_an_end_is_drawn_inwards() -> None:
    masses = np.diff(norm.cdf(np.arange(-0.5, 8), scale=0.75))
    code = GAUSS.encode(jnp.array(0.0))
    np.testing.assert_allclose(code[:8], masses / (1 - norm.cdf(-0.5 / 0.75)), atol=1e-6)
    # The mean is 0.3688 spacings. With spacing 1 the value is h^-1(0.3688) = 0.87 points; with spacing 450 / 95 it is
    # h^-1(1.747) = 6.5.
    for codec, points in ((GAUSS, 0.87), (ValueCodec(96, 450.0, coding="hl_gauss"), 6.5)):
        logits = jnp.log(jnp.maximum(codec.encode(jnp.array(0.0)), 1e-30))
        np.testing.assert_allclose(codec.decode(logits), points, rtol=5e-3)


def test_hl_gauss_without_smoothing_is_the_nearest_point() -> None:
    codec = ValueCodec(bins=601, h_max=600.0, coding="hl_gauss", smoothing=1e-4)
    code = codec.encode(inverse_transform(jnp.array([0.0, 7.2, 7.8, 600.0])))
    np.testing.assert_allclose(code, np.eye(601)[[0, 7, 8, 600]], atol=1e-6)
    two_hot = CODEC.encode(inverse_transform(jnp.array([0.0, 7.0, 600.0])))
    np.testing.assert_allclose(code[jnp.array([0, 1, 3])], two_hot, atol=1e-4)


@pytest.mark.parametrize("decoding", ["inverse_of_mean", "mean_of_inverse"])
@pytest.mark.parametrize(
    ("bins", "h_max"),
    [
        pytest.param(2, 3.0, marks=pytest.mark.slow),
        (30, 2000.0),
        pytest.param(601, 600.0, marks=pytest.mark.slow),
    ],
)
def test_logits_of_a_value(bins: int, h_max: float, decoding: str) -> None:
    codec = ValueCodec(bins, h_max, decoding)
    assert codec.largest == pytest.approx(float(inverse_transform(jnp.array(h_max))))
    for share in (1e-4, 0.03, 0.97, 1.0):
        value = share * codec.largest
        logits = codec.logits_of(value)
        assert jnp.isfinite(logits).all()
        assert float(codec.decode(logits)) == pytest.approx(value, rel=2e-3)
        np.testing.assert_allclose(jnp.diff(logits, 2), 0.0, atol=1e-4 * float(jnp.abs(logits).max()) + 1e-6)
